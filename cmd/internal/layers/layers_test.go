package layers

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

const module = "ticketrail"

// root is the top of the tree, seen from this package.
const root = "../../.."

func TestEveryImportIsListed(t *testing.T) {
	listed := packages(t)
	code, _ := imports(t)
	for name, imported := range code {
		pkg, ok := listed[name]
		if !ok {
			t.Errorf("%s is not in the tables: say in ARCHITECTURE.md what it is for, "+
				"and in cmd/internal/layers/README.md what it may import", name)
			continue
		}
		for _, n := range imported {
			if p, ok := ours(n); ok && !pkg.imports(p) {
				t.Errorf("%s imports %s: it is %q and may import only %v", name, p, pkg.is, pkg.may)
			}
		}
	}
	for name := range listed {
		_, ok := code[name]
		assert.True(t, ok, name, "is in the table of packages and not in the tree")
	}
}

func TestPackagesThatMustNotShipAreNotReachableFromTheDaemon(t *testing.T) {
	code, _ := imports(t)
	seen := map[string]bool{}
	var walk func(pkg string, trail []string)
	walk = func(pkg string, trail []string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		trail = append(slices.Clip(trail), pkg)
		why, bad := Never[pkg]
		assert.True(t, !bad, strings.Join(trail, " → "), why)
		for _, n := range code[pkg] {
			if p, ok := ours(n); ok {
				walk(p, trail)
			}
		}
	}
	walk("cmd/ticketrail", nil)
	assert.True(t, len(seen) >= 8, "the walk is broken: the daemon reaches only", seen)
}

func TestEachRestrictedModuleIsImportedOnlyByItsPackages(t *testing.T) {
	code, tests := imports(t)
	for _, o := range Only {
		for _, m := range []map[string][]string{code, tests} {
			for pkg, names := range m {
				if slices.Contains(o.Packages, pkg) {
					continue
				}
				for _, n := range names {
					restricted := n == o.Module || strings.HasPrefix(n, o.Module+"/")
					assert.True(t, !restricted, pkg, "imports", n, "which only these may", o.Packages, o.Why)
				}
			}
		}
	}
}

func TestTheTopFolderHoldsOnlyListedFiles(t *testing.T) {
	entries, err := os.ReadDir(root)
	assert.NoError(t, err)
	// The README builds the program here; git does not track what .gitignore names.
	built := strings.Split(strings.ReplaceAll(text(t, ".gitignore"), "/\n", "\n"), "\n")
	for _, e := range entries {
		name := e.Name()
		mayBe := strings.HasPrefix(name, ".") || slices.Contains(Top, name) || slices.Contains(built, "/"+name)
		assert.True(t, mayBe, name, "is in the top folder, where only these may be", Top)
	}
}

func TestArchitectureNamesOnlyTestsThatExist(t *testing.T) {
	tests := map[string]string{} // the text of the tests of a package; "": of all
	for _, name := range files(t) {
		if strings.HasSuffix(name, "_test.go") {
			tests[path.Dir(name)] += text(t, name)
			tests[""] += text(t, name)
		}
	}

	// A cell of the table of promises names packages before their tests: `queue `TestA`, *`TestB`*; printer `TestC``.
	test := regexp.MustCompile("`(Test[A-Z]\\w+)`")
	named := 0
	for _, part := range regexp.MustCompile(`[;|\n]`).Split(text(t, "ARCHITECTURE.md"), -1) {
		packages := strings.Split(strings.Trim(part[:max(0, strings.IndexAny(part, "*`"))], " "), ", ")
		if tests[packages[0]] == "" {
			packages = []string{""}
		}
		for _, m := range test.FindAllStringSubmatch(part, -1) {
			named++
			for _, in := range packages {
				there := strings.Contains(tests[in], "\nfunc "+m[1]+"(t *testing.T)")
				assert.True(t, there, "ARCHITECTURE.md names", m[1], "which is no test of", cmp.Or(in, "any package"))
			}
		}
	}
	assert.True(t, named >= 10, "ARCHITECTURE.md names few tests", named)
}

// A row is a package in the tables of ARCHITECTURE.md and of this folder's README.
type row struct {
	is  string   // its purpose
	may []string // the packages of this module that it may import; tests may import any
}

// packages joins the two tables of packages, which list the same ones.
func packages(t *testing.T) map[string]row {
	t.Helper()

	purposes := table(t, "ARCHITECTURE.md", "is", regexp.MustCompile(".+"))
	may := table(t, "cmd/internal/layers/README.md", "may import", regexp.MustCompile("^(–|`[^`]+`(, `[^`]+`)*)$"))

	listed := map[string]row{}
	for pkg, is := range purposes {
		assert.True(t, may[pkg] != "", pkg, "is in ARCHITECTURE.md and not in cmd/internal/layers/README.md")
		listed[pkg] = row{is, strings.Split(strings.Trim(may[pkg], "`"), "`, `")}
	}
	for pkg := range may {
		assert.True(t, purposes[pkg] != "", pkg, "is in cmd/internal/layers/README.md and not in ARCHITECTURE.md")
	}
	return listed
}

// table reads the table of a file with the columns package and second, whose cells match valid.
func table(t *testing.T, file, second string, valid *regexp.Regexp) map[string]string {
	t.Helper()

	_, rows, _ := strings.Cut(text(t, file), "\n| package | "+second+" |\n|---|---|\n")
	rows, _, _ = strings.Cut(strings.TrimSuffix(rows, "\n"), "\n\n")

	cells := map[string]string{}
	for line := range strings.SplitSeq(rows, "\n") {
		name, cell, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		pkg := strings.Trim(name, "`")
		if name != "`"+pkg+"`" || !valid.MatchString(cell) || cells[pkg] != "" {
			t.Fatalf("%s: not a row of its table of packages, or the second of a package:\n%s", file, line)
		}
		cells[pkg] = cell
	}
	return cells
}

// imports maps each package that has Go files to the imports of its non-test files and of its test files.
func imports(t *testing.T) (code, tests map[string][]string) {
	t.Helper()

	code, tests = map[string][]string{}, map[string][]string{}
	for _, f := range goFiles(t) {
		pkg, into := path.Dir(f.name), code
		if f.isTest() {
			into = tests
		}
		for _, s := range f.Imports {
			imported, err := strconv.Unquote(s.Path.Value)
			assert.NoError(t, err)
			into[pkg] = append(into[pkg], imported)
		}
		if _, ok := code[pkg]; !ok {
			code[pkg] = nil
		}
	}
	if len(code) < 10 {
		t.Fatalf("found only %d packages below %s: the walk is broken", len(code), root)
	}
	return code, tests
}

// files lists the files of the tree, as paths from its top with slashes. Test data, the Git folder and what the
// programs of other languages install are not part of it.
func files(t *testing.T) (names []string) {
	t.Helper()

	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "testdata", "node_modules", "dist"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, p)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	assert.NoError(t, err)
	return names
}

// text is a file of the tree.
func text(t *testing.T, name string) string {
	t.Helper()

	b, err := os.ReadFile(filepath.Join(root, name))
	assert.NoError(t, err)
	return string(b)
}

// A goFile is a file of Go code of the tree.
type goFile struct {
	*ast.File
	name string
	set  *token.FileSet
}

func (f goFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f goFile) line(at token.Pos) int { return f.set.Position(at).Line }

var parsed []goFile // by the first test that asks

// goFiles parses all files.
func goFiles(t *testing.T) []goFile {
	t.Helper()

	if parsed == nil {
		for _, name := range files(t) {
			if filepath.Ext(name) == ".go" {
				parsed = append(parsed, parse(t, name, text(t, name)))
			}
		}
	}
	return parsed
}

func parse(t *testing.T, name, text string) goFile {
	t.Helper()

	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	assert.NoError(t, err)
	return goFile{file, name, set}
}

// ours returns the path within this module of an import, and whether it is one of this module.
func ours(name string) (string, bool) { return strings.CutPrefix(name, module+"/") }

// imports says whether the package may import pkg. A trailing "/..." allows everything below, too; "..." alone allows
// everything.
func (r row) imports(pkg string) bool {
	for _, m := range r.may {
		below, all := strings.CutSuffix(m, "...")
		below = strings.TrimSuffix(below, "/")
		if m == pkg || all && (below == "" || pkg == below || strings.HasPrefix(pkg, below+"/")) {
			return true
		}
	}
	return false
}
