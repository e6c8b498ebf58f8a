package layers

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents returns the Markdown files of the tree by their paths from its top.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".md") {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		all[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 2 {
		t.Fatalf("found %d documents below %s: the walk is broken", len(all), root)
	}
	return all
}

var (
	link   = regexp.MustCompile(`\]\(([^):#]+)[^)]*\)`)
	goFile = regexp.MustCompile(`[a-z_0-9/]+\.go\b`)
)

func TestEveryLinkOfADocumentLeadsToAFile(t *testing.T) {
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "http") {
				continue
			}
			if _, err := os.Stat(path.Join(root, path.Dir(name), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
		}
	}
}

// A line may name several files of one folder: receiver/routes.go, check.go.
func TestArchitectureNamesOnlyFilesThatExist(t *testing.T) {
	found := 0
	for _, line := range strings.Split(documents(t)["ARCHITECTURE.md"], "\n") {
		folder := ""
		for _, name := range goFile.FindAllString(line, -1) {
			if strings.Contains(name, "/") {
				folder = path.Dir(name)
			}
			if _, err := os.Stat(path.Join(root, folder, path.Base(name))); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			found++
		}
	}
	if found < 20 {
		t.Errorf("ARCHITECTURE.md names %d files, fewer than an order passes through", found)
	}
}
