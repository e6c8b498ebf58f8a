package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Problem is one thing that is wrong with the configuration.
type Problem struct {
	// Path is the key, as printers[2].columns; the variable, when there is no such key;
	// or file:line, when the file is no YAML.
	Path string
	Msg  string // what is wrong, the value seen, what to do
	// Line, Element and Variable say where that is; Load knows them.
	Line     int    // of the file, counted from 1; 0 when it is not from there
	Element  string // the name of the list element in Path, as bar of printers[2]
	Variable string // that set the key
	// Warning says that the configuration is accepted all the same.
	Warning bool
}

// Error is where, the key and what is wrong with it:
//
//	line 41: printers[2] (bar).columns: 0 is not a width; use 48, 42 or 32
func (p Problem) Error() string {
	at := p.Path
	if list, rest, ok := strings.Cut(at, "]"); ok && p.Element != "" {
		at = fmt.Sprintf("%s] (%s)%s", list, p.Element, rest)
	}
	switch {
	case p.Variable != "":
		at = p.Variable + ": " + at
	case p.Line != 0:
		at = fmt.Sprintf("line %d: %s", p.Line, at)
	}
	return at + ": " + p.Msg
}

// Problems is everything that is wrong with the configuration, in the order of the file;
// what comes from the environment is last. It is never empty as an error.
type Problems []Problem

// Error is one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is how many problems are worth telling at once; a file with more is another
// file than it was meant to be.
const maxProblems = 100

// findings collects what is wrong and what is odd while a configuration is read.
type findings struct {
	file     string // its name
	problems Problems
	warnings Problems
	omitted  int               // problems beyond those kept
	lines    map[string]int    // where each key of the file stands
	elements map[string]string // what each element of a list is called, as bar for printers[2]
	env      map[string]string // keys whose value comes from a variable, and which
}

// add notes a problem with the value at path, unless something is already known to be
// wrong with it or with what holds it: one mistake is one line.
func (f *findings) add(path, format string, args ...any) {
	switch {
	case f.hasProblem(path):
	case len(f.problems) == maxProblems:
		f.omitted++
	default:
		f.problems = append(f.problems, f.problem(path, format, args...))
	}
}

func (f *findings) warn(path, format string, args ...any) {
	if !f.hasProblem(path) {
		f.warnings = append(f.warnings, f.problem(path, format, args...))
	}
}

// problem says where path is, or else what holds it.
func (f *findings) problem(path, format string, args ...any) Problem {
	p := Problem{Path: path, Msg: clean(fmt.Sprintf(format, args...))}
	for at := path; at != "" && p.Line == 0 && p.Variable == ""; at = at[:max(strings.LastIndexAny(at, ".["), 0)] {
		p.Line, p.Variable = f.lines[at], f.env[at]
	}
	if list, _, ok := strings.Cut(path, "]"); ok {
		p.Element = f.elements[list+"]"]
	}
	return p
}

// clean keeps what stands in a file from steering the terminal it is shown on.
func clean(msg string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, msg)
}

// bad says whether the value at path cannot be believed: it, or what holds it, has a
// problem already.
func (f *findings) hasProblem(path string) bool {
	return slices.ContainsFunc(f.problems, func(p Problem) bool { return within(path, p.Path) })
}

// hasProblemBelow says whether anything at path or inside it has a problem.
func (f *findings) hasProblemBelow(path string) bool {
	return f.hasProblem(path) || slices.ContainsFunc(f.problems, func(p Problem) bool { return within(p.Path, path) })
}

func within(path, whole string) bool {
	rest, ok := strings.CutPrefix(path, whole)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// told is all problems in the order of the file.
func (f *findings) inFileOrder() Problems {
	f.problems.sort()
	if f.omitted > 0 {
		return append(f.problems, Problem{Path: "and more", Msg: fmt.Sprintf("%d further; repair these first", f.omitted)})
	}
	return f.problems
}

// sort puts problems in the order of the file. Those without a line come last.
func (ps Problems) sort() {
	line := func(p Problem) uint { return uint(p.Line) - 1 } // none is the largest
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Compare(line(a), line(b)) })
}
