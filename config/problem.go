package config

import (
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
	Line int    // of the file, counted from 1; 0 when it is not from there
	err  error
}

func (p Problem) Error() string { return p.Path + ": " + p.Msg }

func (p Problem) Unwrap() error { return p.err }

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

func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// maxProblems is how many problems are worth telling at once; a file with more is another
// file than it was meant to be.
const maxProblems = 100

// findings collects what is wrong and what is odd while a configuration is read.
type findings struct {
	problems Problems
	warnings []string
	more     int               // problems beyond those kept
	lines    map[string]int    // where each key of the file stands
	env      map[string]string // keys whose value came from a variable, and which
}

// add notes a problem with the value at path, unless something is already known to be
// wrong with it or with what holds it: one mistake is one line.
func (f *findings) add(path, format string, args ...any) {
	if f.bad(path) {
		return
	}
	if len(f.problems) == maxProblems {
		f.more++
		return
	}
	msg := fmt.Sprintf(format, args...)
	if name := f.env[path]; name != "" {
		msg += " (set by " + name + ")"
	}
	f.problems = append(f.problems, Problem{Path: path, Msg: clean(msg), Line: f.line(path)})
}

func (f *findings) warn(path, format string, args ...any) {
	if !f.bad(path) {
		f.warnings = append(f.warnings, path+": "+clean(fmt.Sprintf(format, args...)))
	}
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
func (f *findings) bad(path string) bool {
	return slices.ContainsFunc(f.problems, func(p Problem) bool {
		rest, ok := strings.CutPrefix(path, p.Path)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// badBelow says whether anything at path or inside it has a problem.
func (f *findings) badBelow(path string) bool {
	return f.bad(path) || slices.ContainsFunc(f.problems, func(p Problem) bool {
		rest, ok := strings.CutPrefix(p.Path, path)
		return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
	})
}

// line is where path stands in the file, or else what holds it; 0 when the value is not
// from the file.
func (f *findings) line(path string) int {
	if f.env[path] != "" {
		return 0
	}
	for path != "" {
		if n := f.lines[path]; n != 0 {
			return n
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// sorted is the problems in the order of the file. Those without a line come last.
func (f *findings) sorted() Problems {
	slices.SortStableFunc(f.problems, func(a, b Problem) int {
		switch {
		case a.Line == b.Line:
			return 0
		case a.Line == 0:
			return 1
		case b.Line == 0:
			return -1
		}
		return a.Line - b.Line
	})
	if f.more > 0 {
		return append(f.problems, Problem{Path: "and more", Msg: fmt.Sprintf("%d further; repair these first", f.more)})
	}
	return f.problems
}
