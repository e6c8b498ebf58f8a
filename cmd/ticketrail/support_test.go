package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABundleForSupportIsWrittenWithTheDaemonDownAndABrokenFile(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "ticketrail.yaml")
	for text, want := range map[string]string{
		"notify: [ " + plantedToken:                "not YAML",
		"notify: { ot: [ " + plantedToken + " ] }": `ot: "********"`,
	} {
		writeFiles(t, map[string]string{conf: text})
		_, files := bundle(t, "--config", conf, "--socket", filepath.Join(dir, "s"))
		if !strings.Contains(files["config.yaml"], want) || !strings.Contains(files["status.txt"], "not reachable") &&
			!strings.Contains(files["status.txt"], "running") {
			t.Errorf("%s\n%s", files["config.yaml"], files["status.txt"])
		}
		for name, text := range files {
			if strings.Contains(text, plantedToken) {
				t.Errorf("%s has a secret:\n%s", name, text)
			}
		}
	}
}

func TestABundleForSupportReplacesNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"a.tar.gz": "mine"})
	err := writeBundle("a.tar.gz", nil)
	if b, _ := os.ReadFile("a.tar.gz"); err == nil || string(b) != "mine" {
		t.Errorf("%v, and the file is %q", err, b)
	}
}

// bundle runs ticketrail support in a folder of its own and returns the files of its archive.
func bundle(t *testing.T, args ...string) (said string, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	code, out, errs := runCommand(t, append([]string{"support"}, args...)...)
	written, err := filepath.Glob(filepath.Join(dir, "*"))
	if code != exitOK || err != nil || len(written) != 1 || !strings.HasSuffix(written[0], ".tar.gz") {
		t.Fatalf("exit code %d, %v, files %q\n%s", code, err, written, out+errs)
	}
	f, err := os.Open(written[0])
	must(t, err)
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Mode() != 0o600 {
		t.Errorf("the bundle has mode %v, %v", st.Mode(), err)
	}
	z, err := gzip.NewReader(f)
	must(t, err)
	files = map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out + errs, files
		}
		must(t, err)
		text, err := io.ReadAll(r)
		must(t, err)
		files[filepath.Base(h.Name)] = string(text)
	}
}
