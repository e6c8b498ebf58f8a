// Package kv has the one interface for small durable maps: the cards of a screen, which browsers are
// paired, the names of employees, the capability of a printer. The queue stores them in its file, so
// that a box has one file to back up and one place where durability is argued.
package kv

import "context"

// Limits of every [Store], so that a value that a test stored can be stored in production.
const (
	MaxKey   = 1024    // bytes of a key; it has at least one
	MaxValue = 4 << 20 // bytes of a value
)

// A Store is a durable map. All methods may be called concurrently.
//
// Give every write a deadline: a disk that hangs answers neither yes nor no.
type Store interface {
	// Put stores value under key. When it returns nil, the value survives a power cut. A power cut
	// before that leaves the old value or the new one, never a part of either.
	//
	// After an error the outcome is unknown, also when ctx ended: the value may be stored, may be
	// stored later, or never. Put it again. Only an invalid key and a value of more than MaxValue
	// bytes are certain not to be stored. The caller may change value as soon as Put returned.
	Put(ctx context.Context, key string, value []byte) error

	// Get returns the last value that was put; the caller may change it. found is false, without
	// an error, if there is none. A damaged value is an error until it is put again.
	Get(key string) (value []byte, found bool, err error)

	// Delete removes a key; a missing one is no error. The result has the same meaning as for Put.
	Delete(ctx context.Context, key string) error

	// All calls f for each key in ascending order, until f returns false. f may use the store: it
	// is not one snapshot. A damaged value is logged and left out, because a screen with all cards
	// but one is worth more than an error. An error says that f has not seen all values.
	All(f func(key string, value []byte) bool) error
}
