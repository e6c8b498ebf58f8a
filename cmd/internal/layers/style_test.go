package layers

import (
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThePageReadsAsTheModelsDo: six well-kept daemons and libraries have 6 to 14 blank lines in 100 lines of function
// bodies, 1 to 20 % one-letter names among :=, and "what" in 1 to 8 of 1,000 comment lines.
func TestThePageReadsAsTheModelsDo(t *testing.T) {
	var all figures
	byFile := map[string]figures{}
	for _, f := range goFiles(t) {
		if !f.isTest() {
			byFile[f.name] = f.measure(t)
			all.add(byFile[f.name])
		}
	}

	for _, c := range []struct {
		subject     string
		count, of   func(figures) int
		least, most float64 // in 100
		hint        string
	}{
		{"blank lines among the lines of function bodies", func(f figures) int { return f.blank },
			func(f figures) int { return f.body }, 5, 20, "a blank line stands between the steps of a function"},
		{"one-letter names among :=", func(f figures) int { return f.oneLetter },
			func(f figures) int { return f.defined }, 0, 8, "a name says the thing"},
		{`comment lines with "what"`, func(f figures) int { return f.what },
			func(f figures) int { return f.comments }, 0, 1, "a sentence has a noun"},
		{`comment lines with "that of" or "those of"`, func(f figures) int { return f.thatOf },
			func(f figures) int { return f.comments }, 0, 0.1, "a sentence has a noun"},
	} {
		part := 100 * float64(c.count(all)) / float64(c.of(all))
		if c.least <= part && part <= c.most {
			continue
		}
		worst := slices.Collect(maps.Keys(byFile))
		missed := func(name string) float64 {
			of, count := float64(c.of(byFile[name])), float64(c.count(byFile[name]))
			return max(count-c.most/100*of, c.least/100*of-count)
		}
		slices.SortFunc(worst, func(a, b string) int { return cmp.Compare(missed(b), missed(a)) })
		t.Errorf("%s: %.1f in 100, want %v to %v: %s. The worst: %s",
			c.subject, part, c.least, c.most, c.hint, strings.Join(worst[:10], ", "))
	}
}

func TestNoTypeNameIsInMoreThanThreePackages(t *testing.T) {
	where := map[string][]string{}
	for _, f := range goFiles(t) {
		ast.Inspect(f.File, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if in := path.Dir(f.name); isType && !f.isTest() && !slices.Contains(where[spec.Name.Name], in) {
				where[spec.Name.Name] = append(where[spec.Name.Name], in)
			}
			_, isFunction := n.(*ast.FuncDecl) // whose types are its own
			return !isFunction
		})
	}

	for name, in := range where {
		if len(in) > 3 && name != "Options" && name != "metrics" { // each package's own, by the rule of the house
			t.Errorf("%d packages have a type %s: %v", len(in), name, in)
		}
	}
}

// figures are counts of a file's lines and names.
type figures struct{ body, blank, defined, oneLetter, comments, what, thatOf int }

func (f *figures) add(g figures) {
	f.body += g.body
	f.blank += g.blank
	f.defined += g.defined
	f.oneLetter += g.oneLetter
	f.comments += g.comments
	f.what += g.what
	f.thatOf += g.thatOf
}

var (
	what   = regexp.MustCompile(`(?i)\bwhat\b`)
	thatOf = regexp.MustCompile(`(?i)\b(that|those) of\b`)
)

func (f goFile) measure(t *testing.T) (found figures) {
	t.Helper()

	lines := strings.Split(text(t, f.name), "\n")
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body == nil {
				break
			}
			for _, line := range lines[f.line(n.Body.Lbrace):max(f.line(n.Body.Rbrace)-1, f.line(n.Body.Lbrace))] {
				found.body++
				if strings.TrimSpace(line) == "" {
					found.blank++
				}
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE && id.Name != "_" {
					found.defined++
					if len(id.Name) == 1 {
						found.oneLetter++
					}
				}
			}
		}
		return true
	})

	for _, group := range f.Comments {
		for _, comment := range group.List {
			for line := range strings.SplitSeq(comment.Text, "\n") {
				found.comments++
				if what.MatchString(line) {
					found.what++
				}
				if thatOf.MatchString(line) {
					found.thatOf++
				}
			}
		}
	}
	return found
}
