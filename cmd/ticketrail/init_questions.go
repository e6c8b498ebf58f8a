package main

import (
	"bufio"
	"cmp"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"ticketrail/printer/layout"
)

// questions asks on stdout and reads lines from stdin. After an error it asks nothing more.
type questions struct {
	c     *cli
	flags *pflag.FlagSet // a flag that is given is not asked
	in    *bufio.Scanner
	err   error
}

func (q *questions) given(flag string) bool { return q.flags.Changed(flag) }

func (q *questions) fail(err error) { q.err = cmp.Or(q.err, err) }

// maxTries keeps a pipe with a wrong answer from asking for ever.
const maxTries = 3

// ask takes the answer of a flag, or asks until take accepts one. An empty answer is the default.
func (q *questions) ask(flag, question, byDefault string, take func(string) error) {
	if q.err != nil {
		return
	}
	if q.given(flag) {
		if err := take(cmp.Or(q.flags.Lookup(flag).Value.String(), byDefault)); err != nil {
			q.fail(usagef("--%s: %w", flag, err))
		}
		return
	}

	hint := ""
	if byDefault != "" {
		hint = " [" + byDefault + "]"
	}

	for range maxTries {
		if q.fail(write(q.c.out, layout.Clean(question+hint)+": ")); q.err != nil {
			return
		}
		if !q.in.Scan() {
			q.fail(usagef("no answer; answer it, or give --%s: %w", flag, cmp.Or(q.in.Err(), io.ErrUnexpectedEOF)))
			return
		}

		err := take(cmp.Or(strings.TrimSpace(q.in.Text()), byDefault))
		if err == nil {
			return
		}
		q.c.printError("  ", err)
	}
	q.fail(usagef("no valid answer; give --%s", flag))
}
