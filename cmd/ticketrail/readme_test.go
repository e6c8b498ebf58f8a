package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ticketrail/config"
	"ticketrail/deploy/assert"
)

const repository = "../.."

// TestTheConfigurationInDocumentsIsValid: a block of a document is a part of a configuration, so other stations, routes
// and so on are missing. Whatever else is wrong with it is a mistake in the document.
func TestTheConfigurationInDocumentsIsValid(t *testing.T) {
	missing := regexp.MustCompile(
		`there (are|is) no (venues|stations|station|screen)|fallback: is missing|no such file`)
	for name, text := range documents(t) {
		for _, block := range yamlBlocks(text) {
			_, err := config.Parse(name, []byte(block))
			if err == nil {
				continue
			}
			for line := range strings.Lines(err.Error()) {
				assert.True(t, missing.MatchString(line), name, line, block)
			}
		}
	}
}

// TestTheCommandsInDocumentsExist: an indented line that begins with ticketrail is a command to type, and so is
// `ticketrail a b` in a text.
func TestTheCommandsInDocumentsExist(t *testing.T) {
	command := regexp.MustCompile("(?m)^    (?:\\./)?ticketrail (.+)$|`ticketrail ([a-z][^`]*)`")
	for name, text := range documents(t) {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			line, _, _ := strings.Cut(m[1]+m[2], " #")
			args := strings.Fields(strings.ReplaceAll(line, `"`, ""))
			args = slices.DeleteFunc(args, func(s string) bool { return s == "&" })
			c := &cli{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}
			cmd, rest, err := c.root().Find(args)
			mistyped := cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-")
			if err == nil && (mistyped || !cmd.HasParent()) {
				err = os.ErrNotExist
			}
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			assert.True(t, err == nil, name, line, err)
		}
	}
}

var goFile = regexp.MustCompile(`[a-z_0-9/]+\.go\b`)

// TestArchitectureNamesOnlyFilesThatExist: a line may name several files of one folder: receiver/routes.go, check.go.
func TestArchitectureNamesOnlyFilesThatExist(t *testing.T) {
	found := 0
	for _, line := range strings.Split(documents(t)["ARCHITECTURE.md"], "\n") {
		folder := ""
		for _, name := range goFile.FindAllString(line, -1) {
			if strings.Contains(name, "/") {
				folder = filepath.Dir(name)
			}
			_, err := os.Stat(filepath.Join(repository, folder, filepath.Base(name)))
			assert.True(t, err == nil, line, err)
			found++
		}
	}
	assert.True(t, found >= 20, "ARCHITECTURE.md names", found)
}

// documents reads every Markdown file of the repository, by its path in it.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(repository, path)
		out[name] = string(b)
		return err
	})
	must(t, err)
	if out["README.md"] == "" {
		t.Fatal("README.md is missing")
	}
	return out
}

// yamlBlocks returns the pieces of configuration in a document.
func yamlBlocks(text string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}
