package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

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

// ErrNoReject says that there is no entry of that number.
var ErrNoReject = errors.New("not found")

func (r *Rejects) index(id uint64) int {
	return slices.IndexFunc(r.kept, func(one StoredReject) bool { return one.ID == id })
}

// Get reads an entry with its body. The error wraps ErrNoReject, or is one of the store; a body that cannot
// be read is an error.
func (r *Rejects) Get(id uint64) (one StoredReject, err error) {
	r.mu.Lock()
	i := r.index(id)
	if i >= 0 {
		one = r.kept[i]
	}
	r.mu.Unlock()
	if i < 0 {
		return one, fmt.Errorf("refused request %d: %w: the last %d are kept", id, ErrNoReject, MaxRejects)
	}
	for at := 0; at < one.Size; at += rejectPiece {
		piece, ok, err := r.bodies.Get(pieceKey(id, at))
		if err != nil {
			return StoredReject{}, err
		}
		if !ok {
			return StoredReject{}, fmt.Errorf("refused request %d: its body is missing", id)
		}
		one.Body = append(one.Body, piece...)
	}
	return one, nil
}

// MarkPrinted stores that an entry was printed.
func (r *Rejects) MarkPrinted(ctx context.Context, id uint64, at time.Time) error {
	r.mu.Lock()
	i := r.index(id)
	if i < 0 {
		r.mu.Unlock()
		return fmt.Errorf("refused request %d: %w", id, ErrNoReject)
	}
	r.kept[i].Printed = at
	one := r.kept[i]
	r.mu.Unlock()
	return r.putEntry(ctx, one)
}
