package directory

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/posapi"
)

func TestIDsAreComparedAsTheContractComparesThem(t *testing.T) {
	uuid := rapid.StringMatching(`[01aAfF]{8}-[0aA]{4}-[0aA]{4}-[0aA]{4}-[0aAbB]{12}`)
	any := rapid.OneOf(uuid, rapid.StringMatching(`[0aAg-]{36}`), rapid.StringMatching(`[0aA-]{0,3}`),
		rapid.Just("00000000-0000-0000-0000-000000000000"), rapid.Just(""))
	rapid.Check(t, func(rt *rapid.T) {
		a, b := any.Draw(rt, "a"), any.Draw(rt, "b")
		if rapid.Bool().Draw(rt, "same") {
			b = strings.ToUpper(a)
		}
		ca, _ := contract.CanonicalID(a)
		cb, _ := contract.CanonicalID(b)
		if (idOf(a) == idOf(b)) != (ca == cb) {
			rt.Fatalf("%q and %q", a, b)
		}
		if idOf(a).String() != ca {
			rt.Fatalf("%q is %q", a, idOf(a))
		}
	})
}

func TestANameIsOneShortLineOfWhatCanBeSeen(t *testing.T) {
	for _, c := range []struct {
		e    posapi.Employee
		want string
	}{
		{posapi.Employee{Name: " Jonathan A. "}, "Jonathan A."},
		{posapi.Employee{Name: "Jon\x1b[31m\x00\n\r\tA\u0085."}, "Jon [31m A ."},
		{posapi.Employee{Name: "\u202eevil\u2066\ufeff \xff\xfeEve"}, "evil Eve"},
		{posapi.Employee{Name: "Zoë Ł. \u00a0 مریم\u200cها 李"}, "Zoë Ł. مریم\u200cها 李"},
		{posapi.Employee{Name: strings.Repeat("é", 80)}, strings.Repeat("é", 50)},
		{posapi.Employee{Name: strings.Repeat("x", 99) + " y"}, strings.Repeat("x", 99)},
		{posapi.Employee{Name: " \x00\u200d", FirstName: "Jonathan", LastName: "Álvarez"}, "Jonathan Á."},
		{posapi.Employee{FirstName: "Jonathan"}, "Jonathan"},
		{posapi.Employee{LastName: "Álvarez"}, "Álvarez"},
		{posapi.Employee{FirstName: strings.Repeat("x", 200), LastName: "A"}, strings.Repeat("x", 100)},
		{posapi.Employee{}, ""},
	} {
		if got := calls(c.e); got != c.want {
			t.Errorf("%.60q: %q, want %q", c.e.Name, got, c.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune(" \u200d\u200c\u202eaé李\x1b\u0301𝄞")))).Draw(rt, "name")
		got := clean(s)
		if clean(got) != got || len(got) > maxName || !utf8.ValidString(got) {
			rt.Fatalf("%q", got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' }) {
			rt.Fatalf("%q", got)
		}
	})
}

func TestEmployeesWithoutAUsableIDAreLeftOut(t *testing.T) {
	l := list{people: map[id]string{}}
	for _, s := range []string{"", " ", "a\tb", "a\nb", "\x00", "\xff", "\u202e", strings.Repeat("1", maxID+1)} {
		l.add(posapi.Employee{ID: s, Name: "X"})
	}
	if len(l.people) != 0 || l.skipped != 8 {
		t.Errorf("%+v", l)
	}
	if l.add(posapi.Employee{ID: " E-1 ", Name: "X"}); l.people[idOf("E-1")] != "X" {
		t.Errorf("%+v", l)
	}
}

func TestThereIsALimitToHowManyAreKept(t *testing.T) {
	crowd := func(from, n int, whole bool) list {
		l := list{people: map[id]string{}, whole: whole}
		for i := range n {
			l.add(posapi.Employee{ID: fmt.Sprint(from + i), Name: "X"})
		}
		return l
	}
	r := (&roll{made: time.Now()}).after(crowd(0, 9000, true), time.Hour)
	r = r.after(crowd(9000, 9000, true), time.Hour) // the first 9000 have left
	r.ran += 10
	r = r.after(crowd(18000, 9000, true), time.Hour) // the second as well, later
	if len(r.people) != maxPeople || r.here != 9000 {
		t.Fatalf("%d people, %d here", len(r.people), r.here)
	}
	has := func(from int) (n int) {
		for i := range 9000 {
			if _, ok := r.people[idOf(fmt.Sprint(from+i))]; ok {
				n++
			}
		}
		return n
	}
	if a, b, c := has(0), has(9000), has(18000); a != 2000 || b != 9000 || c != 9000 {
		t.Errorf("kept %d, %d and %d: those who left first should be forgotten first", a, b, c)
	}
	r = r.after(crowd(27000, 8000, false), time.Hour) // nobody left
	if a, b, c := has(9000), has(18000), r.here; a != 3000 || b != 9000 || c != 17000 {
		t.Errorf("kept %d, %d; %d here", a, b, c)
	}
}

func TestAnAgeIsNeverNegativeAndGoesOnOverARestart(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		r     roll
		least time.Duration
	}{
		{roll{since: now}, 0},
		{roll{since: now.Add(-time.Hour)}, time.Hour},
		{roll{since: now, asOf: now.Add(-time.Hour)}, time.Hour},
		{roll{since: now.Add(-time.Hour), asOf: now.Add(time.Hour)}, time.Hour},                   // the clock was put back
		{roll{since: now.Add(-time.Minute), asOf: now.Add(-time.Hour), fresh: true}, time.Minute}, // the clock was put forward
	} {
		if got := c.r.age(); got < c.least || got > c.least+time.Minute {
			t.Errorf("%+v: %v", c.r, got)
		}
	}
}
