// Package queuetest replaces the queue in tests: it has a store that fails on command in the ways in
// which a disk does, and a log that a test can read while the program writes it. Tests of a kitchen with a queue in it
// use the real one, in a folder of the test.
package queuetest

import (
	"bytes"
	"sync"
)

// A Log is where a slog.Handler writes. The zero value is empty. Its methods are safe for concurrent use.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// String returns all lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
