package ticket

import (
	"errors"
)

// Permanent marks an error that says that this station will never take this ticket: another station gets
// it, or a person.
func Permanent(err error) error { return markedError{err, permanent} }

// NotReady marks an error that says that the station needs a person (no paper, cover open): the
// queue waits, and no attempt is counted.
func NotReady(err error) error { return markedError{err, notReady} }

// Untouched marks an error after begin of which it is known that the ticket has not come out: no byte of it
// left this machine, or the station has answered that it did not take it. The doubt is taken back. A station
// that cannot be sure must not use it. It does not hide a [Permanent] or [NotReady] below it: those name the
// consequence, this one the event.
func Untouched(err error) error { return markedError{err, untouched} }

// IsUntouched says whether the outermost mark on err is [Untouched].
func IsUntouched(err error) bool { return marked(err, untouched) }

// IsPermanent says whether the outermost mark on err, apart from [Untouched], is [Permanent].
func IsPermanent(err error) bool { return marked(err, permanent) }

// IsNotReady says whether the outermost mark on err, apart from [Untouched], is [NotReady].
func IsNotReady(err error) bool { return marked(err, notReady) }

// A mark is a station's knowledge about a failure that an error alone does not carry.
type mark int

const (
	permanent mark = iota
	notReady
	untouched
)

type markedError struct {
	error
	mark mark
}

func (o markedError) Unwrap() error { return o.error }

// marked looks at the outermost mark only: a station that wraps a marked error may know more.
func marked(err error, m mark) bool {
	o, ok := errors.AsType[markedError](err)
	if ok && o.mark == untouched && m != untouched {
		return marked(o.error, m)
	}
	return ok && o.mark == m
}
