package board

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestWhateverWriteFailsTheBoardIsTheSameInTheEnd(t *testing.T) {
	s := queuetest.NewStore()
	b := runEvening(t, open(t, s), nil)
	want, steps := cardContents(b), s.Writes()
	wantEqual(t, "after a restart", want, cardContents(open(t, s)))
	for n := 1; n <= steps; n++ {
		for name, fault := range map[string]queuetest.Fault{"failed": queuetest.Failed,
			"failed but was stored": queuetest.FailedPersisted} {
			for then, failed := range map[string]func(*Board) *Board{
				"went on":   func(b *Board) *Board { return b },
				"restarted": func(b *Board) *Board { return open(t, b.o.KV) },
			} {
				s := queuetest.NewStore()
				s.InjectAt(n, fault)
				b := runEvening(t, open(t, s), failed)
				if diff := cmp.Diff(want, cardContents(b)); diff != "" {
					t.Errorf("write %d %s, the board %s (-want +got):\n%s", n, name, then, diff)
				}
				if diff := cmp.Diff(want, cardContents(open(t, s))); diff != "" {
					t.Errorf("write %d %s, the board %s, and at the next start (-want +got):\n%s", n, name, then, diff)
				}
			}
		}
	}
}

func TestPagesAreNotToldWhatIsNotStored(t *testing.T) {
	s := queuetest.NewStore()
	b := open(t, s)
	put(t, b, order(1, "Burger"))
	changed, at := b.Changed(), b.At()
	s.Inject(queuetest.Failed)
	err := b.Add(t.Context(), order(2, "Soup"))
	assert.True(t, errors.Is(err, queuetest.ErrStorage), err)
	_, err = b.Do(t.Context(), press(b, Bump, 1, 0))
	assert.True(t, errors.Is(err, queuetest.ErrStorage), err)
	select {
	case <-changed:
		t.Error("pages were told of a change")
	default:
	}
	got := jobs(b)
	assert.True(t, got == "1 |" && b.At() == at, got, b.At())
}

func TestACardThatCannotBeReadHidesNoOther(t *testing.T) {
	good := queuetest.NewStore()
	put(t, open(t, good), order(1, "Burger"), order(2, "Pie"))
	whole := good.Value(cardKey(1))
	for _, c := range [][2]string{
		{`"job":1,`, `"job":`},
		{`"v":1,"job"`, `"v":9,"job"`},
		{`"job":1,`, `"job":2,`},                        // the job of another card
		{`"place":1,`, `"place":18446744073709551615,`}, // or the next place would overflow to 0
		{`"version":1,`, `"version":18446744073709551615,`},
		{`"state":"open"`, `"state":"opem"`},
		{`"came_at":`, `"departure":18446744073709551615,"came_at":`},
	} {
		damaged := strings.Replace(whole, c[0], c[1], 1)
		assert.True(t, damaged != whole, c[0], whole)
		s := queuetest.NewStore()
		s.Set(cardKey(1), damaged)
		s.Set(cardKey(2), good.Value(cardKey(2)))
		b := open(t, s)
		put(t, b, order(3, "Soup"), order(4, "Cake"))
		wantJobs(t, b, "2 3 4 |")
		assert.Equal(t, s.Value(cardKey(1)), damaged, c[1])
		put(t, b, order(1, "Burger"))
		assert.True(t, jobs(b) == "2 3 4 1 |" && jobs(open(t, s)) == "2 3 4 1 |", c[1], jobs(b), jobs(open(t, s)))
	}
}

// cardContent must be equal at the end, whichever step failed.
type cardContent struct {
	Job          uint64
	State        State
	Version      uint64
	Done         []int
	Acked, Shown bool
	Paper, Order string
}

func cardContents(b *Board) (out []cardContent) {
	s := b.Snapshot()
	for _, o := range append(s.Orders, s.Recall...) {
		for _, job := range o.Jobs() {
			r := &b.get(job).rec
			key, _, _ := strings.Cut(o.Key, "~") // a number of a failed write is not used again
			out = append(out, cardContent{job, r.State, r.Version, r.Done, r.AckedAt != 0, r.Shown, r.Paper, key})
		}
	}
	return out
}

// runEvening applies an evening of changes to a board. Each step is repeated until it succeeds.
// failed, if given, is called after a failure and returns the board to continue with.
func runEvening(t testingT, b *Board, failed func(*Board) *Board) *Board {
	t.Helper()
	ctx := context.Background()
	var given []uint64
	step := func(f func() error) {
		for i := 0; ; i++ {
			err := f()
			if err == nil {
				return
			}
			if !errors.Is(err, queuetest.ErrStorage) || i > 3 {
				t.Fatal(err)
			}
			b = failed(b)
			wantVisible(t, b, given)
		}
	}
	cmd := func(do Verb, job uint64, item int) {
		c := press(b, do, job, item)
		step(func() error {
			r, err := b.Do(ctx, c)
			assert.True(t, err != nil || r.Outcome == Done, do, job, r.Outcome, jobs(b))
			return err
		})
	}
	for _, d := range []ticket.Delivery{order(1, "Burger", "Chips"), voided(order(2, "Soup")), order(3, "Cake"),
		order(4, "Tea"), of18(5, "2 Fish"), of18(6, "1 Pie"), void18(7, "1 Fish")} {
		step(func() error { return b.Add(ctx, d) })
		given = append(given, d.Job)
		step(func() error { return b.MarkShown(ctx, d.Job) })
	}
	cmd(ItemDone, 1, 1)
	cmd(ItemDone, 1, 0)
	cmd(ItemUndone, 1, 1)
	cmd(AckVoid, 2, 0)
	cmd(Bump, 2, 0)
	cmd(Bump, 1, 0)
	cmd(Undo, 1, 0)
	cmd(AckVoid, 5, 0)
	cmd(Bump, 5, 0) // three cards
	cmd(Undo, 5, 0)
	cmd(Bump, 5, 0)
	cmd(Recall, 5, 0)
	cmd(Bump, 3, 0)
	cmd(Recall, 3, 0)
	step(func() error { return b.ComesOut(ctx, order(4, "Tea"), "grill") })
	given = slices.DeleteFunc(given, func(job uint64) bool { return job == 5 }) // it is replaced
	step(func() error { return b.Add(ctx, changed18(5, 8, "1 Pie")) })
	return b
}

// wantVisible checks a board on which a step was interrupted: each card that it was given is in exactly one order,
// which is open or can be recalled. If the first cards of an order have left, the rest says so.
func wantVisible(t testingT, b *Board, given []uint64) {
	t.Helper()
	s := b.Snapshot()
	left := map[string]uint64{} // the first card that has left
	for _, o := range s.Recall {
		left[o.Number] = o.Jobs()[0]
	}
	seen := map[uint64]int{}
	for _, o := range slices.Concat(s.Orders, s.Recall) {
		for _, job := range o.Jobs() {
			seen[job]++
		}
		off := left[o.Number]
		assert.True(t, o.State != Open || 0 >= off || off >= o.Jobs()[0] || o.BumpedClock != "", o.Number, jobs(b))
	}
	for _, job := range given {
		assert.Equal(t, seen[job], 1, job, jobs(b))
	}
}
