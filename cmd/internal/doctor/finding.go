package doctor

import "fmt"

// How much a finding matters.
const (
	OK   = "OK"
	Warn = "WARN" // tickets print; something is probably not meant
	Fail = "FAIL" // tickets do not print, or will not after the next start
)

// A Finding is the result of one check of the box.
type Finding struct {
	Level   string // OK, Warn or Fail
	Subject string // what was checked: a key of the configuration, a unit, a printer
	Why     string // what was seen
	Fix     string // what to do; empty if nothing is to be done
}

// String is the finding on one line, in the form of `check --online`.
func (f Finding) String() string { return fmt.Sprintf("%-5s %s", f.Level, f.text()) }

// text is the finding without its level.
func (f Finding) text() string {
	s := f.Subject + ": " + f.Why
	if f.Fix != "" {
		s += "; to fix: " + f.Fix
	}
	return s
}
