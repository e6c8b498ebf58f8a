// Command package builds the Debian packages of ticketrail: go run ./deploy/package.
//
// It needs Go and this repository, no Debian. The same commit gives the same bytes on every machine
// with the same version of Go: the version and all dates are those of the commit.
package main

import (
	"cmp"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
)

// arches are Debian's names of the architectures, and what Go calls them.
var arches = map[string][]string{
	"amd64": {"GOARCH=amd64", "GOAMD64=v1"},
	"arm64": {"GOARCH=arm64", "GOARM64=v8.0"},
	"armhf": {"GOARCH=arm", "GOARM=7"},
}

func main() {
	out := flag.String("out", "dist", "`folder` for the packages")
	version := flag.String("version", "", "Debian `version` of the packages (default: that of the commit)")
	only := flag.String("arch", "amd64,arm64,armhf", "`architectures`, as Debian calls them")
	flag.Parse()
	for _, arch := range strings.Split(*only, ",") {
		name, err := build(arch, *version, *out)
		if err != nil {
			fmt.Fprintln(os.Stderr, "package:", err)
			os.Exit(1)
		}
		fmt.Println(name)
	}
}

// build builds the package of one architecture in the folder out and returns its file name.
func build(arch, version, out string) (name string, err error) {
	env, ok := arches[arch]
	if !ok {
		return "", fmt.Errorf("no architecture %q: amd64, arm64 or armhf", arch)
	}
	tmp, err := os.MkdirTemp("", "ticketrail-package")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	program := filepath.Join(tmp, "ticketrail")
	if err := compile(program, env...); err != nil {
		return "", err
	}
	v, when, err := versionOf(program)
	if err != nil {
		return "", err
	}
	if v = cmp.Or(version, v); v == "" || when.IsZero() {
		return "", errors.New("the version and the date of this source are not known, because Go finds no git " +
			"checkout here: set -version and the environment variable SOURCE_DATE_EPOCH")
	}
	// What the program says about itself is asked of a program that runs on this machine.
	speaker := program
	if !slices.Contains(env, "GOARCH="+runtime.GOARCH) {
		speaker = filepath.Join(tmp, "speaker")
		if err := compile(speaker); err != nil {
			return "", err
		}
	}
	files, err := contents(tmp, program, speaker, v, when)
	if err != nil {
		return "", err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "ticketrail", Arch: arch, Version: v, VersionSchema: "none", MTime: when,
		Section: "net", Priority: "optional", Maintainer: maintainer,
		Description: description,
		Overridables: nfpm.Overridables{
			// systemd: sysusers and tmpfiles. init-system-helpers has deb-systemd-invoke and is
			// essential in Debian.
			Depends:    []string{"systemd"},
			Recommends: []string{"ca-certificates"},
			Suggests:   []string{"fonts-unifont", "fonts-noto-core"}, // for scripts the built-in font lacks
			Contents:   files,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(tmp, "debian/postinst"),
				PreRemove:   filepath.Join(tmp, "debian/prerm"),
				PostRemove:  filepath.Join(tmp, "debian/postrm"),
			},
		},
	})
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	name = filepath.Join(out, deb.Default.ConventionalFileName(info))
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	err = errors.Join(deb.Default.Package(info, f), f.Close())
	if err != nil {
		os.Remove(name)
		return "", fmt.Errorf("package %s: %w", arch, err)
	}
	return name, nil
}

// compile builds the program. The linker flags leave out the symbols, and with them a third of the
// size; a stack trace needs none of them.
func compile(program string, env ...string) error {
	c := exec.Command("go", "build", "-buildvcs=auto", "-trimpath", "-ldflags=-s -w -buildid=",
		"-o", program, "ticketrail/cmd/ticketrail")
	c.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS=linux"), env...)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("go build %s: %w", strings.Join(env, " "), err)
	}
	return nil
}

// versionOf reads the Debian version and the time of the commit that Go wrote into a program. A tag
// v1.2.3 is 1.2.3. A commit after it is v1.2.4-0.DATE-COMMIT for Go and 1.2.4~0.DATE.COMMIT for Debian,
// which sorts a tilde before everything: 1.2.4 itself is newer.
func versionOf(program string) (version string, when time.Time, err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", time.Time{}, err
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			if when, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return "", time.Time{}, fmt.Errorf("the time of the commit: %w", err)
			}
		}
	}
	// reproducible-builds.org/specs/source-date-epoch
	if s := os.Getenv("SOURCE_DATE_EPOCH"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return "", time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds: %w", err)
		}
		when = time.Unix(n, 0)
	}
	v, tagged := strings.CutPrefix(info.Main.Version, "v")
	if !tagged {
		return "", when.UTC(), nil
	}
	v = strings.Replace(v, "-", "~", 1)
	return strings.ReplaceAll(v, "-", "."), when.UTC(), nil
}
