package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2/files"

	"ticketrail/deploy"
)

const (
	// No public address exists.
	maintainer  = "ticketrail <ticketrail@localhost>"
	description = `kitchen ticket print daemon
 ticketrail receives the orders of a restaurant's point-of-sale service and
 prints or shows every ticket at the right station in the kitchen, in order.
 An order that it has accepted survives a power cut, a full disk and a printer
 that is out of paper.`
)

//go:embed debian
var debian embed.FS

// units are the files of package deploy and the folder of each. The configuration is an example
// beside the empty place of the real one: an upgrade has no question to ask, and nothing starts
// before somebody has said which printers there are.
var units = map[string]string{
	"ticketrail.service":                   "/usr/lib/systemd/system/ticketrail.service",
	"ticketrail-backup.service":            "/usr/lib/systemd/system/ticketrail-backup.service",
	"ticketrail-backup.timer":              "/usr/lib/systemd/system/ticketrail-backup.timer",
	"relay/ticketrail-relay.service":       "/usr/lib/systemd/system/ticketrail-relay.service",
	"sysusers.d/ticketrail.conf":           "/usr/lib/sysusers.d/ticketrail.conf",
	"tmpfiles.d/ticketrail.conf":           "/usr/lib/tmpfiles.d/ticketrail.conf",
	"modules-load.d/ticketrail.conf":       "/usr/lib/modules-load.d/ticketrail.conf",
	"README.md":                            "/usr/share/doc/ticketrail/README.md", // the alerts' runbook_url
	"CHANGELOG.md":                         "/usr/share/doc/ticketrail/CHANGELOG.md",
	"ticketrail.yaml":                      "/usr/share/doc/ticketrail/examples/ticketrail.yaml",
	"low-port.conf":                        "/usr/share/doc/ticketrail/examples/low-port.conf",
	"proxy/nginx.conf":                     "/usr/share/doc/ticketrail/examples/proxy/nginx.conf",
	"proxy/Caddyfile":                      "/usr/share/doc/ticketrail/examples/proxy/Caddyfile",
	"proxy/cloudflared.yml":                "/usr/share/doc/ticketrail/examples/proxy/cloudflared.yml",
	"proxy/tailscale.sh":                   "/usr/share/doc/ticketrail/examples/proxy/tailscale.sh",
	"prometheus/ticketrail.rules.yml":      "/usr/share/doc/ticketrail/examples/ticketrail.rules.yml",
	"prometheus/ticketrail.dashboard.json": "/usr/share/doc/ticketrail/examples/ticketrail.dashboard.json",
	"relay/README.md":                      "/usr/share/doc/ticketrail/relay.md", // runbook_url of the relay's alerts
	"relay/nats-server.service":            "/usr/share/doc/ticketrail/examples/relay/nats-server.service",
	"relay/ticketrail-relay.rules.yml":     "/usr/share/doc/ticketrail/examples/ticketrail-relay.rules.yml",
}

// guides are the documents of other folders that an operator needs on a box without internet.
var guides = map[string]string{
	"printer/README.md":               "printers.md",
	"printer/kds/README.md":           "kitchen-screens.md",
	"printer/push/README.md":          "displays-of-others.md",
	"printer/ticketlog/README.md":     "logs-of-tickets.md",
	"cmd/internal/outcomes/README.md": "outcomes.md",
	"receiver/README.md":              "webhook-and-routes.md",
}

// A tree collects the files of the package below a folder, because nfpm reads them from there.
type tree struct {
	dir   string
	files files.Contents
	when  time.Time
}

// add writes a file and lists it in the package.
func (t *tree) add(name string, text []byte, mode fs.FileMode) error {
	at := filepath.Join(t.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(at, text, mode); err != nil {
		return err
	}
	t.files = append(t.files, &files.Content{Source: at, Destination: name,
		FileInfo: &files.ContentFileInfo{Mode: mode, Owner: "root", Group: "root", MTime: t.when}})
	return nil
}

// addCompressed adds a file as Debian wants documentation: compressed as much as possible, without a
// date.
func (t *tree) addCompressed(name string, text []byte) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return t.add(name+".gz", b.Bytes(), 0o644)
}

// contents lists the files of the package, and writes the maintainer scripts to tmp/debian. speaker
// is a build of the program that runs on this machine: it knows its manual pages and completion.
func contents(tmp, program, speaker, version string, when time.Time) (files.Contents, error) {
	if err := os.CopyFS(tmp, debian); err != nil {
		return nil, err
	}
	t := &tree{dir: filepath.Join(tmp, "root"), when: when}
	t.files = append(t.files, &files.Content{Source: program, Destination: "/usr/bin/ticketrail",
		FileInfo: &files.ContentFileInfo{Mode: 0o755, Owner: "root", Group: "root", MTime: when}})
	for from, to := range units {
		b, err := deploy.Files.ReadFile(from)
		if err != nil {
			return nil, err
		}
		if err := t.add(to, b, 0o644); err != nil {
			return nil, err
		}
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the root of the repository: %w", err)
	}
	root := strings.TrimSpace(string(out))
	for from, to := range guides {
		b, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			return nil, err
		}
		if err := t.add("/usr/share/doc/ticketrail/"+to, b, 0o644); err != nil {
			return nil, err
		}
	}
	overrides, err := debian.ReadFile("debian/lintian-overrides")
	if err != nil {
		return nil, err
	}
	rights, err := copyright(root, when)
	if err != nil {
		return nil, err
	}
	changelog := fmt.Sprintf("ticketrail (%s) unstable; urgency=medium\n\n  * See the history of the source.\n\n"+
		" -- %s  %s\n", version, maintainer, when.Format(time.RFC1123Z))
	return t.files, errors.Join(
		t.add("/usr/share/lintian/overrides/ticketrail", overrides, 0o644),
		t.add("/usr/share/doc/ticketrail/copyright", rights, 0o644),
		t.addCompressed("/usr/share/doc/ticketrail/changelog", []byte(changelog)),
		t.speak(tmp, speaker),
	)
}

// speak adds what the program writes about itself.
func (t *tree) speak(tmp, speaker string) error {
	man := filepath.Join(tmp, "man")
	if _, err := output(t.when, speaker, "man", man); err != nil {
		return err
	}
	pages, err := os.ReadDir(man)
	if err != nil {
		return err
	}
	for _, p := range pages {
		b, err := os.ReadFile(filepath.Join(man, p.Name()))
		if err != nil {
			return err
		}
		if err := t.addCompressed("/usr/share/man/man8/"+p.Name(), b); err != nil {
			return err
		}
	}
	for shell, name := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/ticketrail",
		"zsh":  "/usr/share/zsh/vendor-completions/_ticketrail",
		"fish": "/usr/share/fish/vendor_completions.d/ticketrail.fish",
	} {
		b, err := output(t.when, speaker, "completion", shell)
		if err != nil {
			return err
		}
		if err := t.add(name, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func output(when time.Time, program string, args ...string) ([]byte, error) {
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", when.Unix()))
	c.Stderr = os.Stderr
	b, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("ticketrail %s: %w", strings.Join(args, " "), err)
	}
	return b, nil
}

// copyright is the file that says under which terms the package may be used. The owner chooses them
// by adding a file LICENSE to the repository.
func copyright(root string, when time.Time) ([]byte, error) {
	license, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if errors.Is(err, fs.ErrNotExist) {
		license, err = []byte("All rights reserved.\n"), nil
	}
	return fmt.Appendf(nil, "Copyright %d the authors of ticketrail\n\n%s", when.Year(), license), err
}
