package queue

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ticketrail/queue/ticket"
)

// init makes rapid draw the same values on every machine. -rapid.seed=0 draws other ones at each run.
func init() { flag.Set("rapid.seed", "1") }

// The model is the queue in its simplest form: a list of jobs for each lane, and a set of keys.

func TestTheQueueDoesWhatTheModelDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		must(t, flag.Set("rapid.checks", fmt.Sprint(rounds(30, 200))))
		// Wrapped, because rapid asks for the deadline, which synctest does not allow.
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { againstModel(t, rt) })
	})
}

type modelJob struct {
	id       uint64
	request  string
	state    ticket.State
	attempts int
	doubts   int
	kind     ticket.Kind
	reprint  bool
	replaced bool      // another job has replaced it
	refused  []string  // the stations that refused it
	void     bool      // its lines are void
	changed  bool      // it replaces another one
	first    *modelJob // from which this was made; nil: as which the ticket came
	next     *modelJob // with the changed ticket in its place
}

// wantFor is the wanted Delivery.For.
func (j *modelJob) wantFor() string {
	if len(j.refused) > 0 {
		return j.refused[0]
	}
	return ""
}

// refusedAt is who has refused the ticket of j, for its copy at another station.
func (j *modelJob) refusedAt(station string) []string {
	if slices.Contains(j.refused, station) {
		return nil
	}
	return j.refused
}

// latest is the job whose ticket replaces j's; j itself if none does.
func (j *modelJob) latest() *modelJob {
	for o := j; o != nil; o = o.first {
		if o.next != nil {
			for o.next != nil {
				o = o.next
			}
			return o
		}
	}
	return j
}

type model struct {
	known map[string]map[bool]bool        // request → contents that came: void or not
	units map[string]map[string]*modelJob // request → station → its latest ticket
	lanes map[string][]*modelJob
	all   map[uint64]*modelJob
	lease map[string]*modelJob
	held  map[string]bool // stations
}

func (m *model) put(station, request string, id uint64, kind ticket.Kind) *modelJob {
	j := &modelJob{id: id, request: request, state: ticket.Pending, kind: kind}
	m.lanes[station] = append(m.lanes[station], j)
	m.all[id] = j
	return j
}

func (m *model) leave(station string, j *modelJob, to ticket.State) {
	j.state = to
	m.lanes[station] = slices.DeleteFunc(m.lanes[station], func(x *modelJob) bool { return x == j })
}

// move enqueues a job at another station in its own place.
func (m *model) move(j *modelJob, from, to string, id uint64) *modelJob {
	n := m.put(to, j.request, id, j.kind)
	n.doubts, n.reprint, n.refused = min(j.doubts, 1), j.reprint, j.refusedAt(to)
	n.void, n.changed, n.first = j.void, j.changed, j
	m.leave(from, j, ticket.Moved)
	j.replaced = true
	return n
}

// reprint enqueues a copy of the latest ticket in the place of a job, marked as such. It replaces held and failed
// ones.
func (m *model) reprint(j *modelJob, to string, copied uint64, where func(*modelJob) string) {
	l := j.latest()
	n := m.put(to, j.request, copied, j.kind)
	n.reprint, n.first, n.refused, n.void, n.changed = true, l, l.refusedAt(to), l.void, l.changed
	for _, j := range []*modelJob{j, l} {
		if j.state == ticket.Held || j.state == ticket.Failed {
			m.leave(where(j), j, ticket.Cancelled)
			j.replaced = true
		}
	}
}

// head is the ticket that Take must lend. It holds the jobs before it that are in doubt twice.
func (m *model) head(station string) *modelJob {
	for _, j := range m.lanes[station] {
		if j.state != ticket.Pending {
			continue
		}
		if j.doubts >= maxDoubt {
			j.state = ticket.Held
			continue
		}
		return j
	}
	return nil
}

func againstModel(t *testing.T, rt *rapid.T) {
	stations := []string{"bar", "grill"}
	q := start(t)
	defer q.stop()
	m := &model{
		known: map[string]map[bool]bool{}, units: map[string]map[string]*modelJob{},
		lanes: map[string][]*modelJob{}, all: map[uint64]*modelJob{},
		lease: map[string]*modelJob{}, held: map[string]bool{},
	}
	leases := map[string]*Lease{}
	station := rapid.SampledFrom(stations)
	anyJob := func(rt *rapid.T) uint64 { return rapid.Uint64Range(1, uint64(len(m.all)+1)).Draw(rt, "job") }
	var next uint64 = 1
	newest := func() uint64 { next++; return next - 1 }
	other := func(s string) string { return stations[1-slices.Index(stations, s)] }
	lent := func(j *modelJob) bool { return m.lease["bar"] == j || m.lease["grill"] == j }
	where := func(j *modelJob) string {
		for s, l := range m.lanes {
			if slices.Contains(l, j) {
				return s
			}
		}
		return q.job(j.id).Station
	}
	// settles is the end of a lease. then gets its job with the attempt, and the doubt if it had begun.
	settles := func(end func(l *Lease, s string) error, then func(s string, j *modelJob, begun bool)) func(*rapid.T) {
		return func(rt *rapid.T) {
			s := station.Draw(rt, "station")
			l, j := leases[s], m.lease[s]
			if l == nil {
				rt.Skip("nothing is lent")
			}
			must(rt, end(l, s))
			delete(leases, s)
			delete(m.lease, s)
			if j.attempts++; l.doubts > 0 {
				j.doubts++
			}
			then(s, j, l.doubts > 0)
		}
	}
	requeue := func(j *modelJob) {
		if j.doubts >= maxDoubt {
			j.state = ticket.Held
		}
	}
	mended := func() {
		for q.Ready() != nil {
			time.Sleep(time.Second) // of the fake clock
		}
	}
	rt.Repeat(map[string]func(*rapid.T){
		"accept": func(rt *rapid.T) {
			r := fmt.Sprint(rapid.IntRange(0, 12).Draw(rt, "request"))
			void := rapid.Bool().Draw(rt, "void")
			req := order(r, stations...)
			if void {
				req = cancelled(req)
			}
			got, want := q.accept(req), ticket.Receipt{Duplicate: m.known[r] != nil}
			if m.known[r] == nil {
				m.known[r], m.units[r] = map[bool]bool{}, map[string]*modelJob{}
			}
			if !m.known[r][void] {
				want.Jobs, want.Conflict = 2, want.Duplicate
				for _, s := range stations {
					j := m.put(s, r, newest(), ticket.Order)
					j.void, j.changed = void, want.Conflict
					if was := m.units[r][s]; was != nil {
						was.next = j
					}
					m.units[r][s] = j
				}
			}
			m.known[r][void] = true
			wantEqual(rt, got, want)
		},
		"take": func(rt *rapid.T) {
			s := station.Draw(rt, "station")
			if leases[s] != nil || m.held[s] {
				q.wantNothing(s)
				return
			}
			j := m.head(s)
			if j == nil {
				return
			}
			l := q.take(s)
			d := l.Delivery()
			wantTrue(rt, d.Job == j.id && d.Ticket.Request == j.request && d.Attempt == j.attempts+1 &&
				d.Doubt == (j.doubts > 0) && d.Reprint == j.reprint && d.Ticket.Kind == j.kind &&
				(d.Ticket.Changed != nil) == j.changed && d.Ticket.Lines[0].Void == j.void &&
				d.For == j.wantFor() && slices.Equal(d.RefusedBy, j.refused), d, *j)
			leases[s], m.lease[s] = l, j
		},
		"begin": func(rt *rapid.T) {
			l := leases[station.Draw(rt, "station")]
			if l == nil {
				rt.Skip("nothing is lent")
			}
			must(rt, l.Begin(bg, false))
		},
		"ack": settles(func(l *Lease, _ string) error { return l.Ack(bg, ticket.Shown, "") },
			func(s string, j *modelJob, _ bool) { m.leave(s, j, ticket.Shown) }),
		"fail": settles(func(l *Lease, _ string) error { return l.Fail(bg, "r") },
			func(s string, j *modelJob, _ bool) { m.leave(s, j, ticket.Failed) }),
		"retry": settles(func(l *Lease, _ string) error { return l.Retry(bg, "r") },
			func(_ string, j *modelJob, _ bool) { requeue(j) }),
		"return": settles(func(l *Lease, _ string) error { return l.Return(bg, "r") },
			func(_ string, j *modelJob, _ bool) { j.attempts--; requeue(j) }),
		"hold": settles(func(l *Lease, _ string) error { return l.Hold(bg, "r") },
			func(_ string, j *modelJob, begun bool) {
				if j.state = ticket.Held; !begun {
					j.attempts--
				}
			}),
		"refused": settles(func(l *Lease, s string) error { return l.Move(bg, other(s), s, "r") },
			func(s string, j *modelJob, _ bool) {
				j.refused = append(slices.Clone(j.refused), s)
				m.move(j, s, other(s), newest())
			}),
		"cancel": func(rt *rapid.T) {
			id := anyJob(rt)
			err := q.Cancel(bg, id, "r")
			j := m.all[id]
			may := j != nil && !lent(j) && (j.state.Open() || j.state == ticket.Failed)
			wantEqual(rt, err == nil, may, j, err)
			if may {
				m.leave(where(j), j, ticket.Cancelled)
			}
		},
		"reprint": func(rt *rapid.T) {
			id, to := anyJob(rt), station.Draw(rt, "to")
			j := m.all[id]
			can := func() bool {
				l := j.latest()
				return j.state != ticket.Pending && !j.replaced && l.state != ticket.Pending && !l.replaced
			}
			may := j != nil && can()
			ending := rapid.SampledFrom([]commitResult{works, works, fails, failsButPersist}).Draw(rt, "ending")
			q.disk.willEnd(ending)
			o := ReprintOptions{Station: to, Reason: "r"}
			got, err := q.Reprint(bg, id, o)
			if may && ending != works {
				wantErr(rt, err, ErrStorageFailed)
				mended()
				if ending == failsButPersist {
					m.reprint(j, to, newest(), where)
				}
				may = can()
				got, err = q.Reprint(bg, id, o) // the caller asks again
			}
			q.disk.clear()
			switch {
			case may:
				must(rt, err)
				wantEqual(rt, got.Job, newest())
				m.reprint(j, to, got.Job, where)
			case j == nil:
				wantErr(rt, err, ErrNotFound)
			default:
				wantErr(rt, err, ErrConflict)
			}
		},
		"move": func(rt *rapid.T) {
			id, to := anyJob(rt), station.Draw(rt, "to")
			got, err := q.Move(bg, []uint64{id}, to)
			j := m.all[id]
			may := j != nil && j.state.Open() && !lent(j) && where(j) != to
			wantEqual(rt, err == nil, may, j, err)
			if may {
				newest()
				held := j.state == ticket.Held
				if n := m.move(j, where(j), to, got[0]); held { // a person has decided
					n.doubts, n.reprint, n.void, n.changed = 0, true, j.latest().void, j.latest().changed
				}
			}
		},
		"hold station": func(rt *rapid.T) {
			s := station.Draw(rt, "station")
			must(rt, q.HoldStation(bg, s, "r"))
			m.held[s] = true
		},
		"resume station": func(rt *rapid.T) {
			s := station.Draw(rt, "station")
			must(rt, q.ResumeStation(bg, s))
			m.held[s] = false
		},
		"restart": func(*rapid.T) { // for tickets that are lent this is a crash
			for s, l := range leases {
				if j := m.lease[s]; l.doubts > 0 {
					j.doubts++
				}
			}
			clear(leases)
			clear(m.lease)
			q.restart()
		},
		"failed commit": func(rt *rapid.T) { // while tickets are lent
			q.disk.willEnd(rapid.SampledFrom([]commitResult{fails, failsButPersist, noSpace}).Draw(rt, "ending"))
			_ = q.KV("x").Put(bg, "k", []byte(rapid.String().Draw(rt, "value")))
			mended()
		},
		"": func(rt *rapid.T) { m.compare(rt, q) },
	})
}

func (m *model) compare(rt *rapid.T, q *testQueue) {
	q.checkBooks()
	type row struct {
		ID       uint64
		Request  string
		State    ticket.State
		Attempts int
	}
	var got, want []row
	for _, j := range q.jobs(Filter{}) {
		got = append(got, row{j.ID, j.Request, j.State, j.Attempts})
	}
	for id, j := range m.all {
		s := j.state
		if m.lease["bar"] == j || m.lease["grill"] == j {
			s = ticket.Printing
		}
		want = append(want, row{id, j.request, s, j.attempts})
	}
	slices.SortFunc(want, func(a, b row) int { return int(b.ID) - int(a.ID) })
	wantEqual(rt, cmp.Diff(want, got), "", "-model +queue")
}
