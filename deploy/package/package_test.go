// Package deploypackage proves the products of the script build: packages that Debian accepts, and the life of a box.
package deploypackage

import (
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestThePackageIsReproducibleAndHasNoLiveConfiguration(t *testing.T) {
	slow.Test(t, "go", "dpkg-deb", "lintian")
	name := built(t, "1.1")
	same := readText(t, name) == string(deb(t, "1.1"))
	assert.True(t, same, "two builds of the same source differ: compare them with diffoscope")
	assert.Equal(t, run(t, "lintian", "--no-cfg", "--allow-root", name), "", "lintian says")
	list := run(t, "dpkg-deb", "--contents", name)
	for _, want := range []string{
		"./usr/bin/ticketrail", "./usr/lib/systemd/system/ticketrail.service",
		"./usr/lib/systemd/system/ticketrail-relay.service", "./usr/share/doc/ticketrail/deploy/relay/README.md",
		"./usr/share/doc/ticketrail/examples/relay/nats-server.service",
		"./usr/share/doc/ticketrail/examples/relay/nats.conf", "./usr/share/doc/ticketrail/examples/relay/relay.yaml",
		"./usr/share/doc/ticketrail/examples/relay/nginx.conf", "./usr/share/doc/ticketrail/examples/relay/Caddyfile",
		"./usr/share/doc/ticketrail/examples/ticketrail-relay.rules.yml", "./usr/lib/sysusers.d/ticketrail.conf",
		"./usr/share/doc/ticketrail/examples/ticketrail.yaml", "./usr/share/man/man8/ticketrail.8.gz",
		"./usr/share/man/man8/ticketrail-jobs-list.8.gz", "./usr/share/man/man8/ticketrail-db-backup.8.gz",
		"./usr/share/bash-completion/completions/ticketrail",
		"./usr/share/zsh/vendor-completions/_ticketrail", "./usr/share/fish/vendor_completions.d/ticketrail.fish",
	} {
		assert.Contains(t, list, " "+want+"\n")
	}
	root := t.TempDir()
	run(t, "dpkg-deb", "--extract", name, root)
	followLinks(t, root)
	assert.True(t, !strings.Contains(list, " ./etc/"), "the package has files in /etc", list)
	assert.Equal(t, run(t, "dpkg-deb", "--field", name, "Version"), "1.1\n")
	assert.Equal(t, filepath.Base(name), "ticketrail_1.1_amd64.deb")
}
