package dispatch

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/queue/ticket"
)

func TestWhateverFailsOrderIsKeptAndNoTicketPrintsTwiceUnmarked(t *testing.T) { stressSeeds(t, 0, 4) }

func TestWithManySeedsOrderIsKeptAndNoTicketPrintsTwiceUnmarked(t *testing.T) {
	slow.Test(t)
	stressSeeds(t, 4, 20)
}

func stressSeeds(t *testing.T, from, to uint64) {
	for seed := from; seed < to; seed++ {
		inBubble(t, func(t *testing.T, h *harness) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			stress(t, h, rand.New(rand.NewPCG(seed, 3)), seed%4 == 0, seed%3 == 0)
		})
	}
}

// stress has three lanes that are backups of one another, also in a circle: a backup is chosen for each
// attempt, so a ticket cannot go round. Lanes and printers change, if hectic as often as tickets come,
// and the program restarts in between.
func stress(t *testing.T, h *harness, r *rand.Rand, holdDoubt, hectic bool) {
	calls := &outputChecker{t: t, most: 2, begun: map[uint64]int{}, first: map[string][]string{},
		busy: map[string]bool{}}
	if holdDoubt {
		calls.most = 1
	}
	stations := []string{"grill", "bar", "pass"}
	printers := map[string][]*checkedPrinter{}
	for _, n := range stations {
		printers[n] = []*checkedPrinter{calls.printer(n), calls.printer(n)}
	}
	lanes := func() (out []Lane) {
		after := time.Duration(r.IntN(4)) * 5 * time.Second
		backups := map[string][]string{"grill": {"bar", "pass"}, "bar": {"pass"}, "pass": {"grill"}}
		for _, n := range stations {
			l := Lane{Name: n, Station: printers[n][r.IntN(4)/3], HoldDoubt: holdDoubt}
			for i, b := range backups[n] {
				l.Backups = append(l.Backups, Backup{Name: b, Station: printers[b][0],
					After: time.Duration(i+1) * after})
			}
			out = append(out, l)
		}
		return out
	}
	faults := []fault{fine, fine, fine, off, off, noPaper, cut, panics, panicsMidway, noPaperMidway, dropped}
	want := map[string][]string{}
	all := names(1000)
	pace, sets := 6000, 20
	if hectic {
		pace, sets = 400, 1
	}
	for range 4 { // runs of the daemon over one queue
		h.Set(lanes())
		for range 60 {
			n := stations[r.IntN(3)]
			if r.IntN(3) > 0 {
				want[n], all = append(want[n], all[0]), all[1:]
				h.q.enqueue(n, want[n][len(want[n])-1])
			}
			printers[stations[r.IntN(3)]][r.IntN(2)].setFault(faults[r.IntN(len(faults))])
			if r.IntN(sets) == 0 {
				some := lanes()[:1+r.IntN(3)]
				go h.Set(some)
			}
			if r.IntN(sets) == 0 {
				go h.Kick(n)
			}
			time.Sleep(time.Duration(r.IntN(pace)) * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(300))*time.Millisecond)
		go h.Stop(ctx)
		assert.NoError(t, h.Stop(ctx))
		cancel()
		go h.Set(lanes()) // does nothing any more
		synctest.Wait()
		h.restart()
	}

	// Then all printers work, and the rest is printed.
	for _, ps := range printers {
		ps[0].setFault(fine)
		ps[1].setFault(fine)
	}
	h.Set(lanes())
	h.advance(time.Hour)
	assert.True(t, calls.onBackups > 0, "no backup ever printed: the test tests nothing")
	jobs := h.q.jobs()
	for _, n := range stations {
		assert.True(t, slices.Equal(calls.first[n], want[n]), n, calls.first[n], want[n])
		for _, name := range want[n] {
			s := jobs[name].State
			assert.True(t, s == ticket.Sent || s == ticket.Held, name, s)
		}
	}
}

// An outputChecker records the tickets of all printers of a test, for each station in the order of
// time, and reports a loss, a wrong order and a double without a mark.
type outputChecker struct {
	t    *testing.T
	most int // allowed begun attempts of a ticket

	mu        sync.Mutex
	begun     map[uint64]int      // by job: attempts after which something may have come out
	first     map[string][]string // by lane: the first copies
	onBackups int                 // tickets that came out of a backup
	busy      map[string]bool     // lanes that are printing
}

// A checkedPrinter reports to an outputChecker. Several lanes may use it.
type checkedPrinter struct {
	*fakePrinter
	*outputChecker
}

func (c *checkedPrinter) Print(
	ctx context.Context, d ticket.Delivery, begin func(context.Context) error,
) (ticket.Proof, error) {
	c.enter(d, true)
	defer c.enter(d, false)
	return c.fakePrinter.Print(ctx, d, begin)
}

// printer makes a printer of that lane.
func (r *outputChecker) printer(lane string) *checkedPrinter {
	return &checkedPrinter{outputChecker: r, fakePrinter: &fakePrinter{
		t: r.t, dial: 20 * time.Millisecond, takes: 200 * time.Millisecond,
		lock:    make(chan struct{}, 1),
		onPrint: func(d ticket.Delivery) { r.out(lane, d) },
	}}
}

func (r *outputChecker) enter(d ticket.Delivery, in bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	assert.True(r.t, !in || !r.busy[d.Station], d.Station)
	r.busy[d.Station] = in
}

func (r *outputChecker) out(printer string, d ticket.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := d.Ticket.Request
	own := d.Station == printer
	assert.True(r.t, own == (d.For == "") && (own || d.For == d.Station && d.Down == "printer"), name, printer, d.For,
		d.Down)
	if d.For != "" {
		r.onBackups++
	}
	assert.Equal(r.t, r.begun[d.Job] > 0, d.Doubt, name, r.begun[d.Job])
	r.begun[d.Job]++
	assert.True(r.t, r.begun[d.Job] <= r.most, name, r.begun[d.Job])
	if !d.Doubt {
		r.first[d.Station] = append(r.first[d.Station], name)
	}
}
