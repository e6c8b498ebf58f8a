package layers

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ticketrail/deploy/assert"
)

const (
	maxColumns = 120 // two files fit side by side on one screen
	tabColumns = 4
)

func TestNoLineIsLongerThan120Columns(t *testing.T) {
	checked := 0
	for _, name := range files(t) {
		if !hasTextToRead(name) {
			continue
		}
		checked++
		numbers := tooLong(name, text(t, name))
		assert.True(t, len(numbers) == 0, name, "has lines of more columns than", maxColumns, numbers)
	}
	assert.True(t, checked >= 100, "too few files were checked", checked)
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
		got := tooLong(c.name, c.text)
		assert.True(t, slices.Equal(got, c.want), c.name, got, c.want)
	}
}

func TestEachDocCommentBeginsWithTheNameThatItDocuments(t *testing.T) {
	for _, f := range goFiles(t) {
		places := f.otherNames()
		assert.True(t, len(places) == 0, strings.Join(places, "; "))
	}
}

func TestDocCommentsOfAnotherNameAreFound(t *testing.T) {
	const text = `package a

// Old is gone.
func New() {}

// An A is a type.
type A int

// C has a group.
const (
	c = 1
	d = 2
)

//go:embed e
var e string

// E is another.
var f string

// [Old] is linked.
type G int
`
	want := []string{`a.go:3: the comment of New begins with "Old"`,
		`a.go:18: the comment of f begins with "E"`, `a.go:21: the comment of G begins with "[Old]"`}
	got := parse(t, "a.go", text).otherNames()
	assert.True(t, slices.Equal(got, want), got, want)
}

// TestOneSwitchSkipsTests holds the promise of deploy/slow: which tests run depends on TICKETRAIL_TEST_ALL alone, never
// on the programs that a machine happens to have.
func TestOneSwitchSkipsTests(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.isTest() || strings.HasPrefix(f.name, "deploy/slow/") {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow", "Short"}, s.Sel.Name) {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "tb", "testing"}, x.Name) {
				t.Errorf("%s:%d: %s.%s: use slow.Test", f.name, f.line(s.Pos()), x.Name, s.Sel.Name)
			}
			return true
		})
	}
}

// hasTextToRead says whether people read a file line by line. go.sum is compared by programs and keeps its lines.
func hasTextToRead(name string) bool {
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

// otherNames returns the doc comments of a file that begin with another name than the one that they document, which a
// rename leaves behind. A type's comment may begin with an article. The comment of a group documents no single name.
func (f goFile) otherNames() (places []string) {
	check := func(doc *ast.CommentGroup, name string, articles ...string) {
		words := strings.Fields(doc.Text())
		if len(words) > 1 && slices.Contains(articles, words[0]) {
			words = words[1:]
		}
		if len(words) == 0 || strings.TrimRight(words[0], ",.:;") == name ||
			strings.HasPrefix(words[0], name+"'") {
			return
		}
		places = append(places, fmt.Sprintf("%s:%d: the comment of %s begins with %q", f.name, f.line(doc.Pos()), name,
			words[0]))
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			check(d.Doc, d.Name.Name)
		case *ast.GenDecl:
			if len(d.Specs) != 1 {
				continue
			}
			switch s := d.Specs[0].(type) {
			case *ast.TypeSpec:
				check(d.Doc, s.Name.Name, "A", "An", "The")
			case *ast.ValueSpec:
				if len(s.Names) == 1 && s.Names[0].Name != "_" {
					check(d.Doc, s.Names[0].Name)
				}
			}
		}
	}
	return places
}
