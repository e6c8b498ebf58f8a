package layers

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns = 120 // two files fit side by side on one screen
	tabColumns = 4
)

// hasTextToRead says whether people read a file line by line. Test data and go.sum are compared by
// programs and keep the lines that they have.
func hasTextToRead(name string) bool {
	if strings.Contains(name, "testdata/") {
		return false
	}
	extensions := []string{".go", ".md", ".js", ".mjs", ".css", ".html", ".yaml", ".service", ".socket", ".conf"}
	return name == ".ci/run" || name == "Makefile" || slices.Contains(extensions, filepath.Ext(name))
}

// tooLong returns the numbers of the lines with more than maxColumns. In Markdown, lines of tables and
// of code blocks may be longer: neither can be broken.
func tooLong(name, text string) (numbers []int) {
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		if filepath.Ext(name) == ".md" {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "|") {
				continue
			}
		}
		if utf8.RuneCountInString(line)+(tabColumns-1)*strings.Count(line, "\t") > maxColumns {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func TestNoLineIsLongerThan120Columns(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skipf("the files of the repository cannot be listed: %v", err)
	}
	checked := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if !hasTextToRead(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, but not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		checked++
		if numbers := tooLong(name, string(text)); len(numbers) > 0 {
			t.Errorf("%s: %d lines have more than %d columns: %v", name, len(numbers), maxColumns, numbers)
		}
	}
	if checked < 100 {
		t.Errorf("only %d files were checked", checked)
	}
}

func TestLinesThatAreTooLongAreFound(t *testing.T) {
	at, over := strings.Repeat("é", maxColumns-tabColumns), strings.Repeat("é", maxColumns-tabColumns+1)
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"a.go", "\t" + at + "\n\t" + over, []int{2}},
		{"a.md", "| " + over + " |\n```\n\t" + over + "\n```\n    " + over + "\n\t" + over, []int{6}},
	} {
		if got := tooLong(c.name, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: lines %v, want %v", c.name, got, c.want)
		}
	}
}
