package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/kv"
)

// Other packages keep their small durable state here (boards, pairings, printer capabilities,
// names), so that there is one file to back up, one place where a commit can fail, and one answer
// to a full disk.

// A KV is a small durable map for another package, written through the committer. It is a
// [kv.Store]; its errors wrap this package's.
type KV struct {
	q    *Queue
	name string
}

var _ kv.Store = (*KV)(nil)

// largeValue is the largest value, in bytes, that is still stored when the disk is full. A card on
// a screen is smaller and must be stored, or the kitchen stops; a cache of names can wait.
const largeValue = 64 << 10

// KV returns the map of that name. It exists as soon as a value is put.
func (q *Queue) KV(name string) *KV { return &KV{q: q, name: name} }

// Put implements [kv.Store]. The error wraps ErrStorageFull (a value of more than 64 KiB while the
// disk is full: it is not stored), ErrStorageFailed (the outcome is unknown), ErrClosed or ctx.Err().
func (s *KV) Put(ctx context.Context, key string, value []byte) error {
	if len(value) > kv.MaxValue {
		return s.wrap("put", key, fmt.Errorf("%d bytes, at most %d are allowed", len(value), kv.MaxValue))
	}

	// Copied now: when ctx ends, the caller may change value while the committer still needs it. Never nil, which
	// would delete.
	return s.write(ctx, "put", key, append([]byte{}, value...))
}

// Delete implements [kv.Store]. It returns the same errors as Put.
func (s *KV) Delete(ctx context.Context, key string) error { return s.write(ctx, "delete", key, nil) }

// write commits one change of the map. A crash before its commit leaves the old value; after it the
// new one is there.
func (s *KV) write(ctx context.Context, verb, key string, value []byte) error {
	err := cmp.Or(checkName("KV", s.name), checkName("key", key))
	if err == nil {
		err = s.q.do(ctx, opOnce, len(key)+len(value), func(b *batch) error {
			if b.q.space.IsFull.Load() && len(value) > largeValue {
				return ErrStorageFull
			}
			return b.putAll(s, map[string][]byte{key: value})
		})
	}
	return s.wrap(verb, key, err)
}

// putAll puts values into the map kv; a nil one deletes its key.
func (b *batch) putAll(kv *KV, values map[string][]byte) error {
	k, err := b.bucket(bucketKV).CreateBucketIfNotExists([]byte(kv.name))
	if err != nil {
		b.fail(err)
		return err
	}

	for key, value := range values {
		switch {
		case value != nil:
			b.put(k, []byte(key), seal(value))
		case k.Get([]byte(key)) != nil:
			b.del(k, []byte(key))
		}
	}
	return nil
}

// wrap names the operation, the key and the map.
func (s *KV) wrap(verb, key string, err error) error {
	return wrap(err, "%s %.64q in KV %.64s", verb, key, s.name)
}

// viewKV runs f with the records of a name below bucketKV, if there are any.
func (q *Queue) viewKV(name string, f func(values *bolt.Bucket) error) error {
	return q.view(func(tx *bolt.Tx) error {
		if values := tx.Bucket(bucketNames[bucketKV]).Bucket([]byte(name)); values != nil {
			return f(values)
		}
		return nil
	})
}

// Get implements [kv.Store]. If the value is damaged the error wraps ErrDamaged.
func (s *KV) Get(key string) (value []byte, ok bool, err error) {
	err = s.q.viewKV(s.name, func(values *bolt.Bucket) error {
		raw := values.Get([]byte(key))
		if raw == nil {
			return nil
		}

		opened, err := unseal(raw)
		if err != nil {
			return s.q.foundDamage("a value of "+s.name, err)
		}

		value, ok = append([]byte{}, opened...), true
		return nil
	})

	return value, ok, s.wrap("get", key, err)
}

// All implements [kv.Store]. f is called without a transaction, so it may take its time and may
// write.
func (s *KV) All(f func(key string, value []byte) bool) error {
	var keys []string
	err := s.q.viewKV(s.name, func(values *bolt.Bucket) error {
		return values.ForEach(func(key, _ []byte) error { keys = append(keys, string(key)); return nil })
	})

	if err != nil {
		return wrap(err, "read KV %.64s", s.name)
	}

	for _, key := range keys { // one by one: all values together may not fit into memory
		value, ok, err := s.Get(key)
		switch {
		case errors.Is(err, ErrDamaged):
			s.q.log.Warn("a stored value is damaged and left out", "kv", s.name, "key", key, "err", err)
		case err != nil:
			return err
		case ok && !f(key, value):
			return nil
		}
	}
	return nil
}
