package ticket

import (
	"errors"
	"fmt"
)

// Permanent marks an error that says that this station will never take this ticket: another station gets
// it, or a person.
func Permanent(err error) error { return markedError{err, permanent} }

// NotReady marks an error that says that the station needs a person (no paper, cover open): the
// queue waits, and no attempt is counted.
func NotReady(err error) error { return markedError{err, notReady} }

// Untouched marks an error after begin of which it is known that the ticket has not come out: no byte of it
// left this machine, or the station has answered that it did not take it. The doubt is taken back. A station
// that cannot be sure must not use it. It does not hide a [Permanent] or [NotReady] below it: those say what
// follows, this one what has happened.
func Untouched(err error) error { return markedError{err, untouched} }

// IsUntouched says whether the outermost mark on err is [Untouched].
func IsUntouched(err error) bool { return marked(err, untouched) }

// IsPermanent says whether the outermost mark on err, apart from [Untouched], is [Permanent].
func IsPermanent(err error) bool { return marked(err, permanent) }

// IsNotReady says whether the outermost mark on err, apart from [Untouched], is [NotReady].
func IsNotReady(err error) bool { return marked(err, notReady) }

// A mark is what a station knows about a failure and an error alone does not say.
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

// Short is a request id as people compare it between two tickets: its last six characters.
func Short(request string) string {
	r := []rune(request)
	if len(r) > 6 {
		r = r[len(r)-6:]
	}
	return string(r)
}

// Plural is "1 ticket", "2 tickets".
func Plural(n int, one string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
