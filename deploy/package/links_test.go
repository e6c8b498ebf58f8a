package deploypackage

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestEachLinkOfAShippedDocumentLeadsToAShippedFile(t *testing.T) {
	shipped := shippedFiles(t)
	count := 0
	for dst, src := range shipped {
		if path.Ext(dst) == ".md" {
			count += followLinks(t, dst, src, func(to string) string { return shipped[to] })
		}
	}
	if shipped[docs+"/README.md"] != "../../README.md" || count < 20 {
		t.Errorf("README.md is not shipped, or only %d links were followed", count)
	}
}

const docs = "/usr/share/doc/ticketrail"

// followLinks follows the links of a document at the place dst, whose text is in the file src, and returns how many it
// has. find is the file with the text of a place; "" is a dead link. A heading must exist too.
func followLinks(t *testing.T, dst, src string, find func(place string) string) (count int) {
	t.Helper()
	for _, link := range regexp.MustCompile(`\]\(([^()\s]+)\)`).FindAllStringSubmatch(readText(t, src), -1) {
		if strings.Contains(link[1], "://") {
			continue
		}
		count++
		name, heading, _ := strings.Cut(link[1], "#")
		to := src
		if name != "" {
			to = find(path.Join(path.Dir(dst), name))
		}
		switch {
		case to == "":
			t.Errorf("%s: the link %s leads to no file of the package", dst, link[1])
		case heading != "" && !hasHeading(readText(t, to), heading):
			t.Errorf("%s: the link %s leads to no heading", dst, link[1])
		}
	}
	return count
}

// hasHeading: the anchor of a heading is its lower-case text without punctuation, with hyphens for spaces.
func hasHeading(text, anchor string) bool {
	noLetter := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		slug := strings.ReplaceAll(noLetter.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return false
}

// shippedFiles are the files that nfpm.yaml puts into the package, with their sources, but those that build makes.
func shippedFiles(t *testing.T) map[string]string {
	t.Helper()
	var list struct {
		Contents []struct{ Src, Dst, Type string }
	}
	must(t, yaml.Unmarshal([]byte(readText(t, "nfpm.yaml")), &list))
	shipped, links := map[string]string{}, map[string]string{}
	for _, c := range list.Contents {
		switch {
		case c.Type == "symlink":
			links[c.Dst] = path.Join(path.Dir(c.Dst), c.Src)
			continue
		case strings.Contains(c.Src, "${"):
			continue
		}
		sources, err := filepath.Glob(filepath.Join("../..", c.Src))
		if err != nil || len(sources) == 0 {
			t.Errorf("%s is no file of the source: %v", c.Src, err)
		}
		for _, src := range sources {
			dst := c.Dst
			if strings.HasSuffix(dst, "/") {
				dst += filepath.Base(src)
			}
			shipped[dst] = src
		}
	}
	for from, to := range links {
		for dst, src := range shipped {
			if rest, ok := strings.CutPrefix(dst, to); ok {
				shipped[from+rest] = src
			}
		}
	}
	return shipped
}

// followInstalled follows the links of the documents of a package that was extracted to root.
func followInstalled(t *testing.T, root string) {
	t.Helper()
	count := 0
	err := filepath.WalkDir(root+docs, func(file string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(file) == ".md" {
			count += followLinks(t, file, file, func(place string) string {
				if _, err := os.Stat(place); err != nil {
					return ""
				}
				return place
			})
		}
		return err
	})
	if err != nil || count < 20 {
		t.Errorf("%d links: %v", count, err)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}
