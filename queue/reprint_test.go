package queue

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

func TestACopyIsThatOfTheLatestReplacement(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "3Fish 2Pie", "grill"))
	q.wantCopy(q.print("grill").Job, ReprintOptions{}, "3Fish 2Pie")   // job 2
	q.accept(at(1, dinner("a", "2Fish 1Fish- 2Pie", "grill")))         // job 3
	wantErr(t, errOf(q.Reprint(bg, 1, ReprintOptions{})), ErrConflict) // the change still waits
	q.print("grill")
	for _, job := range []uint64{1, 2, 3, 1} {
		q.wantCopy(job, ReprintOptions{Station: "bar"}, "2Fish 1Fish- 2Pie")
	}
	q.accept(at(2, dinner("a", "2Pie", "grill")))
	q.print("grill")
	q.restart()
	for _, job := range []uint64{1, 2, 3, 4} {
		done, err := q.Reprint(bg, job, ReprintOptions{})
		d := q.print("grill")
		wantTrue(t, err == nil && done.Latest == 8 && lines(d) == "2Pie" && d.Reprint, job, lines(d), done, err)
	}
	wantEqual(t, q.job(1).ReplacedBy, 3)
}

func TestACopyNamesTheLaterVoidsOfTheSameCheck(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill", "bar"))
	q.print("grill")
	q.accept(at(10, dinner("b", "1Fish-", "bar")))       // job 3
	q.accept(at(11, dinner("b", "1Fish- 1Tea-", "bar"))) // job 4, in the place of job 3
	q.accept(dinner("c", "1Fish", "grill"))              // it cancels nothing
	const voids = "VOID at 19:41 UTC: job 4"
	q.print("grill")
	q.wantCopy(1, ReprintOptions{}, "1Fish "+voids)
	done, err := q.Reprint(bg, 1, ReprintOptions{})
	q.must(err)
	wantTrue(t, len(done.Later) == 1 && done.Latest == 0, done)
	q.print("grill")
	q.accept(at(12, dinner("d", "1Fish-", "bar"))) // job 8
	q.wantCopy(done.Job, ReprintOptions{}, "1Fish "+voids+" VOID at 19:42 UTC: job 8")

	table := dinner("e", "1Soup", "grill")
	table.Drafts[0].Ticket.Number, table.Drafts[0].Ticket.Table = "", "Terrace"
	q.accept(table)
	e := q.print("grill").Job
	void := at(20, dinner("f", "1Soup-", "grill"))
	void.Drafts[0].Ticket.Number, void.Drafts[0].Ticket.Table = "", "TERRACE"
	q.accept(void)
	q.wantCopy(e, ReprintOptions{}, fmt.Sprint("1Soup VOID at 19:50 UTC: job ", e+1))
}

// TestACopyEndsTheHeldReplacementAlsoIfItsTicketWasMovedLater: the moved job is newer than the replacement.
func TestACopyEndsTheHeldReplacementAlsoIfItsTicketWasMovedLater(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	q.accept(dinner("a", "2Fish", "grill")) // job 2
	q.must(errOf(q.Move(bg, []uint64{1}, "bar")))
	q.print("bar")
	q.must(q.take("grill").Hold(bg, "look"))
	q.wantCopy(3, ReprintOptions{}, "2Fish")
	q.wantState(2, ticket.Cancelled)
	q.wantSiblings("4 grill sent", 2)
}

// TestACopyOfACopyNamesTheSameVoidsAlsoIfItsRequestIsGone: a base copy can be older than the history.
func TestACopyOfACopyNamesTheSameVoidsAlsoIfItsRequestIsGone(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	q.print("grill")
	q.accept(dinner("b", "1Fish-", "bar"))
	const text = "1Fish VOID at 19:30 UTC: job 2"
	q.wantCopy(1, ReprintOptions{}, text) // job 3
	q.edit(func(tx *bolt.Tx) error {
		copied, err := stateIn(tx, 3)
		copied.Req = 0
		return errors.Join(err, putJSON(tx.Bucket(bucketNames[bucketState]), key64(3), copied))
	})
	q.wantCopy(3, ReprintOptions{}, text)
}

func TestACopyNamesFewVoids(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	q.print("grill")
	for n := range maxLater + 5 {
		q.accept(dinner(id(n), "1Fish-", "bar"))
	}
	done, err := q.Reprint(bg, 1, ReprintOptions{})
	q.must(err)
	wantTrue(t, len(done.Later) == maxLater+1 && done.Later[maxLater] == ticket.LaterVoid{}, done.Later)
}

func TestAMovedHeldTicketIsTheLatest(t *testing.T) {
	for name, move := range map[string]func(q *testQueue) error{
		"with all": func(q *testQueue) error { return errOf(q.MoveAll(bg, "grill", "bar")) },
		"held only since the search": func(q *testQueue) error {
			return q.do(bg, opOnce, copyOp, func(b *batch) error {
				m, err := b.checkMovable(1, "bar")
				if err == nil {
					b.move(m, "bar", nil)
				}
				return err
			})
		},
	} {
		q := start(t)
		q.accept(dinner("a", "1Fish 1Pie", "grill"))
		q.must(q.take("grill").Hold(bg, "look"))
		q.accept(dinner("b", "1Pie-", "bar"))
		q.print("bar")
		q.accept(dinner("a", "1Fish- 1Pie", "grill"))
		q.print("grill")
		q.must(move(q))
		d := q.print("bar")
		wantTrue(t, lines(d) == "1Fish- 1Pie" && d.Reprint, name, lines(d), d.Reprint)
	}
}

func TestAVoidThatIsAcceptedDuringTheSearchIsOnTheCopy(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "3Fish", "grill"))
	q.print("grill")
	found, err := q.search(bg, 1)
	q.must(err)
	q.accept(dinner("b", "1Fish-", "bar"))
	for range 2 { // the transaction may be built twice
		q.must(q.do(bg, opOnce, copyOp, func(b *batch) error { return errOf(b.reprint(1, ReprintOptions{}, found)) }))
	}
	for range 2 {
		wantEqual(t, lines(q.print("grill")), "3Fish VOID at 19:30 UTC: job 2")
	}
	q.accept(dinner("a", "2Fish", "grill"))
	q.print("grill")
	q.must(q.do(bg, opOnce, copyOp, func(b *batch) error { return errOf(b.reprint(1, ReprintOptions{}, found)) }))
	wantEqual(t, lines(q.print("grill")), "2Fish")
}

func TestTheSearchReadsAllThatCameLater(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "3Fish", "grill"))
	for i := range 2*pageSize + 7 {
		q.accept(order(fmt.Sprint(i), "bar"))
	}
	q.accept(dinner("b", "3Fish-", "grill"))
	q.print("grill")
	q.wantCopy(1, ReprintOptions{}, fmt.Sprint("3Fish VOID at 19:30 UTC: job ", 2*pageSize+9))
}

func TestANumberMeansTheSameOrderForSomeHoursAndAnIdAlways(t *testing.T) {
	inBubble(t, func(_ *testing.T, q *testQueue) {
		of := func(check string, r ticket.Request) ticket.Request { r.Drafts[0].Ticket.Check = check; return r }
		q.accept(of("check", dinner("a", "1Fish", "grill")))
		q.print("grill")
		time.Sleep(sameCheckFor)
		q.accept(dinner("b", "1Fish-", "grill")) // job 2
		time.Sleep(time.Second)
		q.accept(dinner("c", "1Fish-", "grill"))
		q.accept(of("another", dinner("d", "1Fish-", "grill")))
		q.accept(of("check", dinner("e", "1Fish-", "grill"))) // job 5
		q.wantCopy(1, ReprintOptions{}, "1Fish VOID at 19:30 UTC: job 2 VOID at 19:30 UTC: job 5")
	})
}

func TestACopyOfATicketWithoutLaterVoidsIsStoredAsItIs(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	q.print("grill")
	var stored []byte
	q.edit(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketNames[bucketJobs])
		j, err := unseal(b.Get(key64(1)))
		stored = seal([]byte(`{"of_a_newer_version":1,`), j[1:])
		return errors.Join(err, b.Put(key64(1), stored))
	})
	q.must(errOf(q.Reprint(bg, 1, ReprintOptions{})))
	q.must(q.view(func(tx *bolt.Tx) error {
		got := tx.Bucket(bucketNames[bucketJobs]).Get(key64(2))
		wantTrue(t, bytes.Equal(got, stored), got, stored)
		return nil
	}))
	q.print("grill")
}

func TestWhatAPersonDoesToAJobThatHasChangedSinceIsRefused(t *testing.T) {
	fails := func(q *testQueue) { q.must(q.take("grill").Retry(bg, "cable")) }
	held := func(q *testQueue) { q.must(q.take("grill").Hold(bg, "look")) }
	doubted := func(q *testQueue) {
		l := q.take("grill")
		q.must(l.Begin(bg, false))
		q.must(l.Retry(bg, "cut"))
	}
	ends := func(q *testQueue) { q.print("grill") }
	copied := func(q *testQueue) { q.must(errOf(q.Reprint(bg, 1, ReprintOptions{Version: q.job(1).Version}))) }
	cancelled := func(q *testQueue) { q.must(q.Cancel(bg, 1, "")) }
	move := func(q *testQueue, v string) error { return errOf(q.Move(bg, []uint64{1}, "bar", v)) }
	cancel := func(q *testQueue, v string) error { return q.Cancel(bg, 1, "gone", v) }
	reprint := func(q *testQueue, v string) error {
		return errOf(q.Reprint(bg, 1, ReprintOptions{Version: v}))
	}
	type visit struct {
		before, since func(*testQueue)
		do            func(*testQueue, string) error
		want          error
	}
	each(t, map[string]visit{
		"cancel what waits":           {nil, nil, cancel, nil},
		"cancel what was tried since": {nil, fails, cancel, nil},
		"cancel what may be out":      {nil, doubted, cancel, ErrConflict},
		"cancel what is held since":   {nil, held, cancel, ErrConflict},
		"move what waits":             {nil, nil, move, nil},
		"move what may be out":        {nil, doubted, move, ErrConflict},
		"move what is held since":     {nil, held, move, ErrConflict},
		"reprint what is held":        {held, nil, reprint, nil},
		"reprint what is held, twice": {held, copied, reprint, ErrConflict},
		"reprint what is out":         {ends, nil, reprint, nil},
		"reprint what is out, twice":  {ends, copied, reprint, ErrConflict},
		"reprint what was cancelled":  {held, cancelled, reprint, ErrConflict},
	}, func(t *testing.T, q *testQueue, c visit) {
		q.accept(order("a", "grill"))
		if c.before != nil {
			c.before(q)
		}
		seen := q.job(1).Version
		if c.since != nil {
			c.since(q)
		}
		before := q.jobs(Filter{})
		wantErr(t, c.do(q, seen), c.want)
		wantEqual(t, reflect.DeepEqual(q.jobs(Filter{}), before), c.want != nil)
	})
}

func TestOfSeveralMovedJobsNoneMovesIfOneHasChanged(t *testing.T) {
	q := start(t)
	q.orders(2, "grill")
	q.must(q.take("grill").Hold(bg, "look"))
	two := q.job(2).Version
	wantErr(t, errOf(q.Move(bg, []uint64{2, 1}, "bar", two, two)), ErrConflict)
	wantTrue(t, errOf(q.Move(bg, []uint64{2, 1}, "bar", two)) != nil, "two jobs are moved with one version")
	wantEqual(t, q.station("bar").Pending, 0)
	q.must(errOf(q.Move(bg, []uint64{2, 1}, "bar", two, q.job(1).Version)))
}

func TestAResumeOfAnOlderHoldIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.must(q.HoldStation(bg, "grill", "clean it"))
		first := q.station("grill").Hold.Since
		time.Sleep(time.Minute)
		q.must(q.HoldStation(bg, "grill", "it burns"))
		wantErr(t, q.ResumeStation(bg, "grill", first), ErrConflict)
		q.must(q.ResumeStation(bg, "grill", q.station("grill").Hold.Since))
		wantErr(t, q.ResumeStation(bg, "grill", first), ErrConflict)
		q.must(q.ResumeStation(bg, "grill")) // without a version it is safe to repeat
	})
}

func lines(d ticket.Delivery) string {
	var words []string
	for _, l := range d.Ticket.Lines {
		s := l.Quantity + l.Name
		if l.Void {
			s += "-"
		}
		words = append(words, s)
	}
	return strings.Join(append(words, d.Ticket.Later.Texts()...), " ")
}
