package ticket

import (
	"errors"
	"fmt"
	"strings"
)

// Permanent marks an error that no further attempt can cure: the ticket is buried.
func Permanent(err error) error { return outcome{err, permanent} }

// NotReady marks an error that says the station needs a person (no paper, cover
// open): the line waits and no attempt is counted.
func NotReady(err error) error { return outcome{err, notReady} }

// Untouched marks an error after begin that is known to have come before the first ticket
// byte left this machine: the begun doubt is taken back. Whoever cannot know does not mark.
func Untouched(err error) error { return outcome{err, untouched} }

// IsUntouched says whether the outermost mark on err is [Untouched].
func IsUntouched(err error) bool { return marked(err, untouched) }

// IsPermanent says whether the outermost mark on err is [Permanent].
func IsPermanent(err error) bool { return marked(err, permanent) }

// IsNotReady says whether the outermost mark on err is [NotReady].
func IsNotReady(err error) bool { return marked(err, notReady) }

type mark int

const (
	permanent mark = iota
	notReady
	untouched
)

type outcome struct {
	error
	mark mark
}

func (o outcome) Unwrap() error { return o.error }

func marked(err error, m mark) bool {
	o, ok := errors.AsType[outcome](err)
	return ok && o.mark == m
}

// Short is a request id as people compare it on two slips of paper: its last six
// characters.
func Short(request string) string {
	r := []rune(request)
	if len(r) > 6 {
		r = r[len(r)-6:]
	}
	return string(r)
}

// NumberLabel is an order's number as people call it out: "#18" for 18 and for #18. An empty
// number gives "".
func NumberLabel(number string) string {
	if number == "" {
		return ""
	}
	return "#" + strings.TrimPrefix(number, "#")
}

// TableLabel is a table with the word: "Table 12" for 12, and Table 12 as it is. An empty table
// gives "".
func TableLabel(table string) string {
	if table == "" || strings.HasPrefix(strings.ToLower(table), "table") {
		return table
	}
	return "Table " + table
}

// Plural is "1 ticket", "2 tickets": messages for people count correctly.
func Plural(n int, one string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
