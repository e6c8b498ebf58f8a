package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/config"
	"ticketrail/printer/layout"
)

// A part is one file of the bundle. If it could not be collected, its text is the reason.
type part struct {
	name, about string
	text        []byte
}

// support is for the person at the other end of the telephone, who has no access to the box. It collects the output
// of other commands, so it shows no more than they do.
func (c *cli) support() *cobra.Command {
	return &cobra.Command{
		Use:   "support",
		Short: "write what a person who helps needs to know into one file",
		Long: `support writes a .tar.gz into the current folder: what status and doctor say,
the configuration without secrets, the log of the last hour, and versions. It
works with the daemon down. Run it as root: others may not see the log. What was
ordered is left out.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parts := c.supportParts(cmd.Context())
			name := "ticketrail-support-" + time.Now().Format("20060102-150405") + ".tar.gz"
			var list strings.Builder
			rows := newTable(&list)
			for _, p := range parts {
				rows.row("  "+p.name, p.about)
			}

			_ = rows.end() // a strings.Builder takes everything
			list.WriteString("Secrets and what was ordered are left out.\n")
			parts = append([]part{{name: "README.txt", text: []byte(list.String())}}, parts...)
			if err := writeBundle(name, parts); err != nil {
				return fmt.Errorf("write %s: %w: run it in a folder that you may write to", name, err)
			}

			return write(c.out, name+" is written, with:\n"+list.String())
		},
	}
}

// supportParts have neither secrets nor order contents.
func (c *cli) supportParts(ctx context.Context) []part {
	conf, err := os.ReadFile(c.config)
	if err == nil {
		conf, err = config.Redacted(conf)
	}

	return []part{
		{"status.txt", "ticketrail status", c.say(ctx, "status")},
		{"doctor.txt", "ticketrail doctor", c.say(ctx, "doctor")},
		{"config.yaml", "the configuration without secrets and comments", orError(conf, err)},
		{"log.txt", "the log of the last hour", run(ctx, "journalctl", "--no-pager", "--unit=ticketrail.service",
			"--since=-1h", "--output=short-iso-precise")},
		{"versions.txt", "versions of ticketrail, Go, the kernel and Debian", bytes.Join([][]byte{c.say(ctx, "version"),
			run(ctx, "uname", "-srvm"), run(ctx, "cat", "/etc/os-release", "/etc/debian_version")}, []byte("\n"))},
	}
}

// orError is the text, or why there is none.
func orError(text []byte, err error) []byte {
	if err != nil {
		return []byte(layout.Clean(err.Error()) + "\n")
	}
	return text
}

// say is the output of another command of this program.
func (c *cli) say(ctx context.Context, args ...string) []byte {
	var out bytes.Buffer
	args = append(args, "--config", c.config)
	if c.socket != "" {
		args = append(args, "--socket", c.socket)
	}
	(&cli{in: strings.NewReader(""), out: &out, err: &out, withoutOrders: true}).run(ctx, args)
	return out.Bytes()
}

// run is the output of another program, or the reason why there is none.
func run(ctx context.Context, name string, args ...string) []byte {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()

	// Its output explains more than its exit code.
	if err != nil && len(bytes.TrimSpace(out)) == 0 {
		return orError(nil, err)
	}
	return out
}

// writeBundle writes a file that only its owner can read, and replaces none.
func writeBundle(name string, parts []part) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			os.Remove(name)
		}
	}()

	zipped := gzip.NewWriter(file)
	archive := tar.NewWriter(zipped)
	folder := strings.TrimSuffix(name, ".tar.gz") + "/"
	for _, p := range parts {
		header := &tar.Header{Name: folder + p.name, Mode: 0o600, Size: int64(len(p.text)), ModTime: time.Now()}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(p.text); err != nil {
			return err
		}
	}

	return errors.Join(archive.Close(), zipped.Close())
}
