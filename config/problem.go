package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ticketrail/printer/layout"
)

// A Problem is one thing that is wrong with the configuration.
type Problem struct {
	// Path is the key, such as printers[2].columns; the variable, if there is no such key; or
	// file:line, if the file is not valid YAML.
	Path string
	Msg  string // the mistake, the value seen, the advice
	// Line, Element and Variable say where the value is. Load sets them.
	Line     int    // line of the file, from 1; 0 if the value is not from the file
	Element  string // name of the list element in Path, such as bar for printers[2]
	Variable string // environment variable that set the key
}

// Error returns the place, the key and the mistake:
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

// Problems are all mistakes in the configuration, in the order of the file; mistakes of the
// environment are last. As an error it is never empty.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is how many problems are reported at once. A file with more is probably not a
// configuration of ticketrail.
const maxProblems = 100

// findings collects problems and warnings while a configuration is read.
type findings struct {
	file     string       // name of the file
	schema   reflect.Type // the type that it is read into
	keys     []key        // of schema
	problems Problems
	warnings Problems
	omitted  int               // number of problems beyond maxProblems
	meant    []string          // missing keys that unknown ones were perhaps meant to be
	lines    map[string]int    // line of each key in the file
	elements map[string]string // name of each list element, such as bar for printers[2]
	env      map[string]string // variable that set a key, by the key
}

// add reports a problem with the value at path, unless the value or its section has a problem
// already: one mistake gives one line.
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

// problem makes a Problem with the line or variable of path, or of its section.
func (f *findings) problem(path, format string, args ...any) Problem {
	found := Problem{Path: path, Msg: layout.Clean(fmt.Sprintf(format, args...))}
	for at := path; at != "" && found.Line == 0 && found.Variable == ""; {
		found.Line, found.Variable = f.lines[at], f.env[at]
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}

	if list, _, ok := strings.Cut(path, "]"); ok {
		found.Element = f.elements[list+"]"]
	}
	return found
}

// hasProblem reports whether the value at path, or its section, has a problem. A
// missing key that was mistyped counts too: both are the same mistake.
func (f *findings) hasProblem(path string) bool {
	return slices.ContainsFunc(f.problems, func(p Problem) bool { return within(path, p.Path) }) ||
		slices.ContainsFunc(f.meant, func(key string) bool { return within(path, key) })
}

// hasProblemBelow reports whether anything at or below path has a problem.
func (f *findings) hasProblemBelow(path string) bool {
	return f.hasProblem(path) || slices.ContainsFunc(f.problems, func(p Problem) bool { return within(p.Path, path) })
}

// within reports whether path is whole or a part of it.
func within(path, whole string) bool {
	rest, ok := strings.CutPrefix(path, whole)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// inFileOrder returns all problems in the order of the file.
func (f *findings) inFileOrder() Problems {
	f.problems.sort()
	if f.omitted > 0 {
		return append(f.problems, Problem{Path: "and more",
			Msg: fmt.Sprintf("%d problems; fix these first", f.omitted)})
	}
	return f.problems
}

// sort sorts problems by line. Those without a line come last.
func (ps Problems) sort() {
	line := func(p Problem) uint { return uint(p.Line) - 1 } // no line becomes the largest number
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Compare(line(a), line(b)) })
}
