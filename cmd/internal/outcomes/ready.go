package outcomes

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ticketrail/printer/kds/board"
	"ticketrail/queue"
)

// Whether an order is ready follows from the cards of the screens and from the queue, and is not stored. So the orders
// are compared with marks: an order that was told to be ready has one, under the station and its first job. The mark
// and the event are stored in one transaction.
//
// A crash before it, also right after a cook's tap was stored: the order is ready and has no mark, so it is told after
// the start. A crash after it: the order has a mark and is not told again.

const (
	lookReady = time.Second    // between two comparisons
	markFor   = 48 * time.Hour // for how long a mark stays: as long as screens keep cards
)

// markKey is the storage key of a mark.
func markKey(station string, job uint64) string { return station + "/" + strconv.FormatUint(job, 10) }

// noteReady stores an event for each order that has become ready, or is not ready any more, since the last comparison.
// After an error the latest event may be stored or not, so all marks are read again.
func (t *Teller) noteReady(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			t.marks = nil
		}
	}()

	if t.marks == nil || time.Since(t.readAt) > time.Hour { // the hour: so that old marks are deleted
		if err := t.readMarks(ctx); err != nil {
			return err
		}
	}

	for station, orders := range t.o.Orders() {
		at := orders.At()
		if t.compared[station] == at {
			continue
		}
		now := orders.Snapshot()
		for _, o := range slices.Concat(now.Recall, now.Orders) {
			if err := t.compare(ctx, station, o); err != nil {
				return err
			}
		}
		t.compared[station] = at
	}

	return nil
}

// readMarks reads the marks, and deletes old ones.
func (t *Teller) readMarks(ctx context.Context) error {
	marks, old := map[string]bool{}, []string(nil)
	err := t.kv.All(func(key string, value []byte) bool {
		ms, _ := strconv.ParseInt(string(value), 10, 64)
		if time.Since(time.UnixMilli(ms)) > markFor {
			old = append(old, key)
		} else {
			marks[key] = true
		}
		return true
	})

	for _, key := range old {
		if err == nil {
			err = t.kv.Delete(ctx, key)
		}
	}
	if err != nil {
		return fmt.Errorf("read which orders are ready: %w", err)
	}

	t.marks, t.compared, t.readAt = marks, map[string]string{}, time.Now()
	return nil
}

// compare stores an event if an order is ready and has no mark, or has one and is not ready. An order that was sent
// out, or came out elsewhere, is neither; nor is one whose parts are not known yet. Another order may have joined one
// that has a mark: one is enough.
func (t *Teller) compare(ctx context.Context, station string, o *board.Order) error {
	jobs, changes := o.Jobs(), map[string][]byte{}
	for _, job := range slices.Concat(jobs, o.Replaced()) {
		if key := markKey(station, job); t.marks[key] {
			changes[key] = nil
		}
	}

	if o.Ready == (len(changes) > 0) || !o.Ready && (o.State != board.Open || o.Unknown()) {
		return nil
	}

	what := queue.NotReady
	if o.Ready {
		what = queue.Ready
		changes[markKey(station, jobs[0])] = strconv.AppendInt(nil, time.Now().UnixMilli(), 10)
	}

	err := t.o.Queue.NoteOrder(ctx, t.kv, changes, queue.Outcome{Job: jobs[0], What: what, Station: station,
		Order: o.Group(), Jobs: jobs})
	if err != nil {
		return err
	}

	for key, value := range changes {
		if t.marks[key] = value != nil; value == nil {
			delete(t.marks, key)
		}
	}

	return nil
}
