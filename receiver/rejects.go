package receiver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ticketrail/queue/kv"
)

// After a 4xx the service does not try again and the order is lost, so the refused bodies are kept for
// the operator: the newest MaxRejects, and of those as many as fit into maxRejectBytes. Callers that were
// turned away have a limit of their own, so that strangers never push out an order.
const (
	MaxRejects    = 100
	maxTurnedAway = 50
	// The kept bodies are also held in memory, and the box is small.
	maxRejectBytes = 16 << 20
	// maxRejectBody is how much of one body is kept. Base64 makes it a third longer, and with its
	// message it must fit into a value of the store, or it would be lost with the process.
	maxRejectBody = kv.MaxValue / 2
)

// A StoredReject is a refused request as it is stored, and as `ticketrail rejects` shows it.
type StoredReject struct {
	ID uint64 `json:"id"`
	Reject
}

// Rejects keeps refused requests. One goroutine writes them one after another, and bodies that do not fit
// into its small buffer are dropped, so that a flood of bad requests does not slow the queue's commits.
// A crash loses what is in that buffer. It is safe for concurrent use.
//
// They cannot be printed: they are kept for the person who must tell the service's provider what was
// wrong with them. Losing one is acceptable, so nothing here may delay an order.
type Rejects struct {
	kv   kv.Store
	log  *slog.Logger
	in   chan Reject
	done chan struct{}

	mu    sync.Mutex     // guards the fields below
	kept  []StoredReject // oldest first, bodies included: at most maxRejectBytes
	bytes int
	next  uint64 // the ID of the next one
}

// OpenRejects reads the kept bodies and starts the goroutine that writes; Close ends it.
//
// An error of the store is returned, because the same store must be able to keep orders.
func OpenRejects(store kv.Store, log *slog.Logger) (*Rejects, error) {
	r := &Rejects{kv: store, log: log, in: make(chan Reject, 16), done: make(chan struct{}), next: 1}
	err := store.All(func(key string, value []byte) bool {
		var one StoredReject
		if json.Unmarshal(value, &one) == nil { // a damaged one is skipped: it is no order
			r.kept = append(r.kept, one)
			r.bytes += len(one.Body)
			r.next = max(r.next, one.ID+1)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("read refused bodies: %w", err)
	}
	// The keys say who came first; a caller that was turned away again keeps its key.
	slices.SortStableFunc(r.kept, func(a, b StoredReject) int { return a.Time.Compare(b.Time) })
	go r.write()
	return r, nil
}

// Keep keeps a body, unless the buffer is full. It never blocks: it is called while a request is served.
func (r *Rejects) Keep(one Reject) {
	select {
	case r.in <- one:
	default:
	}
}

// write is the goroutine that stores. A body is in memory, and so in the list, even if it cannot be
// stored: it is then lost only at the end of the program.
func (r *Rejects) write() {
	defer close(r.done)
	for one := range r.in {
		added, dropped := r.add(one)
		value, err := json.Marshal(added)
		if err == nil {
			err = r.put(added.ID, value, dropped)
		}
		if err != nil {
			r.log.Warn("refused body could not be kept", "err", err)
		}
	}
}

// add returns the body with its number, and the numbers of those that were dropped for it. A body
// that is cut is copied, so that the memory of the rest is freed.
func (r *Rejects) add(one Reject) (added StoredReject, dropped []uint64) {
	if len(one.Body) > maxRejectBody {
		one.Body, one.Truncated = bytes.Clone(one.Body[:maxRejectBody]), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	added = StoredReject{ID: r.next, Reject: one}
	if i := slices.IndexFunc(r.kept, added.repeats); i >= 0 {
		added.ID = r.kept[i].ID
		added.Count += r.kept[i].Count
		r.kept = slices.Delete(r.kept, i, i+1)
	} else {
		r.next++
	}
	r.kept = append(r.kept, added)
	r.bytes += len(added.Body)
	for i := r.excess(); i >= 0; i = r.excess() {
		dropped = append(dropped, r.kept[i].ID)
		r.bytes -= len(r.kept[i].Body)
		r.kept = slices.Delete(r.kept, i, i+1)
	}
	return added, dropped
}

// repeats reports whether s is old again. A service that is configured wrongly is turned away with each order:
// that is one line in the list, which says how often.
func (s StoredReject) repeats(old StoredReject) bool {
	return Code(s.Code).turnedAway() && s.Code == old.Code && s.Venue == old.Venue && s.Address == old.Address
}

// excess is the index of what must be dropped next; -1: all may stay. Of the callers it is the oldest one of
// the network that has most of them, so that a flood from one place drops only what it brought.
func (r *Rejects) excess() int {
	oldest := map[string]int{}
	callers := map[string]int{}
	orders, all, most := 0, 0, ""
	order := -1
	for i, one := range r.kept {
		if !Code(one.Code).turnedAway() {
			if orders++; order < 0 {
				order = i
			}
			continue
		}
		n := network(one.Address)
		if callers[n] == 0 {
			oldest[n] = i
		}
		all++
		if callers[n]++; all == 1 || callers[n] > callers[most] {
			most = n
		}
	}
	switch {
	case all > maxTurnedAway:
		return oldest[most]
	case orders > MaxRejects || r.bytes > maxRejectBytes:
		return order
	}
	return -1
}

// put stores a body after it has deleted those that were dropped. A crash in between leaves fewer bodies
// than possible, never more than MaxRejects.
func (r *Rejects) put(id uint64, value []byte, dropped []uint64) error {
	// A disk that hangs must not keep Close waiting for ever.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, old := range dropped {
		if err := r.kv.Delete(ctx, rejectKey(old)); err != nil {
			return err
		}
	}
	return r.kv.Put(ctx, rejectKey(id), value)
}

// rejectKey has leading zeros, so that keys sort like their numbers.
func rejectKey(id uint64) string { return fmt.Sprintf("%020d", id) }

// List returns the kept bodies, newest first.
func (r *Rejects) List() []StoredReject {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.kept)
	slices.Reverse(out)
	return out
}

// Close writes what is in the buffer and stops. Keep must not be called any more.
func (r *Rejects) Close(ctx context.Context) error {
	close(r.in)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
