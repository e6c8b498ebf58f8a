package receiver

import (
	"context"
	"slices"
)

// keeping is a body on its way to the disk, and who waits for that; nil: nobody.
type keeping struct {
	one    Reject
	stored chan<- error
}

// Store keeps a body and returns nil when it is on the disk. After an error it is not in the list, and a retry is
// safe: a body that is kept already is not kept twice. It is for what nobody sends again and no person has been told.
func (r *Rejects) Store(ctx context.Context, one Reject) error {
	one.limit()
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

// keep stores a body.
func (r *Rejects) keep(k keeping) error {
	if k.stored != nil && r.has(k.one) {
		return nil
	}
	added, dropped := r.add(k.one)
	err := r.put(added, k.one.Body, dropped)
	if err != nil && k.stored != nil {
		r.undo(added, dropped)
	}
	return err
}

// has reports whether a body is kept already: no two have the same time, in nanoseconds.
func (r *Rejects) has(one Reject) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.kept, func(k StoredReject) bool {
		return k.Time.Equal(one.Time) && k.Venue == one.Venue && k.Code == one.Code && k.Size == len(one.Body)
	})
}

// undo takes back what add has done. It frees the number too: pieces of a body that did not fit may be on the disk, and
// the next attempt writes over them.
func (r *Rejects) undo(added StoredReject, dropped []StoredReject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = slices.DeleteFunc(r.kept, func(k StoredReject) bool { return k.ID == added.ID })
	r.bytes -= added.Size
	if added.ID == r.next-1 {
		r.next = added.ID
	}
	for _, old := range dropped {
		if old.ID != added.ID {
			r.kept, r.bytes = append(r.kept, old), r.bytes+old.Size
		}
	}
	slices.SortStableFunc(r.kept, func(a, b StoredReject) int { return a.Time.Compare(b.Time) })
}
