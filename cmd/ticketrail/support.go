package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/setup"
	"ticketrail/config"
)

// A part is one file of the bundle. What could not be collected is a part that says why.
type part struct {
	name, about string
	text        []byte
}

// support is for the person at the other end of the telephone, who has no access to the box. It asks the other
// commands for what they show, so that it shows no more than they do.
func (c *cli) support() *cobra.Command {
	var withOrders bool
	cmd := &cobra.Command{
		Use:   "support",
		Short: "write what a person who helps needs to know into one file",
		Long: `support writes a .tar.gz into the current folder: the configuration without
secrets, what status and doctor say, stations, refused requests, metrics, the
log of the last hour, versions, and how systemd runs the service. It works with
the daemon down. Run it as root: others may not see the log.

What was ordered is left out. With --with-orders the tickets of the last hour
and the bodies of refused requests are in it, with everything that guests wrote.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parts := c.supportParts(cmd.Context())
			left := "Order contents are left out; --with-orders adds them."
			if withOrders {
				left = "It has ORDER CONTENTS of the last hour: give it only to people who may read them."
				parts = append(parts, c.orderParts(cmd.Context())...)
			}
			name := "ticketrail-support-" + time.Now().Format("20060102-150405") + ".tar.gz"
			var list strings.Builder
			t := newTable(&list)
			for _, p := range parts {
				t.row("  "+p.name, p.about)
			}
			_ = t.end() // a strings.Builder takes everything
			list.WriteString("Secrets are left out. " + left + "\n")
			parts = append([]part{{name: "README.txt", text: []byte(list.String())}}, parts...)
			if err := writeBundle(name, parts); err != nil {
				return fmt.Errorf("write %s: %w: run it in a folder that you may write to", name, err)
			}
			return write(c.out, name+" is written, with:\n"+list.String())
		},
	}
	cmd.Flags().BoolVar(&withOrders, "with-orders", false, "also tickets and refused requests, with what was ordered")
	return cmd
}

// supportParts are those without order contents.
func (c *cli) supportParts(ctx context.Context) []part {
	conf, err := os.ReadFile(c.config)
	if err == nil {
		conf, err = config.Redacted(conf)
	}
	metrics, errMetrics := c.metrics(ctx)
	return []part{
		{"versions.txt", "versions of ticketrail, Go, the kernel, Debian and systemd", joined(
			c.say(ctx, "version"), run(ctx, "uname", "-srvm"),
			run(ctx, "cat", "/etc/os-release", "/etc/debian_version"), run(ctx, "systemctl", "--version"))},
		{"config.yaml", "the configuration without secrets and comments", orError(conf, err)},
		{"status.txt", "ticketrail status", c.say(ctx, "status")},
		{"doctor.txt", "ticketrail doctor", c.say(ctx, "doctor")},
		{"printers.json", "stations and their state", c.say(ctx, "printers", "list", "--json")},
		{"rejects.json", "refused requests, without their bodies", c.say(ctx, "rejects", "list", "--json")},
		{"metrics.txt", "what Prometheus reads", orError(metrics, errMetrics)},
		{"systemctl.txt", "how systemd runs the service, without its environment", joined(
			run(ctx, "systemctl", "status", "--no-pager", "--full", "--lines=0", "ticketrail.service"),
			withoutSecrets(run(ctx, "systemctl", "show", "--no-pager", "ticketrail.service")))},
		{"log.txt", "the log of the last hour", run(ctx, "journalctl", "--no-pager", "--unit=ticketrail.service",
			"--since=-1h", "--output=short-iso-precise")},
	}
}

// orderParts have what was ordered.
func (c *cli) orderParts(ctx context.Context) []part {
	const atMost = 1000 // tickets: a busy hour
	d, err := c.client()
	if err != nil {
		return []part{{"orders.json", "tickets with their contents", orError(nil, err)}}
	}
	var jobs []admin.Detail
	list, err := d.Jobs(ctx, admin.Filter{Since: time.Now().Add(-time.Hour), Limit: atMost})
	for _, j := range list {
		var one admin.Detail
		if one, err = d.Job(ctx, j.ID); err != nil {
			break
		}
		jobs = append(jobs, one)
	}

	var bodies []admin.Reject
	refused, errRefused := d.Rejects(ctx)
	size := 0
	for _, r := range refused {
		var one admin.Reject
		if size += r.Size; size > maxRejectBytes {
			break
		}
		if one, errRefused = d.Reject(ctx, r.ID); errRefused != nil {
			break
		}
		bodies = append(bodies, one)
	}

	return []part{
		{"orders.json", "tickets of the last hour with their CONTENTS", asJSON(jobs, err)},
		{"rejects-bodies.json", "refused requests with their CONTENTS", asJSON(bodies, errRefused)},
	}
}

// maxRejectBytes bounds the bodies in a support file; the newest come first.
const maxRejectBytes = 16 << 20

func asJSON(v any, err error) []byte {
	if err != nil {
		return orError(nil, err)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	return orError(b, err)
}

// orError is the text, or why there is none.
func orError(text []byte, err error) []byte {
	if err != nil {
		return []byte(singleLine(err.Error()) + "\n")
	}
	return text
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, []byte("\n")) }

// say is what another command of this program prints.
func (c *cli) say(ctx context.Context, args ...string) []byte {
	var out bytes.Buffer
	args = append(args, "--config", c.config)
	if c.socket != "" {
		args = append(args, "--socket", c.socket)
	}
	(&cli{in: strings.NewReader(""), out: &out, err: &out, withoutOrders: true}).run(ctx, args)
	return out.Bytes()
}

// run is what another program prints, or why it does not.
func run(ctx context.Context, name string, args ...string) []byte {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	// systemctl status fails if the service is down, and says more than the error does.
	if err != nil && len(bytes.TrimSpace(out)) == 0 {
		return orError(nil, err)
	}
	return out
}

// withoutSecrets leaves out the properties of a unit in which an administrator may have put a secret.
func withoutSecrets(properties []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(properties) {
		if !bytes.HasPrefix(line, []byte("Environment")) && !bytes.HasPrefix(line, []byte("SetCredential")) {
			out.Write(line)
		}
	}
	return out.Bytes()
}

// metrics asks the daemon where the configuration says; if that is refused, at the default address.
func (c *cli) metrics(ctx context.Context) ([]byte, error) {
	listen := config.Default().Metrics.Listen
	if conf, err := setup.Load(c.config); err == nil {
		listen = conf.Metrics.Listen
	}
	if listen == "" {
		return nil, errors.New("metrics.listen is empty: there are no metrics")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(io.LimitReader(res.Body, 16<<20))
}

// writeBundle writes a file that only its owner can read, and replaces none.
func writeBundle(name string, parts []part) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(name)
		}
	}()
	z := gzip.NewWriter(f)
	t := tar.NewWriter(z)
	folder := strings.TrimSuffix(name, ".tar.gz") + "/"
	for _, p := range parts {
		h := &tar.Header{Name: folder + p.name, Mode: 0o600, Size: int64(len(p.text)), ModTime: time.Now()}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(p.text); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}
