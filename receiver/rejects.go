package receiver

import (
	"context"
	"encoding/json"
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
// person who sees why and prints them: the last MaxRejects or maxRejectBytes, see excess. Callers that were turned away
// without a body have a limit of their own, so that strangers never push out an order.
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

// A StoredReject is a [Reject] as it is stored, and as `ticketrail rejects` shows it.
type StoredReject struct {
	ID   uint64 `json:"id"`
	Size int    `json:"size,omitempty"` // bytes of the body
	Reject
}

// Rejects keeps refused requests. One goroutine writes them one after another, and bodies that do not fit
// into its small buffer are dropped, so that a flood of bad requests does not slow the queue's commits.
// A crash loses the content of that buffer. Bodies are on the disk only. It is safe for concurrent use.
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
	next    uint64                        // the ID of the next one; of the goroutine

	mu   sync.Mutex     // guards kept
	kept []StoredReject // oldest first, without bodies
}

// keeping is a [Reject] on its way to the disk, and the channel that is told; nil: none.
type keeping struct {
	one    Reject
	stored chan<- error
}

// Why a refused body is not kept, or not any more.
const (
	droppedBusy    = "busy"    // too many came at once
	droppedOld     = "old"     // newer ones have its place
	droppedStorage = "storage" // the disk did not take it
)

// OpenRejects reads the kept requests and starts the goroutine that writes; Close ends it. reg may be nil.
//
// An error of the store is returned, because the same store must be able to keep orders.
func OpenRejects(store, bodies kv.Store, log *slog.Logger, reg prometheus.Registerer) (*Rejects, error) {
	rejects := &Rejects{kv: store, bodies: bodies, log: log, in: make(chan keeping, 64), done: make(chan struct{}),
		next: 1, dropped: map[string]prometheus.Counter{}}
	counters := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_receiver_rejects_dropped_total",
		Help: "Bodies of refused requests that were not kept, or not any more, by reason.",
	}, []string{"reason"})
	for _, reason := range []string{droppedBusy, droppedOld, droppedStorage} {
		rejects.dropped[reason] = counters.WithLabelValues(reason)
	}

	err := store.All(func(key string, value []byte) bool {
		var one StoredReject
		if json.Unmarshal(value, &one) == nil { // a damaged one is skipped: it is no order
			rejects.kept = append(rejects.kept, one)
			rejects.next = max(rejects.next, one.ID+1)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("read refused bodies: %w", err)
	}

	// The keys say who came first; a caller that was turned away again keeps its key.
	slices.SortStableFunc(rejects.kept, func(a, b StoredReject) int { return a.Time.Compare(b.Time) })
	go rejects.write()
	return rejects, nil
}

// Keep keeps a body, unless the buffer is full. It never blocks: it is called while a request is served.
func (r *Rejects) Keep(one Reject) {
	if len(one.Body) > maxRejectBody {
		one.Body, one.Truncated = one.Body[:maxRejectBody], true
	}

	size := int64(len(one.Body))
	if r.waiting.Add(size) <= maxWaiting {
		select {
		case r.in <- keeping{one, nil}:
			return
		default:
		}
	}

	r.waiting.Add(-size)
	r.drop(one, droppedBusy)
}

// Store keeps a body and returns nil when it is on the disk. After an error a retry is safe: a body that is kept
// already is not kept twice. It is for a request that is not sent again and of which no person has been told: a relay
// takes no body that is larger than may be.
func (r *Rejects) Store(ctx context.Context, one Reject) error {
	stored := make(chan error, 1)
	r.waiting.Add(int64(len(one.Body)))
	select {
	case r.in <- keeping{one, stored}:
	case <-ctx.Done():
		r.waiting.Add(-int64(len(one.Body)))
		return context.Cause(ctx)
	}

	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drop counts a body.
func (r *Rejects) drop(one Reject, why string) {
	if !one.turnedAway() {
		r.dropped[why].Inc()
	}
}

// write is the goroutine that stores.
func (r *Rejects) write() {
	defer close(r.done)
	for next := range r.in {
		err := r.keep(next.one, next.stored != nil)
		switch {
		case next.stored != nil:
			next.stored <- err
		case err != nil:
			r.log.Warn("refused body could not be kept", "err", err)
			r.drop(next.one, droppedStorage)
		}
		r.waiting.Add(-int64(len(next.one.Body)))
	}
}

// keep stores a request, and then lists it: a listed one can be read. mayBeKept says that it may be a retry.
func (r *Rejects) keep(one Reject, mayBeKept bool) error {
	added := StoredReject{ID: r.next, Size: len(one.Body), Reject: one}
	added.Body = nil
	same := func(k StoredReject) bool { // no two have the same time, in nanoseconds
		return k.Time.Equal(one.Time) && k.Venue == one.Venue && k.Code == one.Code && k.Size == added.Size
	}

	r.mu.Lock()
	list := slices.Clone(r.kept)
	r.mu.Unlock()
	if mayBeKept && slices.ContainsFunc(list, same) {
		return nil
	}

	if i := slices.IndexFunc(list, added.repeats); i >= 0 {
		added.ID = list[i].ID
		added.Count += list[i].Count
		list = slices.Delete(list, i, i+1)
	}

	list = append(list, added)
	isGone := map[uint64]bool{added.ID: true}
	var dropped []StoredReject
	for i := excess(list); i >= 0; i = excess(list) {
		if list[i].ID == added.ID {
			r.drop(one, droppedOld) // those that are kept are worth more
			return nil
		}
		dropped = append(dropped, list[i])
		isGone[list[i].ID] = true
		list = slices.Delete(list, i, i+1)
	}

	// After an error the number is used again, so pieces of a body that did not fit do not stay on the disk.
	if err := r.put(added, one.Body, dropped); err != nil {
		return err
	}

	r.next = max(r.next, added.ID+1)
	for _, old := range dropped {
		r.drop(old.Reject, droppedOld)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(slices.DeleteFunc(r.kept, func(k StoredReject) bool { return isGone[k.ID] }), added)
	return nil
}

// turnedAway says whether it is a caller, and no body.
func (one *Reject) turnedAway() bool { return one.Count > 0 }

// repeats reports whether s is old again. A service that is configured wrongly is turned away with each order:
// that is one line in the list, which says how often.
func (s StoredReject) repeats(old StoredReject) bool {
	return s.turnedAway() && old.turnedAway() && s.Code == old.Code && s.Venue == old.Venue && s.Address == old.Address
}

// excess is the index of the entry that must be dropped next; -1: all may stay. Of the callers it is the oldest one of
// the network that has most of them. Of the bodies it is the oldest one, but those with a secret go last; and if
// they take too much room, the largest one goes first: an order is small.
func excess(list []StoredReject) int {
	networks, callers, bytes := map[string]int{}, 0, 0
	for _, one := range list {
		if bytes += one.Size; one.turnedAway() {
			networks[network(one.Address)]++
			callers++
		}
	}

	isTooLarge := bytes > maxRejectBytes
	if callers <= maxTurnedAway && len(list)-callers <= MaxRejects && !isTooLarge {
		return -1
	}

	goesBefore := func(a, b StoredReject) bool {
		switch {
		case callers > maxTurnedAway:
			return networks[network(a.Address)] > networks[network(b.Address)]
		case a.Secret != b.Secret:
			return b.Secret
		}
		return isTooLarge && a.Size > b.Size
	}

	first := -1
	for i, one := range list {
		if one.Secret && i == len(list)-1 {
			break // a relay has it until it is kept
		}
		if one.turnedAway() == (callers > maxTurnedAway) && (first < 0 || goesBefore(one, list[first])) {
			first = i
		}
	}
	return first
}

// List returns the kept requests, newest first, without the bodies.
func (r *Rejects) List() []StoredReject {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.kept)
	slices.Reverse(out)
	return out
}

// Close writes the content of the buffer and stops. Keep must not be called any more.
func (r *Rejects) Close(ctx context.Context) error {
	close(r.in)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// put stores an entry after it has deleted those that were dropped. A body is stored before its entry, and
// deleted before it, so that no body stays without one; only a crash between the two leaves the pieces of one
// body, until the next entry gets its number.
func (r *Rejects) put(one StoredReject, body []byte, dropped []StoredReject) error {
	// A disk that hangs must not keep Close waiting for ever.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	for _, old := range dropped {
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
