package outcomes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds/board"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func TestAnOrderIsToldToBeReadyOnceForEachTimeThatItBecomesSo(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *queue.Queue, told *Teller, r *receiver, _ *strings.Builder) {
		r.show(t, 1, "Fish")
		r.show(t, 2, "Chips") // of the same order
		after(5 * time.Second)
		r.want(t, "")
		r.press(t, board.Bump)
		after(5 * time.Second)
		r.want(t, "ready 1 2")
		after(10 * time.Minute)
		r.want(t, "ready 1 2")

		r.press(t, board.Bump) // it is already so
		r.show(t, 3, "Tart")
		after(5 * time.Second)
		r.want(t, "ready 1 2")
		r.press(t, board.Bump)
		after(5 * time.Second)
		r.want(t, "ready 1 2, ready 3")
		r.press(t, board.Recall)
		after(5 * time.Second)
		r.press(t, board.Bump)
		after(5 * time.Second)
		r.want(t, "ready 1 2, ready 3, not_ready 3, ready 3")
		e := r.got
		assert.True(t, e[0].Data.Order == e[1].Data.Order && e[0].Data.Station == "hot" && e[0].Data.Job == 1, e[0],
			e[1])
	})
}

func TestAnOrderThatIsWhollyCancelledIsNeverReady(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *queue.Queue, told *Teller, r *receiver, _ *strings.Builder) {
		r.show(t, 1, "Fish")
		r.show(t, 2, "VOID Fish")
		r.press(t, board.AckVoid)
		r.press(t, board.Bump)
		after(5 * time.Second)
		r.want(t, "")
	})
}

func TestNoCrashLosesAnOrderThatIsReadyOrTellsItTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue.Queue, _ *Teller, r *receiver, log *strings.Builder) {
		r.stop() // it ends between the tap and the event
		r.show(t, 1, "Fish")
		r.press(t, board.Bump)
		for range 3 { // before, and after the event
			_, stop := tell(t, q, r, log)
			after(5 * time.Second)
			stop()
			r.want(t, "ready 1")
		}
	})
}

// openPass opens the pass of r and tells its outcomes, until the returned function is called.
func openPass(t *testing.T, q *queue.Queue, r *receiver, log *strings.Builder) (end func()) {
	var err error
	boards := []*board.Board{r.hot}
	r.pass, err = board.OpenPass(board.PassOptions{
		Station: "pass", KV: q.KV("pass"), Boards: boards, Title: strings.ToUpper,
	})
	assert.NoError(t, err)

	_, stop := tell(t, q, r, log)
	return func() {
		stop()
		r.pass.Close()
	}
}

func TestAPassTellsWhatIsReadyThereAndNothingOfWhatIsSentOut(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue.Queue, _ *Teller, r *receiver, log *strings.Builder) {
		r.stop()
		defer openPass(t, q, r, log)()

		for _, do := range []board.Verb{board.Bump, board.Recall, board.Bump} {
			if do == board.Bump {
				r.show(t, 1, "Fish")
			}
			r.press(t, do)
			after(5 * time.Second)
		}
		r.want(t, "ready 1, not_ready 1, ready 1")
		o := r.pass.Snapshot().Orders[0]
		c := board.Command{ID: "out", Do: board.Bump, Order: o.Key, Version: o.Version}
		if res, err := r.pass.Do(t.Context(), c); err != nil || res.Outcome != board.Done {
			t.Fatal(res, err)
		}
		r.show(t, 2, "Tart")
		after(5 * time.Second)
		r.want(t, "ready 1, not_ready 1, ready 1")
	})
}

func TestAnOrderWhosePartsArePartlyUnknownAfterAStartIsNotToldToBeNotReady(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue.Queue, _ *Teller, r *receiver, log *strings.Builder) {
		r.stop()
		r.show(t, 1, "Fish")
		r.press(t, board.Bump)
		var unreadable atomic.Bool
		for range 3 { // starts
			pass, err := board.OpenPass(board.PassOptions{Station: "pass", KV: q.KV("pass"), Title: strings.ToUpper,
				Boards: []*board.Board{r.hot}, Siblings: func([]uint64) ([]board.Sibling, error) {
					if unreadable.Load() {
						return nil, errors.New("disk")
					}
					return nil, nil
				}})
			assert.NoError(t, err)
			r.pass = pass
			_, stop := tell(t, q, r, log)
			after(5 * time.Second)
			r.want(t, "ready 1")
			unreadable.Store(false)
			after(5 * time.Second)
			r.want(t, "ready 1")
			stop()
			pass.Close()
			unreadable.Store(true)
		}
	})
}

func TestAChangedTicketMakesAnOrderThatWasReadyNotReady(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue.Queue, _ *Teller, r *receiver, log *strings.Builder) {
		r.stop()
		defer openPass(t, q, r, log)()

		r.show(t, 1, "Fish") // the only ticket
		r.press(t, board.Bump)
		after(5 * time.Second)
		r.want(t, "ready 1")
		err := r.hot.Add(t.Context(), ticket.Delivery{Job: 3, Ticket: ticket.Ticket{
			Venue: "v", Request: "r1", Check: "c", Number: "7", Received: time.Now(),
			Changed: &ticket.Change{Order: "#7"}, Lines: []ticket.Line{{Quantity: "2", Name: "Fish"}},
		}})
		assert.NoError(t, err)
		after(5 * time.Second)
		r.want(t, "ready 1, not_ready 3")
		r.press(t, board.AckVoid)
		r.press(t, board.Bump)
		after(5 * time.Second)
		r.want(t, "ready 1, not_ready 3, ready 3")
	})
}

func TestAMarkIsForgottenAfterTwoDays(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *queue.Queue, told *Teller, r *receiver, _ *strings.Builder) {
		r.show(t, 1, "Fish")
		r.press(t, board.Bump)
		after(50 * time.Hour)
		marks := 0
		if err := told.kv.All(func(string, []byte) bool { marks++; return true }); err != nil || marks != 0 {
			t.Error(marks, err)
		}
		r.want(t, "ready 1")
	})
}

// show adds a card of order 7.
func (r *receiver) show(t *testing.T, job uint64, dish string) {
	t.Helper()
	dish, void := strings.CutPrefix(dish, "VOID ")
	err := r.hot.Add(t.Context(), ticket.Delivery{Job: job, Ticket: ticket.Ticket{
		Venue: "v", Request: fmt.Sprint("r", job), Check: "c", Number: "7", Received: time.Now(),
		Lines: []ticket.Line{{Quantity: "1", Name: dish, Void: void}},
	}})
	assert.NoError(t, err)
}

// press presses on the open order or, to recall, on the latest that was bumped.
func (r *receiver) press(t *testing.T, do board.Verb) {
	t.Helper()
	s := r.hot.Snapshot()
	for _, o := range slices.Concat(s.Orders, s.Recall) {
		c := board.Command{ID: fmt.Sprint(do, "-", s.Seq), Do: do, Order: o.Key, Version: o.Version}
		if do == board.Recall && o.State == board.Open {
			continue
		}
		res, err := r.hot.Do(t.Context(), c)
		if err != nil || res.Outcome != board.Done && res.Outcome != board.Already {
			t.Fatalf("%+v, %v", res, err)
		}
		return
	}
}

// want checks the events about orders: each as its word and the jobs.
func (r *receiver) want(t *testing.T, want string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var got []string
	for _, e := range r.got {
		if what, ok := strings.CutPrefix(e.Type, "order."); ok {
			got = append(got, what+" "+strings.Trim(fmt.Sprint(e.Data.Jobs), "[]"))
		}
	}
	assert.Equal(t, strings.Join(got, ", "), want)
}
