package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/deploy"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestSystemdReportsNothingAboutTheUnits(t *testing.T) {
	slow.Test(t, "systemd-analyze")
	root := machine(t)
	// An unknown key is only a warning, on some versions of systemd with exit code 0: the test
	// requires that there is no output.
	verify := func() string {
		args := []string{"verify", "--man=no", "--root=" + root}
		for _, unit := range units {
			args = append(args, filepath.Base(unit))
		}
		out, err := run(t, "systemd-analyze", args...)
		if err != nil && out == "" {
			t.Fatal(err)
		}
		return out
	}
	assert.Equal(t, verify(), "", "systemd says")
	// The same check must report a wrong key, or no output would prove nothing.
	name := filepath.Join(root, "usr/lib/systemd/system/ticketrail.service")
	wrong := strings.Replace(read(t, "ticketrail.service"), "WatchdogSec", "WatchdogSek", 1)
	assert.NoError(t, os.WriteFile(name, []byte(wrong), 0o644))
	assert.Contains(t, verify(), "WatchdogSek")
}

func TestTheServicesHaveALowSystemdExposure(t *testing.T) {
	slow.Test(t, "systemd-analyze")
	root := machine(t)
	limits := map[string]int{ // 14 is 1.4
		"ticketrail.service": 14, "ticketrail-relay.service": 11, "nats-server.service": 11,
	}
	for unit, limit := range limits {
		out, err := run(t, "systemd-analyze", "security", "--no-pager", "--offline=true",
			fmt.Sprintf("--threshold=%d", limit), filepath.Join(root, "usr/lib/systemd/system", unit))
		assert.True(t, err == nil, err, out)
	}
}

func TestSysusersAcceptsTheUserAndItsGroups(t *testing.T) {
	slow.Test(t, "systemd-sysusers")
	root := t.TempDir()
	assert.NoError(t, os.MkdirAll(filepath.Join(root, "etc"), 0o755))
	conf, err := filepath.Abs("sysusers.d/ticketrail.conf")
	assert.NoError(t, err)
	out, err := run(t, "systemd-sysusers", "--dry-run", "--root="+root, conf)
	assert.True(t, err == nil && !strings.Contains(out, "ailed"), err, out)
}

func TestTheUnitsAndTheConfigurationAgree(t *testing.T) {
	service, c := read(t, "ticketrail.service"), config.Default()
	for key, want := range map[string]string{
		"StateDirectory":   filepath.Base(filepath.Dir(c.Storage.Path)),
		"ReadWritePaths":   "-" + filepath.Dir(c.Admin.Socket) + " -/etc/ticketrail",
		"ReadOnlyPaths":    "-/etc/ticketrail/secrets",
		"Type":             "notify",
		"ExecStart":        "/usr/bin/ticketrail serve --config /etc/ticketrail/ticketrail.yaml",
		"AssertPathExists": "/etc/ticketrail/ticketrail.yaml",
	} {
		got := settings(service, key)
		assert.True(t, slices.Equal(got, []string{want}), key, got, want)
	}
	folder := "d " + filepath.Dir(c.Admin.Socket) + " 2750 ticketrail ticketrail-admin -"
	assert.Contains(t, read(t, "tmpfiles.d/ticketrail.conf"), folder)
	relay := read(t, "relay/ticketrail-relay.service")
	got := settings(relay, "WatchdogSec")
	assert.Equal(t, len(got), 1, "the relay's WatchdogSec", got)
	for name, unit := range map[string]string{"check": service, "relay check": relay} {
		command, _, _ := strings.Cut(strings.Join(settings(unit, "ExecReload"), "\n"), " --config")
		assert.Equal(t, command, "/usr/bin/ticketrail "+name, "a reload begins with", name)
	}
	watchdog, err := time.ParseDuration(strings.Join(settings(service, "WatchdogSec"), ""))
	assert.True(t, err == nil && watchdog > 20*time.Second, watchdog, err)
}

// settings returns the values of a key of a unit, in order.
func settings(unit, key string) []string {
	var found []string
	for l := range strings.Lines(unit) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(l), key+"="); ok {
			found = append(found, v)
		}
	}
	return found
}

// units are the units of the daemon, of the relay and of its servers.
var units = []string{"ticketrail.service", "ticketrail-backup.service", "ticketrail-backup.timer",
	"relay/ticketrail-relay.service", "relay/nats-server.service"}

// machine makes a root folder with the files where a package installs them, the programs that they
// run, and systemd's own units that they name.
func machine(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		name = filepath.Join(root, name)
		assert.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		assert.NoError(t, os.WriteFile(name, []byte(text), mode))
	}
	for _, unit := range units {
		put("usr/lib/systemd/system/"+filepath.Base(unit), read(t, unit), 0o644)
	}
	for _, target := range []string{
		"sysinit", "basic", "shutdown", "multi-user", "sockets", "network-online", "time-sync", "nss-lookup", "timers",
	} {
		put("usr/lib/systemd/system/"+target+".target", "[Unit]\nDescription="+target+"\n", 0o644)
	}
	put("usr/bin/ticketrail", "#!/bin/sh\n", 0o755)
	put("usr/local/bin/nats-server", "#!/bin/sh\n", 0o755)
	put("bin/kill", "#!/bin/sh\n", 0o755)
	put("bin/sh", "#!/bin/sh\n", 0o755)
	return root
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := deploy.Files.ReadFile(name)
	assert.NoError(t, err)
	return string(b)
}

// run runs a program and returns its output.
func run(t *testing.T, name string, args ...string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &b, &b
	cmd.Env = append(os.Environ(), "SYSTEMD_COLORS=0", "LC_ALL=C")
	err = cmd.Run()
	return b.String(), err
}
