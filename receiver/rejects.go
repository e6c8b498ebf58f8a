package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/queue/kv"
)

// After a 4xx the service does not try again and the order is lost, so the refused bodies are kept, for a
// person who sees why and prints them. Of MaxRejects and maxRejectBytes each venue has a share, and each
// reason of it: see excess. Callers that were turned away without a body have a limit of their own, so that
// strangers never push out an order.
const (
	MaxRejects     = 1000
	maxTurnedAway  = 50
	maxRejectBytes = 64 << 20
	maxRejectBody  = 8 << 20 // of one body; the largest receiver.max_body
	// maxWaiting bounds the memory of bodies that wait to be stored.
	maxWaiting = 2 * maxRejectBody
	// A body is stored in pieces, so that an order does not wait long for the disk.
	rejectPiece = 1 << 20
)

// A StoredReject is a refused request as it is stored, and as `ticketrail rejects` shows it.
type StoredReject struct {
	ID uint64 `json:"id"`
	// Size is how many bytes of the body are stored. The body of an entry of an earlier version is in Body.
	Size int `json:"size,omitempty"`
	Reject
}

// Rejects keeps refused requests. One goroutine writes them one after another, and bodies that do not fit
// into its small buffer are dropped, so that a flood of bad requests does not slow the queue's commits.
// A crash loses what is in that buffer. Bodies are on the disk only. It is safe for concurrent use.
//
// The point of sale has shown a person that the order was refused, so losing one here is acceptable, and
// nothing here may delay an order. Each loss is counted.
type Rejects struct {
	kv      kv.Store // entries, by number
	bodies  kv.Store // pieces of bodies, by number and place
	log     *slog.Logger
	in      chan keeping
	waiting atomic.Int64 // bytes of bodies in the channel
	done    chan struct{}
	dropped map[string]prometheus.Counter // read-only once made

	mu    sync.Mutex     // guards the fields below
	kept  []StoredReject // oldest first, without bodies
	bytes int
	next  uint64 // the ID of the next one
}

// Why a refused body is not kept, or not any more.
const (
	droppedBusy    = "busy"    // too many came at once
	droppedShare   = "share"   // newer ones of its venue and reason have its place
	droppedStorage = "storage" // the disk did not take it
)

// OpenRejects reads what is kept and starts the goroutine that writes; Close ends it. reg may be nil.
//
// An error of the store is returned, because the same store must be able to keep orders.
func OpenRejects(store, bodies kv.Store, log *slog.Logger, reg prometheus.Registerer) (*Rejects, error) {
	r := &Rejects{kv: store, bodies: bodies, log: log, in: make(chan keeping, 64), done: make(chan struct{}), next: 1,
		dropped: map[string]prometheus.Counter{}}
	counters := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_receiver_rejects_dropped_total",
		Help: "Bodies of refused requests that were not kept, or not any more, by reason.",
	}, []string{"reason"})
	for _, reason := range []string{droppedBusy, droppedShare, droppedStorage} {
		r.dropped[reason] = counters.WithLabelValues(reason)
	}
	err := store.All(func(key string, value []byte) bool {
		var one StoredReject
		if json.Unmarshal(value, &one) == nil { // a damaged one is skipped: it is no order
			one.Size = max(one.Size, len(one.Body))
			one.Body = nil
			r.kept = append(r.kept, one)
			r.bytes += one.Size
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

func (one *Reject) limit() {
	if len(one.Body) > maxRejectBody {
		one.Body, one.Truncated = one.Body[:maxRejectBody], true
	}
}

// Keep keeps a body, unless the buffer is full. It never blocks: it is called while a request is served.
func (r *Rejects) Keep(one Reject) {
	one.limit()
	size := int64(len(one.Body))
	if r.waiting.Add(size) <= maxWaiting {
		select {
		case r.in <- keeping{one, nil}:
			return
		default:
		}
	}
	r.waiting.Add(-size)
	r.drop(one.Body != nil, droppedBusy)
}

// drop counts a body.
func (r *Rejects) drop(body bool, why string) {
	if body {
		r.dropped[why].Inc()
	}
}

// write is the goroutine that stores. What cannot be stored is in the list until the end of the program,
// without its body.
func (r *Rejects) write() {
	defer close(r.done)
	for next := range r.in {
		err := r.keep(next)
		switch {
		case next.stored != nil:
			next.stored <- err
		case err != nil:
			r.log.Warn("refused body could not be kept", "err", err)
			r.drop(next.one.Body != nil, droppedStorage)
		}
		r.waiting.Add(-int64(len(next.one.Body)))
	}
}

// add returns the entry with its number, and those that were dropped for it.
func (r *Rejects) add(one Reject) (added StoredReject, dropped []StoredReject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	added = StoredReject{ID: r.next, Size: len(one.Body), Reject: one}
	added.Body = nil
	if i := slices.IndexFunc(r.kept, added.repeats); i >= 0 {
		added.ID = r.kept[i].ID
		added.Count += r.kept[i].Count
		r.kept = slices.Delete(r.kept, i, i+1)
	} else {
		r.next++
	}
	r.kept = append(r.kept, added)
	r.bytes += added.Size
	for i := r.excess(); i >= 0; i = r.excess() {
		dropped = append(dropped, r.kept[i])
		r.bytes -= r.kept[i].Size
		r.kept = slices.Delete(r.kept, i, i+1)
	}
	return added, dropped
}

// turnedAway says whether it is a caller, and no body.
func (s StoredReject) turnedAway() bool { return s.Count > 0 }

// repeats reports whether s is old again. A service that is configured wrongly is turned away with each order:
// that is one line in the list, which says how often.
func (s StoredReject) repeats(old StoredReject) bool {
	return s.turnedAway() && old.turnedAway() && s.Code == old.Code && s.Venue == old.Venue && s.Address == old.Address
}

// excess is the index of what must be dropped next; -1: all may stay. Of the callers it is the oldest one of
// the network that has most of them; of the bodies, the oldest one of the venue and, of that, of the reason
// that have the most. So a flood from one place or for one reason drops only what it brought.
func (r *Rejects) excess() int {
	callers, bodies := 0, 0
	for _, one := range r.kept {
		if one.turnedAway() {
			callers++
		} else {
			bodies++
		}
	}
	body := func(one StoredReject) bool { return !one.turnedAway() }
	switch {
	case callers > maxTurnedAway:
		i, _ := r.largest(func(one StoredReject) string { return network(one.Address) },
			func(StoredReject) int { return 1 }, StoredReject.turnedAway)
		return i
	case bodies > MaxRejects:
		return r.ofLargestShare(func(StoredReject) int { return 1 }, body)
	case r.bytes > maxRejectBytes:
		return r.ofLargestShare(func(one StoredReject) int { return one.Size }, body)
	}
	return -1
}

// ofLargestShare is the oldest entry of the largest reason of the largest venue.
func (r *Rejects) ofLargestShare(weight func(StoredReject) int, of func(StoredReject) bool) int {
	_, venue := r.largest(func(one StoredReject) string { return one.Venue }, weight, of)
	i, _ := r.largest(func(one StoredReject) string { return one.Code }, weight,
		func(one StoredReject) bool { return of(one) && one.Venue == venue })
	return i
}

// largest finds the group with the largest sum of weights, of the entries for which of is true, and its oldest
// entry. Of equal ones it is the one with the newest entry: it has just grown.
func (r *Rejects) largest(
	by func(StoredReject) string, weight func(StoredReject) int, of func(StoredReject) bool,
) (oldest int, group string) {
	sums, first := map[string]int{}, map[string]int{}
	for i, one := range r.kept {
		if !of(one) {
			continue
		}
		g := by(one)
		if _, ok := first[g]; !ok {
			first[g] = i
		}
		sums[g] += weight(one)
	}
	oldest, found := -1, false
	for _, one := range slices.Backward(r.kept) {
		if g := by(one); of(one) && (!found || sums[g] > sums[group]) {
			oldest, group, found = first[g], g, true
		}
	}
	return oldest, group
}

// put stores an entry after it has deleted those that were dropped. A body is stored before its entry, and
// deleted before it, so that no body stays without one; only a crash between the two leaves the pieces of one
// body, until the next entry gets its number.
func (r *Rejects) put(one StoredReject, body []byte, dropped []StoredReject) error {
	// A disk that hangs must not keep Close waiting for ever.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, old := range dropped {
		r.drop(!old.turnedAway(), droppedShare)
		for at := 0; at < old.Size; at += rejectPiece {
			if err := r.bodies.Delete(ctx, pieceKey(old.ID, at)); err != nil {
				return err
			}
		}
		if err := r.kv.Delete(ctx, rejectKey(old.ID)); err != nil {
			return err
		}
	}
	for at := 0; at < len(body); at += rejectPiece {
		if err := r.bodies.Put(ctx, pieceKey(one.ID, at), body[at:min(at+rejectPiece, len(body))]); err != nil {
			return err
		}
	}
	return r.putEntry(ctx, one)
}

func (r *Rejects) putEntry(ctx context.Context, one StoredReject) error {
	value, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return r.kv.Put(ctx, rejectKey(one.ID), value)
}

// rejectKey has leading zeros, so that keys sort like their numbers.
func rejectKey(id uint64) string { return fmt.Sprintf("%020d", id) }

func pieceKey(id uint64, at int) string { return fmt.Sprintf("%020d.%03d", id, at/rejectPiece) }

// List returns what is kept, newest first, without the bodies.
func (r *Rejects) List() []StoredReject {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.kept)
	slices.Reverse(out)
	return out
}

// ErrNoReject says that there is no entry of that number.
var ErrNoReject = errors.New("not found")

// Get reads an entry with its body. The error wraps ErrNoReject, or is one of the store; a body that cannot
// be read is an error.
func (r *Rejects) Get(id uint64) (StoredReject, error) {
	r.mu.Lock()
	i := slices.IndexFunc(r.kept, func(one StoredReject) bool { return one.ID == id })
	if i < 0 {
		r.mu.Unlock()
		return StoredReject{}, fmt.Errorf("refused request %d: %w: the last %d are kept", id, ErrNoReject, MaxRejects)
	}
	one := r.kept[i]
	r.mu.Unlock()
	var stored StoredReject
	if value, ok, err := r.kv.Get(rejectKey(id)); err != nil {
		return StoredReject{}, err
	} else if ok && json.Unmarshal(value, &stored) == nil && stored.Body != nil {
		one.Body = stored.Body
		return one, nil
	}
	for at := 0; at < one.Size; at += rejectPiece {
		piece, ok, err := r.bodies.Get(pieceKey(id, at))
		if err != nil {
			return StoredReject{}, err
		}
		if !ok {
			return StoredReject{}, fmt.Errorf("refused request %d: its body could not be stored", id)
		}
		one.Body = append(one.Body, piece...)
	}
	return one, nil
}

// MarkPrinted stores that an entry was printed.
func (r *Rejects) MarkPrinted(ctx context.Context, id uint64, at time.Time) error {
	one, err := r.Get(id)
	if err != nil {
		return err
	}
	r.mu.Lock()
	if i := slices.IndexFunc(r.kept, func(k StoredReject) bool { return k.ID == id }); i >= 0 {
		r.kept[i].Printed = at
	}
	r.mu.Unlock()
	one.Printed = at
	if _, ok, err := r.bodies.Get(pieceKey(id, 0)); err == nil && ok {
		one.Body = nil
	}
	return r.putEntry(ctx, one)
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
