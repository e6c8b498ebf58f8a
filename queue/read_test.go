package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestATicketNamesTheJobAtWhichTheRestIsRead(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		r := order("b", "grill")
		r.Drafts[0].Ticket.Notes, r.Drafts[0].Ticket.More, r.Drafts[0].Ticket.Lines[0].More = []string{"x: 1"}, 2, 3
		q.accept(r)
		q.print("grill")

		printed := q.print("grill").Ticket
		_, shown, _, err := q.Job(bg, 2)
		for _, tk := range []ticket.Ticket{printed, shown} {
			got := strings.Join(append(tk.Notes, tk.Lines[0].Notes...), ", ")
			if got != "x: 1, and 2 more: job 2, and 3 more: job 2" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
	})
}

func TestAReadWaitsASecondForAFileThatIsBeingReopened(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		synctest.Wait()
		db := q.db.Swap(nil)
		started := time.Now()
		wantErr(t, errOf(q.Jobs(bg, Filter{})), ErrStorageFailed)
		if took := time.Since(started); took != time.Second {
			t.Errorf("it took %s", took)
		}
		q.setStorageErr(ErrStorageFull)
		wantErr(t, errOf(q.Jobs(bg, Filter{})), ErrStorageFull)
		q.setStorageErr(nil)
		time.AfterFunc(495*time.Millisecond, func() { q.db.Store(db) })
		started = time.Now()
		if n := len(q.jobs(Filter{})); n != 1 {
			t.Errorf("%d jobs", n)
		}
		if took := time.Since(started); took != 500*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

func TestTakeTriesAgainWhileStorageFailsAndElseSaysThatItCannotRead(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		synctest.Wait()
		db := q.db.Swap(nil)
		wantErr(t, errOf(q.Take(bg, "grill")), ErrStorageFailed)
		if s := q.station("grill"); s.Printing != 0 {
			t.Errorf("it is lent to nobody: %+v", s)
		}
		time.AfterFunc(500*time.Millisecond, func() { q.setStorageErr(ErrStorageFailed) })
		time.AfterFunc(5*time.Second, func() {
			q.db.Store(db)
			q.setStorageErr(nil)
			q.mu.Lock()
			defer q.mu.Unlock()
			q.lane("grill").notify()
		})
		q.printAll("grill", "a")
	})
}

func TestATakeThatWaitsOverAFailureGetsTheNextTicket(t *testing.T) {
	pairs(t, func(t *testing.T, q *testQueue, end commitResult) {
		q.must(q.HoldStation(bg, "grill", "x"))
		q.accept(order("a", "grill"))
		q.must(q.ResumeStation(bg, "grill"))
		q.disk.willEnd(end, fails)
		wantErr(t, q.KV("x").Put(bg, "k", nil), ErrStorageFailed)
		got := make(chan *Lease)
		go func() { got <- q.take("grill") }()
		if d := (<-got).Delivery(); d.Ticket.Request != "a" {
			t.Errorf("taken %+v", d)
		}
	})
}

func TestTakeRefusesAnEmptyNameAndAnEndedContext(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	ended, end := context.WithCancel(bg)
	end()
	wantErr(t, errOf(q.Take(ended, "grill")), context.Canceled)
	ctx, cancel := context.WithTimeout(bg, time.Second)
	defer cancel()
	if err := errOf(q.Take(ctx, "")); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err %v", err)
	}
	q.printAll("grill", "a")
}

func TestWhatCannotBeStoredIsRefusedAndStorageStillWorks(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.print("grill")
	for name, err := range map[string]error{
		"accept":  errOf(q.Accept(bg, order("b", ""))),
		"hold":    q.HoldStation(bg, "", "x"),
		"resume":  q.ResumeStation(bg, ""),
		"move":    errOf(q.Move(bg, nil, "")),
		"all":     errOf(q.MoveAll(bg, "grill", "")),
		"UTF-8":   errOf(q.MoveAll(bg, "grill", "\xff")),
		"KV":      q.KV("").Put(bg, "k", nil),
		"key":     q.KV("x").Put(bg, "", nil),
		"long":    q.KV("x").Put(bg, strings.Repeat("k", maxName+1), nil),
		"value":   q.KV("x").Put(bg, "k", make([]byte, 64<<20)),
		"reprint": errOf(q.Reprint(bg, 1, ReprintOptions{Station: "\xff"})),
		"draft":   errOf(q.Accept(bg, order("b", "\xff"))),
		"nothing": errOf(q.Accept(bg, order("b"))),
	} {
		if err == nil || errors.Is(err, ErrStorageFailed) {
			t.Errorf("%s: err %v", name, err)
		}
	}
	q.must(q.Ready())
	q.must(q.KV("x").Put(bg, strings.Repeat("k", maxName), nil))
}

func TestWhatACallerReadsFromAClosedQueueIsAnError(t *testing.T) {
	q := start(t)
	q.orders(2, "grill")
	q.must(q.KV("x").Put(bg, "a", nil))
	q.must(q.KV("x").Put(bg, "b", nil))
	closed := q.Queue
	n := 0
	wantErr(t, q.KV("x").All(func(string, []byte) bool { n++; q.stop(); return true }), ErrClosed)
	if n != 1 {
		t.Errorf("%d values", n)
	}
	wantErr(t, closed.Ready(), ErrClosed)
	wantErr(t, errOf(closed.Accept(bg, order("a", "grill"))), ErrClosed)
	wantErr(t, errOf(closed.Take(bg, "grill")), ErrClosed)
	wantErr(t, closed.KV("x").All(func(string, []byte) bool { return true }), ErrClosed)
	wantErr(t, errOf(closed.Jobs(bg, Filter{})), ErrClosed)
	_, _, _, err := closed.Job(bg, 1)
	wantErr(t, err, ErrClosed)
	_, _, err = closed.KV("x").Get("a")
	wantErr(t, err, ErrClosed)
	wantErr(t, closed.KV("x").Delete(bg, "a"), ErrClosed)
	for name, call := range map[string]func() (int, error){
		"expire": func() (int, error) { return closed.Expire(bg, "grill", -time.Hour) },
		"reprint": func() (int, error) {
			got, err := closed.Reprint(bg, 1, ReprintOptions{})
			return int(got.Job), err
		},
		"shown": func() (int, error) { return 0, (&testQueue{Queue: closed}).printShown() },
		"move all": func() (int, error) {
			jobs, err := closed.MoveAll(bg, "grill", "bar")
			return len(jobs), err
		},
	} {
		if n, err := call(); n != 0 || !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func TestAJobIsShownWithAllThatIsKnownOfIt(t *testing.T) {
	w := &fakeClock{now: time.Date(2026, 11, 20, 19, 40, 0, 0, time.UTC)}
	q := start(t, func(o *Options) { o.Clock = w })
	r := order("a", "grill")
	tk := &r.Drafts[0].Ticket
	tk.VenueName, tk.Record, tk.Kind, tk.Table = "Da Mario", "record-1", ticket.Test, "7"
	tk.Lines = append(tk.Lines,
		ticket.Line{Depth: 1, Quantity: "1", Name: "no salt"}, ticket.Line{Quantity: "2", Name: "Tea"})
	q.accept(r)
	first := q.begin("grill")
	if j := q.job(1); j.State != ticket.Printing || j.Doubt {
		t.Errorf("its first attempt %+v", j)
	}
	q.must(first.Retry(bg, "reset"))
	want := Job{
		ID: 1, Request: "a", Record: "record-1", Venue: venue, VenueName: "Da Mario", Device: "tablet-1",
		Station: "grill", State: ticket.Pending, Attempts: 1, Doubt: true, Kind: ticket.Test,
		ReceivedAt: r.Received, Reason: "reset", Number: "a", Table: "7", Items: 2,
		Version: "pending.1.0.0",
	}
	if j := q.job(1); !reflect.DeepEqual(j, want) {
		t.Errorf("job %+v, want %+v", j, want)
	}
	l := q.take("grill")
	want.State = ticket.Printing
	if j := q.job(1); !reflect.DeepEqual(j, want) {
		t.Errorf("job %+v, want %+v", j, want)
	}
	q.must(l.Fail(bg, "no"))
	must(t, errOf(q.Reprint(bg, 1, ReprintOptions{Reason: "lost"})))
	wantErr(t, errOf(q.Reprint(bg, 1, ReprintOptions{Reason: "lost"})), ErrConflict)
	want.State, want.Attempts, want.Reason, want.FinishedAt = ticket.Cancelled, 2, "reprinted as job 2", &w.now
	want.Version = "cancelled.1.0.0"
	if j := q.job(1); !reflect.DeepEqual(j, want) {
		t.Errorf("job %+v, want %+v", j, want)
	}
	want.ID, want.State, want.Attempts, want.Reason, want.FinishedAt = 2, ticket.Pending, 0, "lost", nil
	want.Doubt, want.Reprint, want.MadeFrom, want.Version = false, true, 1, "pending.0.0.0"
	if j := q.job(2); !reflect.DeepEqual(j, want) {
		t.Errorf("copy %+v, want %+v", j, want)
	}
}

func TestAListHasThePagesThatItsLimitNeeds(t *testing.T) {
	q := start(t)
	q.orders(2*pageSize+7, "grill")
	for _, c := range []struct {
		f           Filter
		n           int
		first, last uint64
	}{
		{Filter{}, 2*pageSize + 7, 2*pageSize + 7, 1},
		{Filter{Limit: pageSize}, pageSize, 2*pageSize + 7, pageSize + 8},
		{Filter{Limit: pageSize + 1}, pageSize + 1, 2*pageSize + 7, pageSize + 7},
		{Filter{Limit: 3, Oldest: true}, 3, 3, 1},
	} {
		jobs := q.jobs(c.f)
		if len(jobs) != c.n || jobs[0].ID != c.first || jobs[c.n-1].ID != c.last {
			t.Errorf("%+v: %d jobs, from %d to %d", c.f, len(jobs), jobs[0].ID, jobs[len(jobs)-1].ID)
		}
	}

	received := q.job(1).ReceivedAt
	l := q.take("grill")
	for _, c := range []struct {
		f    Filter
		want int
	}{
		{Filter{States: []ticket.State{ticket.Printing}}, 1},
		{Filter{Station: "bar"}, 0},
		{Filter{Request: id(3)}, 1},
		{Filter{Since: received.Add(time.Second)}, 0},
		{Filter{Since: received}, 2*pageSize + 7},
	} {
		if got := len(q.jobs(c.f)); got != c.want {
			t.Errorf("%+v: %d jobs, want %d", c.f, got, c.want)
		}
	}
	q.must(l.Return(bg, ""))

	pages := 0
	stop := errors.New("stop")
	if err := q.EachPage(bg, Filter{}, func(page []Job) error { pages++; return stop }); err != stop || pages != 1 {
		t.Errorf("%d pages, %v", pages, err)
	}
}

// TestWhatReadsInPagesEndsWithItsContext: a page is one read.
func TestWhatReadsInPagesEndsWithItsContext(t *testing.T) {
	q := start(t)
	q.accept(order("held", "wall"))
	q.must(q.take("wall").Hold(bg, "look"))
	q.accept(order("first", "bar"))
	q.print("bar")
	q.orders(pageSize, "grill")
	wantErr(t, errOf(q.Move(&endsAfter{bg, 1}, []uint64{1}, "pass")), context.Canceled)
	for _, c := range []struct {
		name  string
		pages int
		do    func(ctx context.Context) error
	}{
		{"list", 2, func(ctx context.Context) error { return errOf(q.Jobs(ctx, Filter{})) }},
		{"siblings", 2, func(ctx context.Context) error { return errOf(q.Siblings(ctx, []uint64{2})) }},
		{"tickets", 2, func(ctx context.Context) error {
			return errOf(q.TicketsAfter(ctx, 0, func(uint64, *ticket.Ticket) {}))
		}},
		{"reprint", 1, func(ctx context.Context) error { return errOf(q.Reprint(ctx, 2, ReprintOptions{})) }},
		{"move all", 2, func(ctx context.Context) error { return errOf(q.MoveAll(ctx, "wall", "pass")) }},
	} {
		if err := c.do(&endsAfter{bg, c.pages - 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := c.do(&endsAfter{bg, c.pages}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestATicketForAScreenIsInDoubtOnceHoweverOftenItIsTried(t *testing.T) {
	for name, end := range map[string]func(*Lease) error{
		"retry":  func(l *Lease) error { return l.Retry(bg, "no page") },
		"return": func(l *Lease) error { return l.Return(bg, "no page") },
		"crash":  func(*Lease) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			q := start(t)
			q.accept(order("a", "wall"))
			for attempt := range 4 {
				l := q.take("wall")
				if d := l.Delivery(); d.Doubt != (attempt > 0) {
					t.Errorf("attempt %d: %+v", attempt, d)
				}
				l.SetIdempotent(true)
				q.must(l.Begin(bg))
				q.must(end(l))
				if name == "crash" {
					q.restart()
				}
			}
			l := q.begin("wall") // now the station is a printer
			q.must(l.Retry(bg, "reset"))
			q.wantState(1, ticket.Held)
		})
	}
}

// TestRecordsAreStoredAsEarlierVersionsStoredThem: what is stored keeps its format: files of earlier versions have
// these bytes.
func TestRecordsAreStoredAsEarlierVersionsStoredThem(t *testing.T) {
	var names []string
	for _, n := range bucketNames {
		names = append(names, string(n))
	}
	if got := strings.Join(names, " "); got !=
		"meta requests reqjobs jobs state waiting finished stations dedup aside shelf" {
		t.Errorf("buckets %s", got)
	}
	r := ticket.Request{Venue: "v", ID: "a", Device: "d", Body: []byte("{}")}
	digest := func(b byte) ticket.Digest { return ticket.Digest(bytes.Repeat([]byte{b}, 16)) }
	record := func(v any) []byte { b, err := sealJSON(v); must(t, err); return b }
	at := time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC)
	for want, stored := range map[string][]byte{
		"9c4fbc60 \x00\x00\x00\x23{\"venue\":\"v\",\"id\":\"a\",\"device\":\"d\"}{}": encodeBody(&r),
		"7dcb62e4 \x02\x01" + strings.Repeat("\x07", 16) + strings.Repeat("\x08", 16) + "\x00\x01\x05grill" +
			"\x04#142" +
			strings.Repeat("\x09", 16) + "\x06\x02\x01\x02": encodeDedup(dedupRecord{
			accepted: []content{{digest(7), digest(8)}},
			shares:   []share{{"grill", "#142", digest(9), 3, []uint64{1, 2}}},
		}),
		"7484566f \x00\x00\x00\x00\x00\x00\x00\x07g": encodeWaiting(7, "g"),
		`9f9e615c {"s":"grill","st":"held","p":1,"q":2,"t":3,"a":4,"d":5,"rp":true,"sl":true,"of":6,"fr":"w",` +
			`"r":7,"f":8,"why":"x"}`: record(jobState{
			Station: "grill", State: ticket.Held, Pos: 1, Req: 2, Enqueued: 3, Attempts: 4, Doubts: 5, Reprint: true,
			Slip: true, MadeFrom: 6, ShownOn: "w", Received: 7, Finished: 8, Why: "x",
		}),
		`fb60c135 {"books":{"enqueued":1,"reprinted":2,"moved_in":3,"moved_out":4,"outcomes":{"failed":5}},` +
			`"hold":{"reason":"x","since":"2026-11-20T19:30:00Z"}}`: record(stationRecord{
			Hold: &StationHold{"x", at}, Books: Books{
				Enqueued: 1, Reprinted: 2, MovedIn: 3, MovedOut: 4,
				Outcomes: map[ticket.State]uint64{ticket.Failed: 5},
			},
		}),
		`9d6ae716 {"running":1,"wall":"2026-11-20T19:30:00Z","synchronized":true}`: record(clockRecord{1, at, true}),
	} {
		if got := fmt.Sprintf("%x %s", stored[:4], stored[4:]); got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
	}
	if job, station, err := decodeWaiting(encodeWaiting(7, "g")); job != 7 || station != "g" || err != nil {
		t.Errorf("job %d of %s, %v", job, station, err)
	}
	for _, short := range [][]byte{encodeWaiting(7, ""), seal([]byte("x"))} {
		if _, _, err := decodeWaiting(short); err == nil {
			t.Errorf("%q is read", short)
		}
	}
	for _, short := range [][]byte{seal([]byte("x")), seal([]byte{0, 0, 0, 3}, []byte("{}"))} {
		if _, err := decodeBody(short); err == nil {
			t.Errorf("%q is read", short)
		}
	}
	if n := un64([]byte("odd")); n != 0 {
		t.Errorf("a key of another length is %d", n)
	}
	r.Body = nil
	if body, err := decodeBody(encodeBody(&r)); len(body) != 0 || err != nil {
		t.Errorf("body %q, %v", body, err)
	}
}

func (q *testQueue) setStorageErr(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.storageErr = err
}
