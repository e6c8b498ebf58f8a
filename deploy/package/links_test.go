package deploypackage

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

// followLinks follows the links of the documents of a package that was extracted to root. Each must lead to a file of
// the package, and to a heading if it names one.
func followLinks(t *testing.T, root string) {
	t.Helper()
	count := 0
	err := filepath.WalkDir(root+"/usr/share/doc/ticketrail", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".md" {
			return err
		}
		for _, link := range regexp.MustCompile(`\]\(([^()\s]+)\)`).FindAllStringSubmatch(readText(t, file), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			count++
			name, heading, _ := strings.Cut(link[1], "#")
			to := file
			if name != "" {
				to = path.Join(path.Dir(file), name)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s leads to no file of the package", file, link[1])
			} else if heading != "" && !hasHeading(readText(t, to), heading) {
				t.Errorf("%s: the link %s leads to no heading", file, link[1])
			}
		}
		return nil
	})
	assert.True(t, err == nil && count >= 20, count, err)
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

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	assert.NoError(t, err)
	return string(text)
}
