package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

// A start reads the log since the last base copy, and does again the changes that the file has lost: an older meta
// page, an older file, or a base copy that took the place of a damaged file. Jobs that come back are in doubt, and so
// is then every ticket that waits, because a log can miss its last second. Jobs that the file has are left alone, so a
// replay that is cut off is done once more by the next start.

// A replay is one reading of the log.
type replay struct {
	q       *Queue
	lines   []logLine // to be done in the next transaction
	size    int
	became  map[uint64]*loggedJob // the latest of each job
	numbers map[uint64]uint64     // of jobs that were made again, by their old numbers
	foreign bool                  // the log belongs to another database
	known   uint64                // the highest number of a job that the file has given out
	highest uint64                // number of a job
	damaged int                   // lines that cannot be read
	again   int                   // tickets that the file had lost
	behind  bool                  // the file had lost something
	failed  error                 // of a commit: nothing more is done
}

// replay reads the log. After an error the file is to be reopened, and it is called again. A log that cannot be read
// is no error: the file is there.
func (q *Queue) replay() error {
	if q.copier == nil || q.replayed {
		return nil
	}

	replaying := replay{q: q, became: map[uint64]*loggedJob{}, numbers: map[uint64]uint64{}}
	if err := replaying.read(); err != nil && replaying.failed == nil {
		q.copier.failed(err)
		replaying.damaged++ // and perhaps more
	}

	replaying.flush()
	replaying.finish()
	if replaying.failed != nil {
		return replaying.failed
	}

	q.replayed = true
	if replaying.behind {
		q.copier.gap.Store(true) // the jobs that came back are not in the log again
		q.log.Error("the database had lost its last commits: they were read from the log of its copy",
			"tickets", replaying.again, "damaged_lines", replaying.damaged)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.notices = append(q.notices, Notice{
			At: q.clock.wall().UTC(), Lost: replaying.damaged > 0,
			Text: fmt.Sprintf("the database had lost its last commits: %s came back from the log of its copy, and "+
				"what is not known to have come out prints marked POSSIBLE DUPLICATE; %s of the log cannot be read",
				ticket.Plural(replaying.again, "ticket"), ticket.Plural(replaying.damaged, "line")),
			Do: "compare the orders before the last stop with the point of sale; if it happens again, replace the disk",
		})
	}
	return nil
}

func (r *replay) read() error {
	files, err := store.ReadCopies(r.q.copier.folder.Dir)
	if err != nil {
		return err
	}

	first, foreign, err := files.Follow(r.q.copier.record)
	if err != nil || first == 0 {
		return err
	}

	r.foreign = foreign
	err = r.q.viewPage(context.Background(), func(tx *bolt.Tx) {
		r.known = tx.Bucket(bucketNames[bucketJobs]).Sequence()
	})

	for number := first; number <= files.Newest() && err == nil; number++ {
		damaged := 0
		damaged, err = files.Read(number, r.line)
		r.damaged += damaged
	}
	return err
}

// line keeps a line for the next transaction, and commits when there are many.
func (r *replay) line(object []byte) error {
	var l logLine
	if json.Unmarshal(object, &l) != nil {
		r.damaged++
		return nil
	}

	switch {
	case l.Job != nil:
		r.became[l.Job.Job] = l.Job
		r.highest = max(r.highest, l.Job.Job)
		return nil
	case l.Made != nil:
		r.highest = max(r.highest, l.Made.Job)
	case l.Request != nil:
		for _, j := range l.Request.Jobs {
			r.highest = max(r.highest, j.Job)
		}
	default:
		return nil
	}

	r.lines = append(r.lines, l)
	if r.size += len(object); r.size > maxBatchBytes || len(r.lines) >= maxBatch {
		return r.flush()
	}
	return nil
}

// commit runs one transaction of the replay, unless one has failed.
func (r *replay) commit(apply func(*batch)) {
	if r.failed == nil {
		_, r.failed = r.q.commit([]*op{{kind: opOnce, apply: func(b *batch) error { apply(b); return nil }}})
	}
}

// flush does the lines that were kept.
func (r *replay) flush() error {
	if len(r.lines) > 0 {
		r.commit(func(b *batch) {
			for i := range r.lines {
				if r.lines[i].Request != nil {
					r.again += r.acceptAgain(b, &r.lines[i])
				} else {
					r.again += r.makeAgain(b, &r.lines[i])
				}
			}
		})
	}

	r.lines, r.size = nil, 0
	r.behind = r.again > 0
	return r.failed
}

// acceptAgain accepts a request of which the file has no job, and returns how many tickets came of it.
func (r *replay) acceptAgain(b *batch, l *logLine) int {
	for _, j := range l.Request.Jobs {
		known, err := ticketIn(b.tx, j.Job)
		if err == nil && known.Request == l.Request.ID && known.Venue == l.Request.Venue {
			return 0
		}
	}

	if last := len(l.Request.Jobs); last > 0 && r.removed(b, l, l.Request.Jobs[last-1].Job, b.q.o.DedupRetention) {
		return 0 // its key may be forgotten too
	}

	request, err := l.request()
	var a *acceptOp
	if err == nil {
		a, err = newAcceptOp(&request)
	}
	if err != nil { // a newer version has written it
		b.q.log.Error("a request of the log cannot be accepted again", "request", l.Request.ID, "err", err)
		return 0
	}

	a.again = l.Request
	if !r.foreign { // else its running time says nothing
		a.age = min(max(b.now-l.running()+a.age, 0), maxTimeOff)
	}
	b.fail(a.apply(b))

	for i := range min(len(a.jobs), len(l.Request.Jobs)) {
		r.numbers[l.Request.Jobs[i].Job] = a.jobs[i].Job
	}
	return a.receipt.Jobs
}

// removed reports whether the file had a job once, and has removed it with its history: a log can go back further than
// that, if its disk was full or read-only since. It is as old as after at least.
func (r *replay) removed(b *batch, l *logLine, job uint64, after time.Duration) bool {
	return !r.foreign && job <= r.known && b.now-l.running() >= after
}

// makeAgain makes a job that no request made, if the file does not have it.
func (r *replay) makeAgain(b *batch, l *logLine) int {
	made := l.Made
	if len(l.Tickets) != 1 || r.foreign || b.bucket(bucketState).Get(key64(made.Job)) != nil ||
		r.removed(b, l, made.Job, min(historyAtLeast, b.q.o.HistoryRetention)) {
		return 0
	}

	if _, err := ticket.Unmarshal(l.Tickets[0]); err != nil { // a newer version has written it
		b.q.log.Error("a job of the log cannot be made again", "job", made.Job, "err", err)
		return 0
	}

	state := made.As
	if from, ok := r.numbers[state.MadeFrom]; ok {
		state.MadeFrom = from
	}

	from, err := b.state(state.MadeFrom)
	if state.Req = from.Req; err != nil {
		state.Req = 0
	}

	state.Doubts = max(state.Doubts, 1)
	state.Enqueued = min(state.Enqueued, int64(b.now))
	b.numbers = []uint64{made.Job}
	job := b.enqueue(state, seal(l.Tickets[0]), state.FromDaemon)
	r.numbers[made.Job] = job

	b.books(state.Station).Enqueued++ // also if it was a copy or moved: they balance all the same
	return 1
}

// finish ends the jobs that had ended, and puts all that still wait in doubt if the file had lost anything.
func (r *replay) finish() {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(r.became)), maxBatch) {
		r.commit(func(b *batch) {
			for _, job := range part {
				r.behind = r.endAgain(b, r.became[job]) || r.behind
			}
		})
	}

	if r.highest > 0 {
		r.commit(func(b *batch) { b.raiseSequence(r.highest) })
	}

	if !r.behind || r.foreign {
		return
	}

	for _, station := range r.q.Stations() {
		for part := range slices.Chunk(r.q.openOf(station.Name), maxBatch) {
			r.commit(func(b *batch) { b.doubt(part) })
		}
	}
}

// endAgain gives a job the state that the log has of it, and returns whether the file had lost that. If the job
// which took its place may be missing, because a line is damaged or the log foreign, only a ticket that came out has
// ended.
func (r *replay) endAgain(b *batch, l *loggedJob) (lost bool) {
	job, again := r.numbers[l.Job]
	if !again {
		if job = l.Job; r.foreign {
			return false
		}
	}

	state, err := b.state(job)
	switch {
	case err != nil, state.Station != l.Station:
		return false
	case state.State == l.State:
		return state.State.Open() && l.Doubts > state.Doubts
	case l.State == ticket.Held && state.State == ticket.Pending:
		state.State, state.Why, state.Doubts = ticket.Held, l.Why, max(state.Doubts, l.Doubts)
		b.setState(job, state)
		return true
	case l.State.Open():
		return state.State.Open()
	case !state.State.Open() && state.State != ticket.Failed:
		return false
	case (r.foreign || r.damaged > 0) && !slices.Contains(ticket.Proofs(), l.State):
		return true
	}

	// The doubt of the base copy is over: the log says how the ticket ended.
	state.Doubts, state.PrintedBy, state.ReprintedAs = l.Doubts, l.PrintedBy, l.ReprintedAs
	b.finish(job, state, l.State, l.Why)
	return true
}

// doubt marks tickets that wait as in doubt.
func (b *batch) doubt(open []entry) {
	for _, e := range open {
		state, err := b.state(e.job)
		if err != nil || state.Doubts > 0 || !state.doubtIfOwed() {
			continue
		}

		b.setState(e.job, state)
	}
}
