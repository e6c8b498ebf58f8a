package queue

import (
	"bytes"
	"context"
	"errors"
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
			wantTrue(t, got == "x: 1, and 2 more: job 2, and 3 more: job 2" && err == nil, got, err)
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
		wantEqual(t, time.Since(started), time.Second)
		q.setStorageErr(ErrStorageFull)
		wantErr(t, errOf(q.Jobs(bg, Filter{})), ErrStorageFull)
		q.setStorageErr(nil)
		time.AfterFunc(495*time.Millisecond, func() { q.db.Store(db) })
		started = time.Now()
		wantEqual(t, len(q.jobs(Filter{})), 1)
		wantEqual(t, time.Since(started), 500*time.Millisecond)
	})
}

func TestTakeTriesAgainWhileStorageFailsAndElseSaysThatItCannotRead(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		synctest.Wait()
		db := q.db.Swap(nil)
		wantErr(t, errOf(q.Take(bg, "grill")), ErrStorageFailed)
		wantEqual(t, q.station("grill").Printing, 0)
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
		wantEqual(t, (<-got).Delivery().Ticket.Request, "a")
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
	err := errOf(q.Take(ctx, ""))
	wantTrue(t, err != nil && !errors.Is(err, context.DeadlineExceeded), err)
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
		wantTrue(t, err != nil && !errors.Is(err, ErrStorageFailed), name, err)
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
	wantEqual(t, n, 1)
	_, _, _, err := closed.Job(bg, 1)
	_, _, kvErr := closed.KV("x").Get("a")
	for name, err := range map[string]error{
		"ready": closed.Ready(), "take": errOf(closed.Take(bg, "grill")),
		"accept": errOf(closed.Accept(bg, order("a", "grill"))),
		"jobs":   errOf(closed.Jobs(bg, Filter{})), "job": err, "get": kvErr, "delete": closed.KV("x").Delete(bg, "a"),
		"all":     closed.KV("x").All(func(string, []byte) bool { return true }),
		"expire":  errOf(closed.Expire(bg, "grill", -time.Hour)),
		"reprint": errOf(closed.Reprint(bg, 1, ReprintOptions{})),
		"shown":   (&testQueue{Queue: closed}).printShown(), "move all": errOf(closed.MoveAll(bg, "grill", "bar")),
	} {
		wantTrue(t, errors.Is(err, ErrClosed), name, err)
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
	r.Body = []byte("{\xff not even JSON \x00")
	q.accept(r)
	is := func(want Job) {
		t.Helper()
		got, _, body, err := q.Job(bg, want.ID)
		wantTrue(t, reflect.DeepEqual(got, want) && bytes.Equal(body, r.Body) && err == nil, got, body, err, want)
	}
	first := q.begin("grill")
	j := q.job(1)
	wantTrue(t, j.State == ticket.Printing && !j.Doubt, j)
	q.must(first.Retry(bg, "reset"))
	want := Job{
		ID: 1, Request: "a", Record: "record-1", Venue: venue, VenueName: "Da Mario", Device: "tablet-1",
		Station: "grill", State: ticket.Pending, Attempts: 1, Doubt: true, Kind: ticket.Test,
		ReceivedAt: r.Received, Reason: "reset", Number: "a", Table: "7", Items: 2,
		Version: "pending.1.0.0",
	}
	is(want)
	l := q.take("grill")
	want.State = ticket.Printing
	is(want)
	q.must(l.Fail(bg, "no"))
	must(t, errOf(q.Reprint(bg, 1, ReprintOptions{Reason: "lost"})))
	wantErr(t, errOf(q.Reprint(bg, 1, ReprintOptions{Reason: "lost"})), ErrConflict)
	want.State, want.Attempts, want.Reason, want.FinishedAt = ticket.Cancelled, 2, "reprinted as job 2", &w.now
	want.Version = "cancelled.1.0.0"
	is(want)
	want.ID, want.State, want.Attempts, want.Reason, want.FinishedAt = 2, ticket.Pending, 0, "lost", nil
	want.Doubt, want.Reprint, want.MadeFrom, want.Version = false, true, 1, "pending.0.0.0"
	is(want)
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
		wantEqual(t, len(jobs), c.n, c.f)
		wantTrue(t, jobs[0].ID == c.first && jobs[c.n-1].ID == c.last, c.f, jobs[0].ID, jobs[c.n-1].ID)
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
		wantEqual(t, len(q.jobs(c.f)), c.want, c.f)
	}
	q.must(l.Return(bg, ""))

	pages := 0
	stop := errors.New("stop")
	err := q.EachPage(bg, Filter{}, func(page []Job) error { pages++; return stop })
	wantTrue(t, err == stop && pages == 1, pages, err)
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
		wantErr(t, c.do(&endsAfter{bg, c.pages - 1}), context.Canceled)
		err := c.do(&endsAfter{bg, c.pages})
		wantTrue(t, err == nil, c.name, err)
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
				wantEqual(t, l.Delivery().Doubt, attempt > 0, attempt)
				q.must(l.Begin(bg, true))
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

func (q *testQueue) setStorageErr(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.storageErr = err
}
