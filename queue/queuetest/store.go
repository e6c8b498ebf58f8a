package queuetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"ticketrail/queue/kv"
)

// ErrStorage is the error of a failed call.
var ErrStorage = errors.New("injected storage failure")

// A Fault is the fate of a write.
type Fault int

const (
	None            Fault = iota // the write succeeds
	Failed                       // it returns ErrStorage and stores nothing
	FailedPersisted              // it returns ErrStorage, and the change is stored
	Hangs                        // it stores nothing and returns when ctx ends
)

// A Store is a [kv.Store] in memory. Use [NewStore].
type Store struct {
	mu        sync.Mutex // guards the fields below
	values    map[string][]byte
	writes    int
	fault     Fault
	at        int // the only write that has the fault; 0: all have
	readFails bool
}

var _ kv.Store = (*Store)(nil)

// NewStore returns an empty store that works.
func NewStore() *Store { return &Store{values: map[string][]byte{}} }

// Inject lets every write from now on end like this.
func (s *Store) Inject(f Fault) { s.inject(f, 0) }

// InjectAt lets one write end like this: the first write of the store is 1. All others succeed.
func (s *Store) InjectAt(write int, f Fault) { s.inject(f, write) }

func (s *Store) inject(f Fault, at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.at = f, at
}

// InjectRead lets Get and All return ErrStorage, or work again.
func (s *Store) InjectRead(fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readFails = fails
}

// Set stores a value that no Put wrote: one that is unreadable, or of another version.
func (s *Store) Set(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = []byte(value)
}

// Keys returns the stored keys in order.
func (s *Store) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.values))
}

// Value returns a stored value without counting as a read; "" if there is none.
func (s *Store) Value(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.values[key])
}

// Writes counts the calls of Put and Delete, with those that failed.
func (s *Store) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Put implements [kv.Store].
func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	if len(value) > kv.MaxValue {
		return fmt.Errorf("put %q: %d bytes, at most %d are allowed", key, len(value), kv.MaxValue)
	}
	value = append([]byte{}, value...)
	return s.write(ctx, key, func() { s.values[key] = value })
}

// Delete implements [kv.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.write(ctx, key, func() { delete(s.values, key) })
}

func (s *Store) write(ctx context.Context, key string, change func()) error {
	if key == "" || len(key) > kv.MaxKey {
		return fmt.Errorf("key %.32q: %d bytes, 1 to %d are allowed", key, len(key), kv.MaxKey)
	}

	s.mu.Lock()
	s.writes++
	fault := s.fault
	if s.at != 0 && s.at != s.writes {
		fault = None
	}

	if fault == None || fault == FailedPersisted {
		change()
	}
	s.mu.Unlock()

	switch fault {
	case Failed, FailedPersisted:
		return ErrStorage
	case Hangs:
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

// Get implements [kv.Store].
func (s *Store) Get(key string) (value []byte, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.readFails {
		return nil, false, ErrStorage
	}

	value, found = s.values[key]
	return bytes.Clone(value), found, nil
}

// All implements [kv.Store].
func (s *Store) All(f func(key string, value []byte) bool) error {
	for _, key := range s.Keys() {
		value, found, err := s.Get(key)
		if err != nil {
			return err
		}
		if found && !f(key, value) {
			return nil
		}
	}
	return nil
}
