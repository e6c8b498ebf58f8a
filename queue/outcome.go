package queue

import (
	"context"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// Outcomes are told to other systems, which may be away for a day. They are written in the transaction that changes
// the job, so no outcome is lost and none is false, and they are forgotten when they were taken.

// outcomesName is the bucket below bucketKV: sequence → storedOutcome. Stored, so it never changes.
const outcomesName = "outcomes"

// outcomesAtOnce is how many outcomes one transaction removes or marks: they are small.
const outcomesAtOnce = 100

// An Outcome is an event of a job, or of an order, that other systems are told: a job was accepted, is late, is held or
// has ended; an order is ready.
type Outcome struct {
	Seq     uint64    `json:"-"` // ascending, without gaps but for outcomes that were too old: see Queue.KeepOutcomes
	Job     uint64    `json:"j"`
	What    string    `json:"w"` // Accepted, Late, held, or a final [ticket.State]
	Station string    `json:"s"`
	Reason  string    `json:"why,omitempty"`
	At      time.Time `json:"-"` // wall clock, milliseconds
	// Attempts and Doubt are the job's at that time.
	Attempts int  `json:"a,omitempty"`
	Doubt    bool `json:"d,omitempty"`
	// Order and Jobs belong to an order, see [Queue.NoteOrder]; Job is the first of them.
	Order string   `json:"o,omitempty"`
	Jobs  []uint64 `json:"js,omitempty"`
}

// The values of Outcome.What, beside the states of tickets.
const (
	Accepted = "accepted" // the job waits in the queue of its station
	Late     = "late"     // it has waited for longer than it should
	// Of an order.
	Ready    = "ready"
	NotReady = "not_ready" // it was Ready
)

// storedOutcome is an Outcome in the file. A damaged one is passed over.
type storedOutcome struct {
	Outcome
	Wall    int64         `json:"at"` // ms
	Running time.Duration `json:"t"`
}

// KeepOutcomes says whether outcomes are kept for [Queue.Outcomes] from now on: until they are forgotten,
// and for as long as the history at most.
func (q *Queue) KeepOutcomes(keep bool) { q.keepOutcomes.Store(keep) }

// Outcomes returns the oldest outcomes, at most limit. One that is damaged has no What.
func (q *Queue) Outcomes(limit int) (out []Outcome, err error) {
	err = q.viewKV(outcomesName, func(outcomes *bolt.Bucket) error {
		cursor := outcomes.Cursor()
		for key, raw := cursor.First(); key != nil && len(out) < limit; key, raw = cursor.Next() {
			var stored storedOutcome
			if unsealJSON(raw, &stored) != nil {
				stored = storedOutcome{}
			}
			stored.Seq, stored.At = binary.BigEndian.Uint64(key), time.UnixMilli(stored.Wall).UTC()
			out = append(out, stored.Outcome)
		}
		return nil
	})

	return out, wrap(err, "read outcomes")
}

// NoteOrder stores an outcome of an order and changes the map kv in one transaction: a crash leaves both or none. A nil
// value deletes its key. It returns the errors of [KV.Put].
func (q *Queue) NoteOrder(ctx context.Context, kv *KV, values map[string][]byte, o Outcome) error {
	return wrap(q.do(ctx, opOnce, smallOp, func(b *batch) error {
		if err := b.putAll(kv, values); err != nil {
			return err
		}
		b.storeOutcome(o)
		return nil
	}), "note that an order is %s", o.What)
}

// OutcomesKept says how many outcomes there are.
func (q *Queue) OutcomesKept() (n uint64, err error) {
	err = q.viewKV(outcomesName, func(outcomes *bolt.Bucket) error {
		cursor := outcomes.Cursor()
		if first, _ := cursor.First(); first != nil {
			last, _ := cursor.Last()
			n = binary.BigEndian.Uint64(last) - binary.BigEndian.Uint64(first) + 1
		}
		return nil
	})
	return n, err
}

// ForgetOutcomes removes those up to a sequence, because they were taken. A crash before its commit: they are told
// again.
func (q *Queue) ForgetOutcomes(ctx context.Context, through uint64) error {
	return wrap(q.do(ctx, opOnce, smallOp, func(b *batch) error {
		b.dropOutcomes(func(seq uint64, _ []byte) bool { return seq <= through })
		return nil
	}), "forget outcomes")
}

// dropOutcomes removes outcomes from the oldest on for as long as which says so, but few in one transaction.
func (b *batch) dropOutcomes(which func(seq uint64, raw []byte) bool) (dropped int) {
	outcomes := b.bucket(bucketKV).Bucket([]byte(outcomesName))
	if outcomes == nil {
		return 0
	}

	cursor := outcomes.Cursor()
	for key, raw := cursor.First(); key != nil && dropped < outcomesAtOnce; key, raw = cursor.First() {
		if !which(binary.BigEndian.Uint64(key), raw) {
			break
		}
		b.del(outcomes, key)
		dropped++
	}
	return dropped
}

// pruneOutcomes removes those that no receiver has taken for as long as the history goes back, and returns how many. If
// it is outcomesAtOnce, more may be left.
func (b *batch) pruneOutcomes(retention time.Duration) int {
	return b.dropOutcomes(func(_ uint64, raw []byte) bool {
		var s storedOutcome
		return unsealJSON(raw, &s) != nil || b.now-s.Running > retention
	})
}

// MarkLate stores the outcome [Late] for each pending job that is older, once.
func (q *Queue) MarkLate(ctx context.Context, older time.Duration) error {
	if len(q.late(older)) == 0 {
		return nil
	}

	return wrap(q.do(ctx, opOnce, smallOp, func(b *batch) error {
		for _, e := range q.late(older) {
			state, err := b.state(e.job)
			if err != nil || state.State != ticket.Pending { // damaged: the station finds that
				continue
			}

			state.Late = true
			b.setState(e.job, state)
			b.storeJobOutcome(e.job, state, Late)
		}
		return nil
	}), "mark late jobs")
}

// late returns pending jobs that are older and not marked, a few of them.
func (q *Queue) late(older time.Duration) (out []entry) {
	before := int64(q.clock.running() - older)

	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lanes {
		for e := range l.notHeld() {
			if !e.late && !e.fromDaemon && e.enqueued < before && len(out) < outcomesAtOnce {
				out = append(out, e)
			}
		}
	}
	return out
}
