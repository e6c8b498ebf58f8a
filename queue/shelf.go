package queue

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// A Shelf is a small durable map for another package, written through the committer.
type Shelf struct {
	q    *Queue
	name string
}

// largeValue is what a shelf may still be given when the disk is full: a board that shows
// tickets must go on, a cache of names need not.
const (
	largeValue = 64 << 10
	maxValue   = 4 << 20
)

// Shelf returns the shelf of that name. It exists as soon as something is put on it.
func (q *Queue) Shelf(name string) *Shelf { return &Shelf{q: q, name: name} }

// Put stores value under key; nil means that it would survive a power cut. A crash before that
// leaves what was there, one after it what was put. A key has 1 to 1024 bytes, a value at most
// 4 MiB. The error wraps ErrStorageFull, for a value of more than 64 KiB while the disk is
// full; ErrStorageFailed, of which the outcome is unknown; ErrClosed or ctx.Err().
func (s *Shelf) Put(ctx context.Context, key string, value []byte) error {
	if len(value) > maxValue {
		return s.failed("put", key, fmt.Errorf("%d bytes, at most %d are allowed", len(value), maxValue))
	}
	stored := seal(value) // now: when ctx ends first, value is the caller's again and this still waits
	return s.write(ctx, "put", key, len(stored), func(b *batch) error {
		if b.q.space.isFull.Load() && len(value) > largeValue {
			return ErrStorageFull
		}
		k, err := b.bucket(bucketShelves).CreateBucketIfNotExists([]byte(s.name))
		if err != nil {
			b.fail(err)
			return err
		}
		b.put(k, []byte(key), stored)
		return nil
	})
}

// Delete removes a key; that it is not there is no error. Its errors are those of Put.
func (s *Shelf) Delete(ctx context.Context, key string) error {
	return s.write(ctx, "delete", key, 0, func(b *batch) error {
		if k := b.bucket(bucketShelves).Bucket([]byte(s.name)); k != nil && k.Get([]byte(key)) != nil {
			b.del(k, []byte(key))
		}
		return nil
	})
}

func (s *Shelf) write(ctx context.Context, verb, key string, size int, apply func(*batch) error) error {
	err := checkName("shelf", s.name)
	if err == nil {
		err = checkName("key", key)
	}
	if err == nil {
		err = s.q.do(ctx, once, len(key)+size, apply)
	}
	if err != nil {
		return s.failed(verb, key, err)
	}
	return nil
}

func (s *Shelf) failed(verb, key string, err error) error {
	return fmt.Errorf("%s %.64q on shelf %.64s: %w", verb, key, s.name, err)
}

// Get returns what was put last. If that is damaged the error wraps ErrDamaged; putting it
// again cures that.
func (s *Shelf) Get(key string) (value []byte, ok bool, err error) {
	err = s.q.view(func(tx *bolt.Tx) error {
		k := tx.Bucket(bucketNames[bucketShelves]).Bucket([]byte(s.name))
		if k == nil {
			return nil
		}
		raw := k.Get([]byte(key))
		if raw == nil {
			return nil
		}
		v, err := unseal(raw)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		value, ok = append([]byte{}, v...), true
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("get %.64q from shelf %.64s: %w", key, s.name, err)
	}
	return value, ok, nil
}

// All calls f for every key in order until f returns false. f may use the shelf. A damaged
// value is left out and logged.
func (s *Shelf) All(f func(key string, value []byte) bool) error {
	var keys []string
	err := s.q.view(func(tx *bolt.Tx) error {
		k := tx.Bucket(bucketNames[bucketShelves]).Bucket([]byte(s.name))
		if k == nil {
			return nil
		}
		return k.ForEach(func(key, _ []byte) error { keys = append(keys, string(key)); return nil })
	})
	if err != nil {
		return fmt.Errorf("read shelf %.64s: %w", s.name, err)
	}
	for _, key := range keys { // one by one: all values together may be large
		value, ok, err := s.Get(key)
		switch {
		case errors.Is(err, ErrDamaged):
			s.q.log.Warn("value on a shelf is damaged; it is left out", "shelf", s.name, "key", key, "err", err)
		case err != nil:
			return err
		case ok && !f(key, value):
			return nil
		}
	}
	return nil
}
