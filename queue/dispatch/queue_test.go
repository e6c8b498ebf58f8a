package dispatch

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// realQueue is the real queue over a real file. close may be called in between; the books
// are looked at each time.
type realQueue struct {
	*queue.Queue
	t    *testing.T
	path string
	seq  int
}

func openQueue(t *testing.T) *realQueue {
	r := &realQueue{t: t, path: filepath.Join(t.TempDir(), "ticketrail.db")}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *realQueue) open() {
	r.t.Helper()
	q, err := queue.Open(queue.Options{Path: r.path, Reserve: -1, NoSync: true})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Queue = q
	q.SetStations([]string{"grill", "bar", "pass"})
}

func (r *realQueue) close() {
	r.t.Helper()
	if r.Queue == nil {
		return
	}
	if n := r.Unaccounted(); n != 0 {
		r.t.Errorf("%d jobs are unaccounted for", n)
	}
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
	r.Queue = nil
}

// order accepts one request with one ticket and returns its name.
func (r *realQueue) order(station string) string {
	r.t.Helper()
	r.seq++
	name := fmt.Sprintf("order-%04d", r.seq)
	_, err := r.Accept(r.t.Context(), ticket.Request{
		Venue: "v", ID: name, Device: "d", Received: time.Now().UTC(), Body: []byte("{}"), Digest: [32]byte{byte(r.seq), byte(r.seq >> 8)},
		Drafts: []ticket.Draft{{Station: station, Ticket: ticket.Ticket{
			Venue: "v", Request: name, Number: name, Received: time.Now().UTC(), Lines: []ticket.Line{{Quantity: "1", Name: "soup"}},
		}}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return name
}

// states returns the state of every job by its request.
func (r *realQueue) states() map[string]ticket.State {
	r.t.Helper()
	jobs, err := r.Jobs(r.t.Context(), queue.Filter{Limit: 1 << 20})
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]ticket.State{}
	for _, j := range jobs {
		out[j.Request] = j.State
	}
	return out
}

// orders keeps of what a printer printed the names and the banners.
func orders(p *fakePrinter) []string {
	out := p.printed()
	for i, s := range out {
		out[i] = strings.Replace(s, " soup", "", 1)
	}
	return out
}

func TestTheRealQueueKeepsOrderOverThreeHoursOffAndARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t)
		p := &fakePrinter{t: t, takes: time.Second, always: off}
		d := New(Options{Queue: From(q.Queue)})
		d.Set([]Line{{Name: "grill", Station: p}})
		var want []string
		for range 60 {
			want = append(want, q.order("grill"))
			time.Sleep(3 * time.Minute)
		}
		p.now(fine)
		time.Sleep(longestPause)
		for len(p.printed()) < 20 {
			time.Sleep(100 * time.Millisecond)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
		q.close()

		q.open()
		d = New(Options{Queue: From(q.Queue)})
		d.Set([]Line{{Name: "grill", Station: p}})
		time.Sleep(time.Hour)
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		got := orders(p)
		// The stop cut one off: it comes again, marked, before anything else.
		i := slices.IndexFunc(got, func(s string) bool { return strings.HasSuffix(s, "DUPLICATE") })
		if i < 0 || got[i] != got[i-1]+" DUPLICATE" {
			t.Fatalf("no marked copy right after its first: %q", got)
		}
		if got = slices.Delete(got, i, i+1); !slices.Equal(got, want) {
			t.Errorf("came out %q\nwant %q", got, want)
		}
		for name, s := range q.states() {
			if s != ticket.Sent {
				t.Errorf("%s is %s", name, s)
			}
		}
	})
}

func TestTheRealQueueHoldsWhatIsInDoubtTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t)
		p := &fakePrinter{t: t, faults: []fault{cut, off, noPaper, cut}}
		d := New(Options{Queue: From(q.Queue)})
		d.Set([]Line{{Name: "grill", Station: p}})
		a, b := q.order("grill"), q.order("grill")
		time.Sleep(time.Hour)
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got, want := orders(p), []string{a, a + " DUPLICATE", b}; !slices.Equal(got, want) {
			t.Errorf("came out %q, want %q", got, want)
		}
		if got, want := q.states(), map[string]ticket.State{a: ticket.Held, b: ticket.Sent}; !maps.Equal(got, want) {
			t.Errorf("states %v, want %v", got, want)
		}
	})
}

func TestTheRealQueueListsANightOnOneSlip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t)
		p := &fakePrinter{t: t, always: off}
		d := New(Options{Queue: From(q.Queue)})
		d.Set([]Line{{Name: "grill", Station: p, ExpireAfter: time.Hour}})
		for range 20 {
			q.order("grill")
			time.Sleep(5 * time.Minute)
		}
		time.Sleep(3 * time.Hour)
		last := q.order("grill")
		p.now(fine)
		time.Sleep(longestPause)
		synctest.Wait()
		got := p.printed()
		if len(got) != 2 || strings.Count(got[0], "order-") != 20 || !strings.HasPrefix(got[1], last) {
			t.Errorf("came out %q, want one slip that lists 20 tickets, then %s", got, last)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTheRealQueueLosesNothingOverRestartsFaultsAndChanges(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) { realStress(t, rand.New(rand.NewPCG(seed, 2))) })
	}
}

func realStress(t *testing.T, r *rand.Rand) {
	q := openQueue(t)
	stations := []string{"grill", "bar", "pass"}
	printers := map[string]*fakePrinter{}
	want := map[string][]string{}
	for _, n := range stations {
		printers[n] = &fakePrinter{t: t, dial: 20 * time.Millisecond, takes: 200 * time.Millisecond}
	}
	all := func() (lines []Line) {
		for _, n := range stations {
			lines = append(lines, Line{Name: n, Station: printers[n]})
		}
		return lines
	}
	faults := []fault{fine, fine, fine, off, cut, noPaper, panicsMidway, panics}
	for range 6 {
		d := New(Options{Queue: From(q.Queue)})
		for range 40 {
			n := stations[r.IntN(3)]
			if r.IntN(3) > 0 {
				want[n] = append(want[n], q.order(n))
			}
			printers[n].now(faults[r.IntN(len(faults))])
			go d.Set(all()[:1+r.IntN(3)])
			time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(300))*time.Millisecond)
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		q.close()
		q.open()
	}
	d := New(Options{Queue: From(q.Queue)})
	for _, p := range printers {
		p.now(fine)
	}
	d.Set(all())
	time.Sleep(time.Hour)
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	states := q.states()
	for _, n := range stations {
		var first []string
		for _, s := range orders(printers[n]) {
			if name, marked := strings.CutSuffix(s, " DUPLICATE"); !marked {
				first = append(first, name)
			} else if !slices.Contains(first, name) {
				t.Errorf("%s came out marked before it came out", name)
			}
		}
		if !slices.Equal(first, want[n]) {
			t.Errorf("%s: first copies came out as %q\nwant %q", n, first, want[n])
		}
		for _, name := range want[n] {
			if s := states[name]; s != ticket.Sent && s != ticket.Held {
				t.Errorf("%s is %s", name, s)
			}
		}
	}
}

func TestTheRealQueuesHoldsAndCancellationsAreObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t)
		p := &fakePrinter{t: t, always: off}
		d := New(Options{Queue: From(q.Queue)})
		d.Set([]Line{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		gone, stays := q.order("grill"), q.order("grill")
		time.Sleep(time.Hour) // the line is in a pause, the head is lent to nobody
		jobs, err := q.Jobs(t.Context(), queue.Filter{Request: gone})
		if err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		if err := q.Cancel(t.Context(), jobs[0].ID, "left"); err != nil {
			t.Fatal(err)
		}
		if err := q.HoldStation(t.Context(), "grill", "new roll"); err != nil {
			t.Fatal(err)
		}
		p.now(fine)
		time.Sleep(time.Hour)
		if got := p.printed(); len(got) != 0 {
			t.Errorf("a held station printed %q", got)
		}
		if err := q.ResumeStation(t.Context(), "grill"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := orders(p), []string{stays}; !slices.Equal(got, want) {
			t.Errorf("came out %q at once after the resume, want %q", got, want)
		}

		// What gets too old while a person holds the station is listed, not printed.
		if err := q.HoldStation(t.Context(), "grill", "closed"); err != nil {
			t.Fatal(err)
		}
		old := q.order("grill")
		time.Sleep(5 * time.Hour)
		fresh := q.order("grill")
		if err := q.ResumeStation(t.Context(), "grill"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		got := p.printed()
		if len(got) != 3 || !strings.Contains(got[1], old) || strings.HasPrefix(got[1], old) || !strings.HasPrefix(got[2], fresh) {
			t.Errorf("came out %q, want a slip that lists %s, then %s", got[1:], old, fresh)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
