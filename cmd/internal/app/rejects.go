package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ticketrail/receiver"
)

// A 400 is a dinner nobody will ask for again, so the bodies refused with one are kept
// where IT can look at them: the newest maxRejects, within maxRejectBytes.
const (
	maxRejects     = 100
	maxRejectBytes = 16 << 20
)

// A shelf keeps small records through a restart.
type shelf interface {
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	All(func(key string, value []byte) bool) error
}

// A Rejected body, as it is stored and as `ticketrail rejects` shows it.
type Rejected struct {
	ID uint64 `json:"id"`
	receiver.Reject
}

// rejects writes refused bodies behind the answer's back: a flood of bad requests costs
// the kitchen neither time nor disk. What does not fit into the small buffer is counted, not kept.
type rejects struct {
	shelf shelf
	log   *slog.Logger
	in    chan receiver.Reject
	done  chan struct{}

	mu      sync.Mutex // guards what follows
	kept    []Rejected // oldest first, bodies included: at most maxRejectBytes
	bytes   int
	next    uint64
	dropped uint64
}

func openRejects(s shelf, log *slog.Logger) (*rejects, error) {
	r := &rejects{shelf: s, log: log, in: make(chan receiver.Reject, 16), done: make(chan struct{}), next: 1}
	err := s.All(func(key string, value []byte) bool {
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

// keep never blocks: it is called before the refusal is answered.
func (r *rejects) keep(one receiver.Reject) {
	select {
	case r.in <- one:
	default:
		r.mu.Lock()
		r.dropped++
		r.mu.Unlock()
	}
}

func (r *rejects) write() {
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
func (r *rejects) admit(one receiver.Reject) (add Rejected, drop []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add = Rejected{ID: r.next, Reject: one}
	r.next++
	r.kept = append(r.kept, add)
	r.bytes += len(add.Body)
	for len(r.kept) > 1 && (len(r.kept) > maxRejects || r.bytes > maxRejectBytes) {
		drop = append(drop, r.kept[0].ID)
		r.bytes -= len(r.kept[0].Body)
		r.kept = r.kept[1:]
	}
	return add, drop
}

func (r *rejects) put(id uint64, value []byte, drop []uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, old := range drop {
		if err := r.shelf.Delete(ctx, rejectKey(old)); err != nil {
			return err
		}
	}
	return r.shelf.Put(ctx, rejectKey(id), value)
}

// rejectKey sorts as the numbers do.
func rejectKey(id uint64) string { return fmt.Sprintf("%020d", id) }

// list returns the kept bodies, newest first.
func (r *rejects) list() []Rejected {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Rejected, 0, len(r.kept))
	for i := len(r.kept) - 1; i >= 0; i-- {
		out = append(out, r.kept[i])
	}
	return out
}

// stop writes what is waiting. Nothing may call keep any more.
func (r *rejects) stop(ctx context.Context) error {
	close(r.in)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
