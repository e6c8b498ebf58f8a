package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// debianProgram is the path of a program of Debian. Without it the test is skipped, or fails if
// TICKETRAIL_TEST_ALL is set.
func debianProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// built builds the package of this machine in a new folder. The date is that of no commit, so that a
// test in a checkout and one in a plain copy of the source do the same.
func built(t *testing.T, version string) string {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1770000000")
	name, err := build("amd64", version, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// run runs a program that must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out.String(), errs.String())
	}
	return out.String()
}

func TestThePackageOfTheSameSourceHasTheSameBytesAndLintianSaysNothing(t *testing.T) {
	first, second := built(t, "1.2.3"), built(t, "1.2.3")
	a, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("two builds of the same source differ: compare them with diffoscope")
	}
	if out := run(t, debianProgram(t, "lintian"), "--no-cfg", "--allow-root", first); out != "" {
		t.Errorf("lintian says:\n%s", out)
	}
}

func TestThePackageHasNoLiveConfiguration(t *testing.T) {
	dpkg, name := debianProgram(t, "dpkg-deb"), built(t, "1.2.3")
	list := run(t, dpkg, "--contents", name)
	for _, want := range []string{
		"./usr/bin/ticketrail", "./usr/lib/systemd/system/ticketrail.service",
		"./usr/lib/systemd/system/ticketrail-relay.service", "./usr/share/doc/ticketrail/relay.md",
		"./usr/share/doc/ticketrail/examples/relay/nats-server.service",
		"./usr/share/doc/ticketrail/examples/ticketrail-relay.rules.yml", "./usr/lib/sysusers.d/ticketrail.conf",
		"./usr/share/doc/ticketrail/examples/ticketrail.yaml", "./usr/share/man/man8/ticketrail.8.gz",
		"./usr/share/man/man8/ticketrail-jobs-list.8.gz", "./usr/share/man/man8/ticketrail-db-backup.8.gz",
		"./usr/share/bash-completion/completions/ticketrail",
		"./usr/share/zsh/vendor-completions/_ticketrail", "./usr/share/fish/vendor_completions.d/ticketrail.fish",
	} {
		if !strings.Contains(list, " "+want+"\n") {
			t.Errorf("%s is not in the package", want)
		}
	}
	if strings.Contains(list, " ./etc/") {
		t.Errorf("the package has files in /etc:\n%s", list)
	}
	if v := run(t, dpkg, "--field", name, "Version"); v != "1.2.3\n" {
		t.Errorf("version %q", v)
	}
	if filepath.Base(name) != "ticketrail_1.2.3_amd64.deb" {
		t.Errorf("file name %s", name)
	}
}

func TestAnUnknownArchitectureNamesTheKnownOnes(t *testing.T) {
	_, err := build("riscv", "1", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), `"riscv": amd64, arm64 or armhf`) {
		t.Error(err)
	}
}
