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

// A 400 is a dinner nobody will ask for again, so the bodies refused with one are kept
// where IT can look at them: the newest MaxRejects, within maxRejectBytes.
const (
	MaxRejects     = 100
	maxRejectBytes = 16 << 20
	// maxRejectBody is how much of one body is kept. In JSON it grows by a third, and with its
	// message it must fit into a value of the store, or it would be lost with the process.
	maxRejectBody = kv.MaxValue / 2
)

// A Rejected body, as it is stored and as `ticketrail rejects` shows it.
type Rejected struct {
	ID uint64 `json:"id"`
	Reject
}

// Rejects keeps refused bodies. It writes them one after another, so that a flood of bad
// requests costs the kitchen neither time nor disk: what does not fit into a small buffer is not
// kept. A crash loses what is in that buffer. It is safe for concurrent use.
type Rejects struct {
	kv   kv.Store
	log  *slog.Logger
	in   chan Reject
	done chan struct{}

	mu    sync.Mutex // guards what follows
	kept  []Rejected // oldest first, bodies included: at most maxRejectBytes
	bytes int
	next  uint64
}

// OpenRejects reads what was kept. Close ends it.
func OpenRejects(store kv.Store, log *slog.Logger) (*Rejects, error) {
	r := &Rejects{kv: store, log: log, in: make(chan Reject, 16), done: make(chan struct{}), next: 1}
	err := store.All(func(key string, value []byte) bool {
		var one Rejected
		if json.Unmarshal(value, &one) == nil { // a damaged one is only a lost hint
			r.kept = append(r.kept, one)
			r.bytes += len(one.Body)
			r.next = max(r.next, one.ID+1)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("read refused bodies: %w", err)
	}
	go r.write()
	return r, nil
}

// Keep takes a body. It never blocks: a request waits for it.
func (r *Rejects) Keep(one Reject) {
	select {
	case r.in <- one:
	default:
	}
}

func (r *Rejects) write() {
	defer close(r.done)
	for one := range r.in {
		add, drop := r.admit(one)
		value, err := json.Marshal(add)
		if err == nil {
			err = r.put(add.ID, value, drop)
		}
		if err != nil {
			r.log.Warn("keep refused body", "err", err)
		}
	}
}

// admit takes one into memory and returns it with its number, and the numbers that had to go.
func (r *Rejects) admit(one Reject) (add Rejected, drop []uint64) {
	if len(one.Body) > maxRejectBody {
		one.Body, one.Truncated = bytes.Clone(one.Body[:maxRejectBody]), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	add = Rejected{ID: r.next, Reject: one}
	r.next++
	r.kept = append(r.kept, add)
	r.bytes += len(add.Body)
	for len(r.kept) > MaxRejects || r.bytes > maxRejectBytes {
		drop = append(drop, r.kept[0].ID)
		r.bytes -= len(r.kept[0].Body)
		r.kept = r.kept[1:]
	}
	return add, drop
}

func (r *Rejects) put(id uint64, value []byte, drop []uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, old := range drop {
		if err := r.kv.Delete(ctx, rejectKey(old)); err != nil {
			return err
		}
	}
	return r.kv.Put(ctx, rejectKey(id), value)
}

// rejectKey sorts as the numbers do.
func rejectKey(id uint64) string { return fmt.Sprintf("%020d", id) }

// List returns the kept bodies, newest first.
func (r *Rejects) List() []Rejected {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.kept)
	slices.Reverse(out)
	return out
}

// Close writes what is waiting. Nothing may call Keep any more.
func (r *Rejects) Close(ctx context.Context) error {
	close(r.in)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
