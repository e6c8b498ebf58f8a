package directory

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ticketrail/queue"
	"ticketrail/receiver/posapi"
)

func TestNamesOutliveTheProcessAndAServiceThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "queue.db")
		start := func() *queue.Queue {
			q, err := queue.Open(queue.Options{Path: path, Reserve: -1, NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		q, s := start(), newService(t)
		s.people[harbour] = people(jon, "Jonathan A.", ann, "Ann Ōé 𝄞 \u200d")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Australia/Melbourne")}
		k := open(t, s, q.Shelf("directory"), harbour)
		after(firstWithin)
		k.end()
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		s.do(func() { s.broken[harbour], s.payroll = errors.New("gone"), errors.New("gone") })
		q = start()
		k = open(t, s, q.Shelf("directory"), strings.ToUpper(harbour))
		for range 2 { // before the first question and after it
			k.want("Jonathan A., Ann Ōé 𝄞 \u200d", jon, ann)
			if zone, ok := k.Zone(harbour); zone != "Australia/Melbourne" || !ok {
				t.Errorf("zone %q %v", zone, ok)
			}
			if st := k.status(harbour); !st.Whole || st.Age < time.Hour {
				t.Errorf("status %+v", st)
			}
			after(firstWithin)
		}
		k.end()
		k = open(t, s, q.Shelf("directory"), station)
		after(firstWithin)
		if err := q.Shelf("directory").All(func(key string, _ []byte) bool {
			if !strings.HasPrefix(key, station) {
				t.Errorf("%s is of a venue that is gone", key)
			}
			return true
		}); err != nil {
			t.Error(err)
		}
		k.end()
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Before the Put, after it, and when nobody knows: whatever became of it, the new names are in
// use, the start after it has names, and the one after that the new ones.
func TestNamesAreInUseWhateverBecomesOfStoringThem(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(*board)
		found string // at the next start
	}{
		{"works", func(*board) {}, "new"},
		{"failed", func(b *board) { b.fail = errors.New("disk full") }, "old"},
		{"failed but persisted", func(b *board) { b.fail, b.after = errors.New("storage failed"), true }, "new"},
		{"hangs", func(b *board) { b.hang = true }, "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := newService(t), newBoard(t)
				s.people[harbour] = people(jon, "old")
				s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Europe/Lisbon")}
				k := open(t, s, b, harbour)
				after(firstWithin)
				k.want("old", jon)
				s.do(func() {
					s.people[harbour] = people(jon, "new")
					s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Europe/Oslo")}
				})
				b.do(func() { c.set(b) })
				after(7 * time.Hour)
				k.want("new", jon)
				if zone, _ := k.Zone(harbour); zone != "Europe/Oslo" {
					t.Errorf("zone %s", zone)
				}
				if st := k.status(harbour); (st.StoreErr != nil) != (c.name != "works") {
					t.Errorf("status %+v", st)
				}
				k.end()
				b.do(func() { b.fail, b.after, b.hang = nil, false, false })
				k = open(t, s, b, harbour)
				k.want(c.found, jon)
				after(firstWithin)
				k.want("new", jon)
				k.end()
				k = open(t, nil, b, harbour)
				k.want("new", jon)
				if zone, _ := k.Zone(harbour); zone != "Europe/Oslo" {
					t.Errorf("zone %s", zone)
				}
			})
		})
	}
}

func TestAZoneThatWasNotKeptIsKeptTheNextTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newService(t), newBoard(t)
		b.fail = errors.New("disk full")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Europe/Lisbon")}
		open(t, s, b, harbour)
		after(firstWithin)
		b.do(func() { b.fail = nil })
		after(7 * time.Hour)
		if !strings.Contains(b.keys(), key(harbour, aboutZone)) {
			t.Errorf("on the shelf: %s", b.keys())
		}
		var puts int
		b.do(func() { puts = b.puts })
		after(24 * time.Hour)
		b.do(func() {
			if lists := b.puts - puts; lists > 5 {
				t.Errorf("%d times written, the zone never changed", lists)
			}
		})
	})
}

func TestARecordThatCannotBeReadIsLearnedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, bad := range []string{
			"", "{", "[]\n", `{"version":2,"ran":1}` + "\n", `{"version":1,"ran":-1}` + "\n", `{"version":1,"ran":9223372036854775807}` + "\n" + jon + "\t5\tJon\n", `{"version":1,"zone":"Nowhere/Atlantis"}`,
			`{"version":1,"ran":1}`, `{"version":1,"ran":1}` + "\n" + jon, `{"version":1,"ran":1}` + "\n" + jon + "\t-1\tJon",
			`{"version":1,"ran":1}` + "\n" + jon + "\t2\tJon\n", `{"version":1,"ran":1}` + "\n" + jon + "\t-2\tJon\n",
			`{"version":1,"ran":1}` + "\n" + jon + "\t-1\tJ\x1bon\n", `{"version":1,"ran":1}` + "\n\t-1\tJon\n",
		} {
			s, b := newService(t), newBoard(t)
			s.people[harbour] = people(jon, "Jon")
			s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Europe/Lisbon")}
			b.values[key(harbour, aboutPeople)], b.values[key(harbour, aboutZone)] = []byte(bad), []byte(bad)
			k := open(t, s, b, harbour)
			if n := k.logs.count("WARN", "cannot be read"); n != 2 {
				t.Errorf("%q: %d warnings", bad, n)
			}
			k.want("-", jon)
			after(firstWithin)
			k.want("Jon", jon)
			k.end()
			if k = open(t, nil, b, harbour); k.status(harbour).Zone != "Europe/Lisbon" {
				t.Error("the zone is not kept")
			}
			k.want("Jon", jon)
			k.end()
		}
	})
}

// damaged is a shelf that has been bitten.
type damaged struct{ *board }

func (damaged) Get(string) ([]byte, bool, error) {
	return nil, false, fmt.Errorf("get: %w", queue.ErrDamaged)
}
func (damaged) All(func(string, []byte) bool) error       { return queue.ErrDamaged }
func (damaged) Delete(context.Context, string) error      { return queue.ErrDamaged }
func (damaged) Put(context.Context, string, []byte) error { return queue.ErrDamaged }

func TestADamagedShelfCostsOnlyTheNamesItHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon")
		k := open(t, s, damaged{newBoard(t)}, harbour)
		after(firstWithin)
		k.want("Jon", jon)
	})
}

func TestTheLargestRecordFitsOnAShelf(t *testing.T) {
	l := list{people: map[id]string{}, whole: true}
	for i := range maxPeople + 10 {
		l.add(posapi.Employee{ID: fmt.Sprintf("%0*d", maxID, i), Name: strings.Repeat("é", maxName)})
	}
	r := (&roll{}).after(l, time.Hour)
	if b := r.encode(); len(b) > 4<<20 {
		t.Errorf("%d bytes", len(b))
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := drawRoll(rt)
		got, err := decode(r.encode())
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(r.people, got.people, cmp.AllowUnexported(id{}, person{})); d != "" {
			rt.Fatal(d)
		}
		if got.ran != r.ran || got.here != r.here || !got.asOf.Equal(r.asOf) {
			rt.Fatalf("%+v, want %+v", got, r)
		}
	})
}

func drawRoll(rt *rapid.T) *roll {
	r := &roll{people: map[id]person{}, ran: seconds(rapid.Int64Range(0, 1<<40).Draw(rt, "ran")), made: time.Now()}
	if rapid.Bool().Draw(rt, "known") {
		r.asOf = time.Unix(rapid.Int64Range(0, 1<<40).Draw(rt, "as of"), 0).UTC() // up to the year 36812
		if r.asOf.Year() > 9999 {
			r.asOf = time.Time{} // which JSON cannot hold, and which is not kept
		}
	}
	l := list{people: map[id]string{}}
	for range rapid.IntRange(0, 20).Draw(rt, "employees") {
		l.add(posapi.Employee{ID: rapid.String().Draw(rt, "id"), Name: rapid.String().Draw(rt, "name")})
	}
	for k, name := range l.people {
		p := person{name, seconds(rapid.Int64Range(-1, int64(r.ran)).Draw(rt, "left"))}
		if r.people[k] = p; p.left == here {
			r.here++
		}
	}
	return r
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"as_of":"2026-02-06T01:00:00Z","ran":7}` + "\n" + jon + "\t-1\tJonathan A.\nE-1\t7\tAnn\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b)
		if (r == nil) == (err == nil) {
			t.Fatalf("%v, %v", r, err)
		}
		if err != nil {
			return
		}
		again, err := decode(r.encode())
		if err != nil || len(again.people) != len(r.people) || again.here != r.here {
			t.Fatalf("read %d people, then %+v, %v", len(r.people), again, err)
		}
		for _, p := range r.people {
			if clean(p.name) != p.name || p.name == "" {
				t.Fatalf("name %q", p.name)
			}
		}
	})
}
