package queue

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

// TestASalvagedFileTellsNewOutcomesAfterThoseThatWait: a new outcome with a lower number than one that waits would be
// told before it, and forgotten with it untold.
func TestASalvagedFileTellsNewOutcomesAfterThoseThatWait(t *testing.T) {
	for _, c := range []struct {
		taken uint64
		known bool // the number of the last one can be read
	}{{3, true}, {3, false}, {6, true}} {
		q := start(t)
		q.KeepOutcomes(true)
		for n := range 6 {
			q.accept(order(id(n), "grill"))
		}
		q.must(q.ForgetOutcomes(bg, c.taken))
		q.stop()
		f, err := os.Open(q.o.Path)
		must(t, err)
		s, err := readSalvage(f)
		must(t, err)
		if !c.known {
			delete(s.sequences, contents(bucketKV)+outcomesName)
		}
		must(t, os.Remove(q.o.Path))
		must(t, errors.Join(errOf(s.write(q.o.Path)), f.Close()))
		q.open()
		q.KeepOutcomes(true)
		waited, err := q.Outcomes(100)
		q.must(err)
		if len(waited) != 6-int(c.taken) {
			t.Errorf("%d outcomes wait", len(waited))
		}
		q.accept(order("new", "grill"))
		q.must(q.ForgetOutcomes(bg, 6)) // those that waited were told
		if all, err := q.Outcomes(100); err != nil || len(all) != 1 || all[0].Seq != 7 {
			t.Errorf("%+v: then %+v, %v", c, all, err)
		}
		q.stop()
	}
}

// TestWhatAKilledSalvageLeftIsRemovedBeforeTheNextOne: a start that is killed while it salvages again and again would
// fill the disk, and then begin an empty file.
func TestWhatAKilledSalvageLeftIsRemovedBeforeTheNextOne(t *testing.T) {
	q, damaged := damagedEvening(t)
	left := q.o.Path + ".new-123"
	must(t, os.WriteFile(left, []byte(damaged), 0o600))
	hooks := systemHooks
	hooks.sync = func(f *os.File) error {
		if _, err := os.Stat(left); err == nil {
			t.Error("it takes the space of the new one")
		}
		return f.Sync()
	}
	r, err := quarantine(q.o.Path, hooks)
	must(t, errors.Join(err, r.Err))
	q.afterHalfQuarantine(damaged)
}

// TestTimeThatTicketsHaveCountedIsNotCountedAgainAfterASalvage: the clock record is an old one, of a page that was
// freed; the tickets are new.
func TestTimeThatTicketsHaveCountedIsNotCountedAgainAfterASalvage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := start(t, func(o *Options) { o.Clock = rightClock{} })
		time.Sleep(time.Hour)
		q.accept(order("old", "grill"))
		q.stop()
		f, err := os.Open(q.o.Path)
		must(t, err)
		defer f.Close()
		s, err := readSalvage(f)
		must(t, err)
		time.Sleep(48 * time.Hour)
		v := s.states[1]
		v.Enqueued += int64(48 * time.Hour)
		s.states[1] = v
		must(t, os.Remove(q.o.Path))
		must(t, errOf(s.write(q.o.Path)))
		q.open()
		if waited := q.clock.running() - time.Duration(v.Enqueued); waited > time.Minute {
			t.Errorf("a ticket of this moment has waited %s", waited)
		}
		q.wantState(1, ticket.Pending)
		q.stop()
	})
}

// TestWhatTheStartItselfDoesToATicketIsTold: Open makes a ticket failed whose state is damaged, before anybody can
// call KeepOutcomes.
func TestWhatTheStartItselfDoesToATicketIsTold(t *testing.T) {
	q := start(t, func(o *Options) { o.KeepOutcomes = true })
	q.accept(order("a", "grill"))
	q.overwrite(bucketState, key64(1), "damaged")
	q.restart()
	q.wantOutcomes("1 accepted, 1 failed")
}

// TestOutcomesThatCannotBeStoredKeepNoOrderOut: a flag of a page has no checksum: the map of outcomes can look like a
// value.
func TestOutcomesThatCannotBeStoredKeepNoOrderOut(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.overwrite(bucketKV, []byte(outcomesName), "x")
		q.KeepOutcomes(true)
		q.accept(order("a", "grill"))
		q.print("grill")
		q.wantOutcomes("")
	})
}

// rightClock is the clock of the bubble, and synchronized.
type rightClock struct{}

func (rightClock) Now() time.Time { return time.Now() }

func (rightClock) Synchronized() bool { return true }
