package queue

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

func TestADamagedFileIsSalvaged(t *testing.T) {
	total := map[string]*salvageCount{}
	for round := range rounds(1, 2) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(round, 15))
			e := workload(t, r, 200+r.IntN(800))
			for _, d := range damages {
				if total[d.name] == nil {
					total[d.name] = &salvageCount{}
				}
				for range rounds(2, 10) {
					e.check(d.name, d.do(r, bytes.Clone(e.content)), total[d.name])
				}
			}
		})
	}
	for name, n := range total {
		t.Logf("%-36s %+v", name, *n)
	}
}

// An eveningFile is a queue that has worked for a while, with what must not be lost of it.
type eveningFile struct {
	*testQueue
	content []byte
	jobs    map[uint64]Job            // by id, at the end
	raw     map[uint64][2][]byte      // the stored state and ticket of each job
	orders  map[string]ticket.Request // by id
}

var evStations = []string{"grill", "bar", "cold"}

// workload does what a kitchen does, at random, so that pages are freed and reused.
func workload(t *testing.T, r *rand.Rand, steps int) *eveningFile {
	e := &eveningFile{
		testQueue: start(t, func(o *Options) { o.HistoryRetention = 3 * time.Hour }),
		jobs:      map[uint64]Job{}, raw: map[uint64][2][]byte{}, orders: map[string]ticket.Request{},
	}
	q := e.testQueue
	for n := range steps {
		station := evStations[r.IntN(len(evStations))]
		switch r.IntN(22) {
		case 0, 1, 2, 3, 4:
			o := order(fmt.Sprintf("order-%d", n), evStations[r.IntN(3):]...)
			e.orders[o.ID] = o
			q.accept(o)
		case 10:
			all := q.jobs(Filter{})
			if len(all) > 0 {
				j := all[r.IntN(len(all))]
				_, _ = q.Move(bg, []uint64{j.ID}, "bar")
			}
		case 11:
			all := q.jobs(Filter{})
			if len(all) > 0 {
				j := all[r.IntN(len(all))]
				if r.IntN(2) == 0 {
					_, _ = q.Reprint(bg, j.ID, ReprintOptions{})
				} else {
					_ = q.Cancel(bg, j.ID, "no")
				}
			}
		case 12:
			q.must(q.KV("boards").Put(bg, strconv.Itoa(r.IntN(20)), make([]byte, r.IntN(3000))))
		case 13:
			time.Sleep(time.Duration(r.IntN(40)) * time.Minute)
			if r.IntN(4) == 0 {
				q.restart()
			}
		default:
			if l := q.tryTake(station); l != nil {
				q.must(l.Begin(bg))
				switch r.IntN(12) {
				case 0:
					q.must(l.Hold(bg, "look"))
				case 1:
					q.must(l.Fail(bg, "no"))
				case 2:
					q.must(l.Retry(bg, "cable"))
				default:
					q.must(l.Ack(bg, ticket.Sent, ""))
				}
			}
		}
	}
	for _, j := range q.jobs(Filter{}) {
		e.jobs[j.ID] = j
		must(t, q.view(func(tx *bolt.Tx) error {
			k := key64(j.ID)
			e.raw[j.ID] = [2][]byte{
				bytes.Clone(tx.Bucket(bucketNames[bucketState]).Get(k)),
				bytes.Clone(tx.Bucket(bucketNames[bucketJobs]).Get(k)),
			}
			return nil
		}))
	}
	q.stop()
	e.content = q.content()
	return e
}

// A damage changes a file.
type damage struct {
	name string
	do   func(r *rand.Rand, b []byte) []byte
}

// randomPage is one that is in use, or was.
func randomPage(r *rand.Rand, b []byte) []byte {
	n := 2 + r.IntN(len(b)/pageBytes-2)
	for range 100 {
		if b[n*pageBytes+8] != 0 {
			break
		}
		n = 2 + r.IntN(len(b)/pageBytes-2)
	}
	return b[n*pageBytes : (n+1)*pageBytes]
}

var damages = []damage{
	{"none", func(_ *rand.Rand, b []byte) []byte { return b }},
	{"a page is zero", func(r *rand.Rand, b []byte) []byte { clear(randomPage(r, b)); return b }},
	{"five pages are zero", func(r *rand.Rand, b []byte) []byte {
		for range 5 {
			clear(randomPage(r, b))
		}
		return b
	}},
	{"a third of the pages is zero", func(r *rand.Rand, b []byte) []byte {
		for n := 2; n < len(b)/pageBytes; n++ {
			if r.IntN(3) == 0 {
				clear(b[n*pageBytes : (n+1)*pageBytes])
			}
		}
		return b
	}},
	{"a page is noise", func(r *rand.Rand, b []byte) []byte {
		p := randomPage(r, b)
		for i := range p {
			p[i] = byte(r.IntN(256))
		}
		return b
	}},
	{"flipped bits", func(r *rand.Rand, b []byte) []byte {
		for range 1 + r.IntN(50) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return b
	}},
	{"flipped bits in one page", func(r *rand.Rand, b []byte) []byte {
		p := randomPage(r, b)
		for range 20 {
			p[r.IntN(len(p)/8)] ^= 1 << r.IntN(8)
		}
		return b
	}},
	{"no meta page", func(_ *rand.Rand, b []byte) []byte { clear(b[:2*pageBytes]); return b }},
	{"no root", noRoot},
	{"an old page in the place of another", func(r *rand.Rand, b []byte) []byte {
		copy(randomPage(r, b), randomPage(r, b))
		return b
	}},
	{"cut off", func(r *rand.Rand, b []byte) []byte { return b[:len(b)/2+r.IntN(len(b)/2)] }},
}

// salvage puts a damaged file in the place of the file, and does what the start does that finds it.
func (e *eveningFile) salvage(content []byte) (Salvaged, error) {
	must(e.t, os.WriteFile(e.o.Path, content, 0o600))
	for _, old := range matches(e.o.Path + ".corrupt-*") {
		must(e.t, os.Remove(old))
	}
	noSync := func(*os.File) error { return nil }
	return quarantine(e.o.Path, storageHooks{sync: noSync, link: os.Link, rename: os.Rename})
}

type salvageCount struct{ kept, lost, reachable, back, failed int }

// check judges what a start makes of a damaged file.
func (e *eveningFile) check(what string, content []byte, n *salvageCount) {
	t := e.t
	t.Helper()
	r, err := e.salvage(bytes.Clone(content))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if b, err := os.ReadFile(r.Kept); err != nil || !bytes.Equal(b, content) {
		t.Fatalf("%s: the damaged file is not kept: %v", what, err)
	}
	if r.Err != nil {
		t.Logf("%s: %v", what, r.Err)
	}
	if r.Err == nil {
		must(t, Check(e.o.Path))
	}
	e.open()
	defer e.stop()
	after := map[uint64]Job{}
	for _, j := range e.testQueue.jobs(Filter{}) {
		after[j.ID] = j
		if before := e.jobs[j.ID]; (j.State.Open() || j.State == ticket.Failed) && !j.Doubt {
			t.Errorf("%s: job %d, which was %s, comes back without doubt", what, j.ID, before.State)
		}
		if before := e.jobs[j.ID]; j.State.Open() && !before.State.Open() {
			n.back++
			if what == "none" {
				t.Errorf("%s: job %d was %q and is %s", what, j.ID, before.State, j.State)
			}
		}
	}
	for id, before := range e.jobs {
		if !before.State.Open() {
			continue
		}
		_, kept := after[id]
		found := bytes.Contains(content, e.raw[id][0]) && bytes.Contains(content, e.raw[id][1])
		switch {
		case kept && after[id].State == ticket.Failed:
			n.failed++
		case kept:
			n.kept++
		default:
			n.lost++
		}
		if found {
			n.reachable++
		}
		if found && !kept {
			t.Errorf("%s: job %d was %s, is in the file and not in the new one", what, id, before.State)
		}
		if what == "none" && after[id].State != before.State {
			t.Errorf("%s: job %d was %s and is %q", what, id, before.State, after[id].State)
		}
	}
	// Each prints once, marked.
	printed := map[uint64]bool{}
	requests := map[string][]string{} // where each has printed
	for _, s := range evStations {
		for l := e.tryTake(s); l != nil; l = e.tryTake(s) {
			d := l.Delivery()
			if !d.Doubt || printed[d.Job] {
				t.Errorf("%s: job %d prints again, marked %v", what, d.Job, d.Doubt)
			}
			printed[d.Job] = true
			requests[d.Ticket.Request] = append(requests[d.Ticket.Request], s)
			e.must(l.Begin(bg))
			e.must(l.Ack(bg, ticket.Sent, ""))
		}
	}
	for id, stations := range requests {
		if got := e.accept(e.orders[id]); !got.Duplicate {
			t.Errorf("%s: a retry of %s, which has printed: %+v", what, id, got)
		}
		for _, s := range evStations { // what is lost prints, as a change
			for l := e.tryTake(s); l != nil; l = e.tryTake(s) {
				if d := l.Delivery(); d.Ticket.Changed == nil || slices.Contains(stations, s) {
					t.Errorf("%s: after a retry of %s, %s prints %+v", what, id, s, d.Ticket)
				}
				e.must(errors.Join(l.Begin(bg), l.Ack(bg, ticket.Sent, "")))
			}
		}
	}
	e.accept(order("after", "grill"))
	if l := e.tryTake("grill"); l == nil || l.Delivery().Doubt {
		t.Errorf("%s: a new order does not print", what)
	}
}
