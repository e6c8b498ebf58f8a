package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ticketrail/deploy/assert"
)

func TestKeysMissingInTheFileHaveTheirDefaults(t *testing.T) {
	for _, more := range []string{"", "receiver:\nstorage: ~\nlog: { level: null }\nservice: { token: }\nticket: " +
		"{ fields: }\nscreens:\n"} {
		wantSame(t, goodConfig(), *mustLoad(t, good+more), cmpopts.EquateEmpty(),
			cmpopts.EquateComparable(netip.Prefix{}, Secret{}))
	}
}

func TestAMissingFileIsReportedWithAdvice(t *testing.T) {
	_, err := Load("/nowhere/ticketrail.yaml")
	assert.True(t, err != nil && err.Error() == "/nowhere/ticketrail.yaml: cannot be read: no such file or directory; "+
		"ticketrail init writes it, or use another file with --config", err)
	_, err = Load("/dev/zero")
	assert.True(t, err != nil, "/dev/zero was read")
}

func TestFieldNamesAndPathsKeepTheirCase(t *testing.T) {
	c := mustLoad(t, good+"ticket: { fields: { name: [displayName, item.Name], record_note: [x] } }\n")
	want := map[string][]string{"name": {"displayName", "item.Name"}, "record_note": {"x"}}
	wantSame(t, want, c.Ticket.Fields)
}

func TestALongListOfMistakesIsTruncated(t *testing.T) {
	var b strings.Builder
	for i := range 10 * maxProblems {
		b.WriteString("x")
		b.WriteString(strings.Repeat("y", i%40))
		b.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + ": 1\n")
	}
	_, err := Parse("f.yaml", []byte(b.String()))
	ps, ok := errors.AsType[Problems](err)
	assert.True(t, ok && len(ps) == maxProblems+1 && ps[maxProblems].Path == "and more", len(ps))
}

func FuzzParseNeverPanics(f *testing.F) {
	checks, err := os.ReadFile("testdata/checks.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(checks), "\n\n") {
		f.Add([]byte(block))
	}
	f.Add([]byte(good))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? {a: b}\n: - c\n"))
	f.Add([]byte("receiver: { tls: { cert_file: /dev/zero, key_file: \"\\0\" } }\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f.yaml", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("a configuration %v with an error %v", c, err)
		}
		if ps, ok := errors.AsType[Problems](err); err != nil && (!ok || len(ps) == 0) {
			t.Fatalf("an error that is not a Problems: %v", err)
		}
		if strings.ContainsAny(fmt.Sprint(err), "\x1b\x00\r") {
			t.Fatalf("control characters in %q", fmt.Sprint(err))
		}
	})
}
