package assert

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A said is a test that notes its failures.
type said struct{ strings.Builder }

func (*said) Helper()                           {}
func (s *said) Errorf(format string, of ...any) { fmt.Fprintf(s, format+"\n", of...) }
func (s *said) Fatal(of ...any)                 { fmt.Fprintln(s, of...) }

func TestOnlyACheckThatFailsSaysItsValues(t *testing.T) {
	var s said
	for _, n := range []int{1, 2} {
		True(&s, n == 1, "n", n)
		Equal(&s, n, 1, "one")
		Contains(&s, fmt.Sprint(n), "1")
		NoError(&s, map[int]error{2: errors.New("broken")}[n])
	}

	want := "failed: [n 2]\nfailed: 2 instead of 1: [one]\nfailed: [2 1]\nbroken\n"
	if s.String() != want {
		t.Errorf("%q, want %q", s.String(), want)
	}
}
