package kds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/ticket"
)

// A cupboard is a shelf in memory that can fail, with or without having stored what it was given.
type cupboard struct {
	mu      sync.Mutex
	m       map[string][]byte
	fail    func(n int) (fail, keep bool) // asked before each write, the first is 1
	writes  int
	failing bool
}

var errShelf = errors.New("the disk is on fire")

func newCupboard() *cupboard { return &cupboard{m: map[string][]byte{}} }

func (c *cupboard) write(f func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	fail, keep := c.failing, false
	if c.fail != nil {
		fail, keep = c.fail(c.writes)
	}
	if !fail || keep {
		f()
	}
	if fail {
		return errShelf
	}
	return nil
}

func (c *cupboard) Put(_ context.Context, key string, value []byte) error {
	v := slices.Clone(value)
	return c.write(func() { c.m[key] = v })
}

func (c *cupboard) Delete(_ context.Context, key string) error {
	return c.write(func() { delete(c.m, key) })
}

func (c *cupboard) Get(key string) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[key]
	return slices.Clone(v), ok, nil
}

func (c *cupboard) All(f func(string, []byte) bool) error {
	c.mu.Lock()
	m := maps.Clone(c.m)
	c.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !f(k, m[k]) {
			break
		}
	}
	return nil
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func open(t fataler, s Shelf, change ...func(*BoardOptions)) *Board {
	t.Helper()
	o := BoardOptions{Station: "hot-line", Shelf: s}
	for _, f := range change {
		f(&o)
	}
	b, err := OpenBoard(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t fataler, b *Board, ds ...ticket.Delivery) {
	t.Helper()
	for _, d := range ds {
		if _, err := b.Put(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
}

var presses int // of all tests: each press has an id of its own

// press is a press on the card as it is now.
func press(b *Board, do Verb, job uint64, item int) Command {
	presses++
	c := Command{ID: fmt.Sprint("press-", presses), Do: do, Job: job, Item: item}
	if card, ok := b.Card(job); ok {
		c.Version = card.Version
	}
	return c
}

func do(t fataler, b *Board, c Command) Result {
	t.Helper()
	r, err := b.Do(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != c.ID || r.At == "" {
		t.Fatalf("answer %+v to %+v", r, c)
	}
	return r
}

func wants(t *testing.T, b *Board, c Command, want Outcome) {
	t.Helper()
	if r := do(t, b, c); r.Outcome != want {
		t.Errorf("%s job %d: %s, want %s", c.Do, c.Job, r.Outcome, want)
	}
}

// jobs is the board in a line: what is open | what can be recalled.
func jobs(b *Board) string {
	s := b.Snapshot()
	var out []string
	for _, c := range s.Open {
		out = append(out, fmt.Sprint(c.Job))
	}
	out = append(out, "|")
	for _, c := range s.Recall {
		out = append(out, fmt.Sprint(c.Job))
	}
	return strings.Join(out, " ")
}

func voidOrder(job uint64, names ...string) ticket.Delivery {
	d := order(job, names...)
	d.Ticket.Void = true
	for i := range d.Ticket.Lines {
		d.Ticket.Lines[i].Void = true
	}
	return d
}

func TestARecalledTicketIsBackInItsOriginalPlace(t *testing.T) {
	b := open(t, newCupboard())
	put(t, b, order(7, "Soup"), order(3, "Burger"), order(9, "Cake"))
	wants(t, b, press(b, Bump, 3, 0), Done)
	wants(t, b, press(b, Bump, 7, 0), Done)
	if got := jobs(b); got != "9 | 7 3" {
		t.Errorf("board %q", got)
	}
	wants(t, b, press(b, Recall, 3, 0), Done)
	wants(t, b, press(b, Undo, 7, 0), Done)
	if got := jobs(b); got != "7 3 9 |" {
		t.Errorf("board %q", got)
	}
}

func TestAChangeCanBeUndoneForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCupboard()
		b := open(t, s)
		put(t, b, order(1, "Burger", "Chips"))
		wants(t, b, press(b, ItemDone, 1, 1), Done)
		wants(t, b, press(b, Bump, 1, 0), Done)
		c, _ := b.Card(1)
		if c.Undo != Bump || c.UndoUntil != time.Now().Add(10*time.Second).UnixMilli() {
			t.Errorf("undo %q until %d", c.Undo, c.UndoUntil)
		}
		time.Sleep(10*time.Second - time.Millisecond)
		b = open(t, s)
		wants(t, b, press(b, Undo, 1, 0), Done)
		wants(t, b, press(b, Undo, 1, 0), TooLate) // one step
		c, _ = b.Card(1)
		if c.State != Open || !c.Items[1].Done || c.Items[0].Done || c.Undo != "" {
			t.Errorf("card %+v", c)
		}
		wants(t, b, press(b, ItemUndone, 1, 1), Done)
		time.Sleep(10 * time.Second)
		wants(t, b, press(b, Undo, 1, 0), TooLate)
	})
}

func TestTheRecallListHoldsFiftyForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCupboard()
		b := open(t, s)
		for job := range uint64(60) {
			put(t, b, order(job+1, "Burger"))
			wants(t, b, press(b, Bump, job+1, 0), Done)
		}
		if n := len(b.Snapshot().Recall); n != 50 {
			t.Errorf("%d can be recalled", n)
		}
		if len(s.m) != 50 {
			t.Errorf("%d are kept", len(s.m))
		}
		wants(t, b, press(b, Recall, 10, 0), Gone)
		time.Sleep(time.Hour)
		if n := len(b.Snapshot().Recall); n != 0 {
			t.Errorf("after an hour %d can be recalled", n)
		}
		wants(t, b, press(b, Recall, 60, 0), Gone)
		put(t, b, order(99, "Burger"))
		if len(s.m) != 1 {
			t.Errorf("after an hour %d are kept", len(s.m))
		}
	})
}

func TestACancellationMustBeReadBeforeItIsBumped(t *testing.T) {
	b := open(t, newCupboard())
	part := order(2, "Burger", "Chips")
	part.Ticket.Lines[1].Void = true
	put(t, b, voidOrder(1, "Burger"), part, order(3, "Soup"))
	for _, job := range []uint64{1, 2} {
		if c, _ := b.Card(job); !c.MustAck || c.Acked {
			t.Errorf("card %+v", c)
		}
		wants(t, b, press(b, Bump, job, 0), Unread)
		wants(t, b, press(b, AckVoid, job, 0), Done)
		wants(t, b, press(b, AckVoid, job, 0), Already)
		if c, _ := b.Card(job); c.MustAck || !c.Acked {
			t.Errorf("card %+v", c)
		}
		wants(t, b, press(b, Bump, job, 0), Done)
	}
	wants(t, b, press(b, AckVoid, 3, 0), Already)
	wants(t, b, press(b, Bump, 3, 0), Done)
}

func TestTwoCooksWhoPressTheSameHaveNoConflict(t *testing.T) {
	b := open(t, newCupboard())
	put(t, b, order(1, "Burger", "Chips"))
	one, two, stale := press(b, ItemDone, 1, 0), press(b, ItemDone, 1, 0), press(b, Bump, 1, 0)
	wants(t, b, one, Done)
	wants(t, b, one, Done) // delivered twice
	wants(t, b, two, Already)
	wants(t, b, stale, Conflict) // it was pressed on what is no longer so
	one, two = press(b, Bump, 1, 0), press(b, Bump, 1, 0)
	wants(t, b, one, Done)
	wants(t, b, two, Already)
	wants(t, b, press(b, ItemDone, 1, 1), Conflict) // it is off the board
	wants(t, b, press(b, Recall, 1, 0), Done)
	wants(t, b, two, Conflict) // late: it is not bumped again
	wants(t, b, press(b, ItemDone, 1, 7), Gone)
	wants(t, b, press(b, Bump, 8, 0), Gone)
	for _, bad := range []Command{{}, {ID: "a b", Do: Bump}, {ID: "x", Do: "explode"}, {ID: strings.Repeat("x", 65), Do: Bump}} {
		if _, err := b.Do(t.Context(), bad); !errors.Is(err, ErrCommand) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestAnAddOnStandsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newCupboard())
		same := func(job uint64, change func(*ticket.Ticket)) ticket.Delivery {
			d := order(job, "Burger")
			d.Ticket.Number, d.Ticket.Table, d.Ticket.Request = "18", "B10", fmt.Sprint("request-", job)
			if change != nil {
				change(&d.Ticket)
			}
			return d
		}
		for _, c := range []struct {
			d    ticket.Delivery
			want bool
		}{
			{same(1, nil), false},
			{same(2, func(t *ticket.Ticket) { t.Request = "request-1" }), false}, // the same sending
			{same(3, nil), true},
			{same(4, func(t *ticket.Ticket) { t.Venue = "another" }), false},
			{same(5, func(t *ticket.Ticket) { t.Number = "19" }), false},
			{same(6, func(t *ticket.Ticket) { t.Number = "" }), false}, // the table's first without a number
			{same(7, func(t *ticket.Ticket) { t.Number, t.Table = "", "table b10" }), true},
			{same(8, func(t *ticket.Ticket) { t.Number, t.Table = "", "" }), false},
			{same(9, func(t *ticket.Ticket) { t.Kind = ticket.Slip }), false},
		} {
			put(t, b, c.d)
			if card, _ := b.Card(c.d.Job); card.AddOn != c.want {
				t.Errorf("job %d adds to an order: %v", c.d.Job, card.AddOn)
			}
		}
		for _, job := range []uint64{1, 2, 3, 6, 7} {
			wants(t, b, press(b, Bump, job, 0), Done)
		}
		put(t, b, same(10, nil), same(11, func(t *ticket.Ticket) { t.Number = "" }))
		if c, _ := b.Card(10); !c.AddOn {
			t.Error("what comes after a bumped ticket of its number adds nothing")
		}
		if c, _ := b.Card(11); c.AddOn {
			t.Error("new guests at a table add to the order of the last")
		}
	})
}

func TestATicketThatIsPutAgainIsNeitherDoubledNorMarked(t *testing.T) {
	s := newCupboard()
	b := open(t, s)
	put(t, b, order(1, "Burger"), order(2, "Soup"))
	wants(t, b, press(b, ItemDone, 1, 0), Done)
	again := order(1, "Burger")
	again.Attempt, again.Doubt = 2, true
	at := b.At()
	put(t, b, again)
	if c, _ := b.Card(1); c.Duplicate || !c.Items[0].Done || b.At() != at {
		t.Errorf("card %+v", c)
	}
	wants(t, b, press(b, Bump, 1, 0), Done)
	b = open(t, s)
	put(t, b, again)
	if got := jobs(b); got != "2 | 1" {
		t.Errorf("board %q", got)
	}
	again.Job = 3 // in doubt elsewhere
	put(t, b, again)
	if c, _ := b.Card(3); !c.Duplicate {
		t.Errorf("card %+v", c)
	}
}

func TestWhatIsForgottenIsNotMistakenForItsNextLife(t *testing.T) {
	b := open(t, newCupboard())
	put(t, b, order(1, "Burger"))
	late := press(b, Bump, 1, 0)
	if err := b.withdraw(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := jobs(b); got != "| 1" {
		t.Errorf("board %q", got)
	}
	d := order(1, "Burger")
	d.Doubt = true
	put(t, b, d)
	wants(t, b, late, Conflict)
	if c, _ := b.Card(1); c.State != Open || !c.Duplicate {
		t.Errorf("card %+v", c)
	}
}

// essence is what must be the same whatever failed on the way.
type essence struct {
	Job          uint64
	State        CardState
	Version      uint64
	Done         []int
	Acked, Shown bool
	Paper        string
}

func essences(b *Board) (out []essence) {
	s := b.Snapshot()
	for _, c := range append(s.Open, s.Recall...) {
		e := essence{Job: c.Job, State: c.State, Version: c.Version, Acked: c.Acked, Shown: c.Shown, Paper: c.Paper}
		for _, it := range c.Items {
			if it.Done {
				e.Done = append(e.Done, it.I)
			}
		}
		out = append(out, e)
	}
	return out
}

// evening is what happens to a board; each step is repeated until it works. before is called
// first, and gives the board to go on with.
func evening(t fataler, b *Board, failed func(*Board) *Board) *Board {
	t.Helper()
	ctx := context.Background()
	step := func(f func() error) {
		for i := 0; ; i++ {
			err := f()
			if err == nil {
				return
			}
			if !errors.Is(err, errShelf) || i > 3 {
				t.Fatal(err)
			}
			b = failed(b)
		}
	}
	cmd := func(do Verb, job uint64, item int) {
		c := press(b, do, job, item)
		step(func() error {
			r, err := b.Do(ctx, c)
			if err == nil && r.Outcome != Done {
				t.Fatalf("%s job %d: %s", do, job, r.Outcome)
			}
			return err
		})
	}
	for _, d := range []ticket.Delivery{order(1, "Burger", "Chips"), voidOrder(2, "Soup"), order(3, "Cake"), order(4, "Tea")} {
		step(func() error { _, err := b.Put(ctx, d); return err })
		step(func() error { return b.markShown(ctx, d.Job) })
	}
	cmd(ItemDone, 1, 1)
	cmd(ItemDone, 1, 0)
	cmd(ItemUndone, 1, 1)
	cmd(AckVoid, 2, 0)
	cmd(Bump, 2, 0)
	cmd(Bump, 1, 0)
	cmd(Undo, 1, 0)
	cmd(Bump, 3, 0)
	cmd(Recall, 3, 0)
	step(func() error { return b.markDoubt(ctx, 3) })
	step(func() error { return b.markPaper(ctx, 3, "grill") })
	step(func() error { return b.withdraw(ctx, 4) })
	return b
}

func TestWhateverStepTheShelfFailsTheBoardIsTheSameInTheEnd(t *testing.T) {
	s := newCupboard()
	b := evening(t, open(t, s), nil)
	want, steps := essences(b), s.writes
	if diff := cmp.Diff(want, essences(open(t, s))); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	for n := 1; n <= steps; n++ {
		for name, keep := range map[string]bool{"failed": false, "failed but was stored": true} {
			for then, failed := range map[string]func(*Board) *Board{
				"went on":   func(b *Board) *Board { return b },
				"restarted": func(b *Board) *Board { return open(t, b.o.Shelf) },
			} {
				s := newCupboard()
				s.fail = func(i int) (bool, bool) { return i == n, keep }
				b := evening(t, open(t, s), failed)
				if diff := cmp.Diff(want, essences(b)); diff != "" {
					t.Errorf("write %d %s, the board %s (-want +got):\n%s", n, name, then, diff)
				}
				if diff := cmp.Diff(want, essences(open(t, s))); diff != "" {
					t.Errorf("write %d %s, the board %s, and at the next start (-want +got):\n%s", n, name, then, diff)
				}
			}
		}
	}
}

func TestWhatIsNotStoredIsNotTold(t *testing.T) {
	s := newCupboard()
	b := open(t, s)
	put(t, b, order(1, "Burger"))
	changed, at := b.Changed(), b.At()
	s.failing = true
	if _, err := b.Put(t.Context(), order(2, "Soup")); !errors.Is(err, errShelf) {
		t.Errorf("put: %v", err)
	}
	if _, err := b.Do(t.Context(), press(b, Bump, 1, 0)); !errors.Is(err, errShelf) {
		t.Errorf("bump: %v", err)
	}
	select {
	case <-changed:
		t.Error("pages were told of a change")
	default:
	}
	if got := jobs(b); got != "1 |" || b.At() != at {
		t.Errorf("board %q at %s", got, b.At())
	}
}

func TestADamagedCardDoesNotTakeTheOthersWithIt(t *testing.T) {
	s := newCupboard()
	put(t, open(t, s), order(1, "Burger"), order(2, "Soup"))
	s.m[cardKey(1)] = []byte(`{"v":1,"job":`)
	s.m[cardKey(5)] = []byte(`{"v":9,"job":5}`)
	b := open(t, s)
	if got := jobs(b); got != "2 |" {
		t.Errorf("board %q", got)
	}
	put(t, b, order(1, "Burger"))
	if got := jobs(b); got != "2 1 |" {
		t.Errorf("board %q", got)
	}
}

func TestAllDayCountsWhatIsStillToBeMade(t *testing.T) {
	b := open(t, newCupboard())
	with := func(job uint64, lines ...ticket.Line) ticket.Delivery {
		d := order(job)
		d.Ticket.Lines = lines
		return d
	}
	put(t, b,
		with(1, ticket.Line{Quantity: "2", Name: "Burger", Course: "Mains"}, ticket.Line{Depth: 1, Quantity: "1", Name: "no onions"},
			ticket.Line{Quantity: "0.1", Name: "Cake"}, ticket.Line{Quantity: "1", Name: "Burger", Course: "Mains", Void: true}),
		with(2, ticket.Line{Quantity: "3", Name: "Burger", Course: "Mains"}, ticket.Line{Quantity: "0.2", Name: "Cake"},
			ticket.Line{Quantity: "some", Name: "Bread"}, ticket.Line{Quantity: "1", Name: "Burger", Course: "Mains"}),
		with(3, ticket.Line{Quantity: "1", Name: "Burger", Course: "Mains"}, ticket.Line{Depth: 1, Quantity: "1", Name: "no onions"},
			ticket.Line{Depth: 1, Quantity: "2", Name: "extra cheese", Void: true}),
		with(4, ticket.Line{Quantity: "100", Name: "Burger", Course: "Mains"}))
	do(t, b, press(b, ItemDone, 2, 3))
	do(t, b, press(b, Bump, 4, 0))
	var got []string
	for _, c := range AllDay(b.Snapshot().Open, "") {
		got = append(got, fmt.Sprint(c.Quantity, " ", c.Name, " ", c.Modifiers, " on ", c.Cards))
	}
	want := []string{"3 Burger [no onions] on 2", "3 Burger [] on 1", "0.3 Cake [] on 2", "some Bread [] on 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got := AllDay(b.Snapshot().Open, "Mains"); len(got) != 2 {
		t.Errorf("of one course: %+v", got)
	}
}
