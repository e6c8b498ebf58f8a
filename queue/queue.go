// Package queue keeps every ticket the kitchen is owed, from the moment the service
// hears 200 until the ticket is known to be out or a person has decided about it.
//
// One bbolt file holds the dedup keys, the tickets, a line per station and the
// history; bbolt is known nowhere else. Every write goes through one committer
// goroutine that takes whatever waits and commits it in one transaction; what is in
// memory changes only after the commit. So nothing is promised that a power cut
// could take back, and a hundred senders cost hardly more than one.
//
// A commit that fails says nothing about what is on the disk: see committer.go for
// what happens then.
//
// All methods may be called concurrently.
package queue

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What callers branch on. Errors returned by this package wrap these and say more.
var (
	// ErrBacklogFull says that the request would make more open jobs than Options.MaxBacklog.
	ErrBacklogFull = errors.New("too many tickets are waiting")
	// ErrStorageFull says that the disk is full: nothing new is taken until there is room.
	ErrStorageFull = errors.New("the disk is full")
	// ErrStorageFailed says that a commit failed. Its outcome is unknown; trying again is safe.
	ErrStorageFailed = errors.New("storage failed")
	// ErrClosed says that the queue was closed.
	ErrClosed = errors.New("the queue is closed")
	// ErrBusy says that too many requests already wait for the committer.
	ErrBusy = errors.New("too many requests wait for the disk")
	// ErrNotFound says that there is no such job: it never was, or its history is over.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the state of the job or station does not allow what was asked.
	ErrConflict = errors.New("not possible now")
	// ErrDamaged says that the file, or a record in it, is not what was written.
	ErrDamaged = errors.New("damaged")
)

// Clock is the wall clock and whether it can be trusted. Boxes boot in 1970 and
// NTP steps, so nothing here expires by it unless it says that it is synchronized.
type Clock interface {
	Now() time.Time
	Synchronized() bool
}

// Options are what Open needs. Only Path is required.
type Options struct {
	// Path is the database file. Beside it live PATH.reserve and, during the very
	// first start, PATH.new-*.
	Path string
	// DedupRetention is how much running time a request's key is known. 0: 168 h.
	DedupRetention time.Duration
	// HistoryRetention is how much running time a finished job is kept. 0: 72 h.
	HistoryRetention time.Duration
	// MaxBacklog bounds the open jobs over all stations. 0: 100000.
	MaxBacklog int
	Clock      Clock                 // nil: time.Now, never synchronized
	Logger     *slog.Logger          // nil: nothing is logged
	Registerer prometheus.Registerer // nil: metrics that go nowhere
	// Reserve is the size in bytes of the ballast beside the file, given up when the
	// disk is full so that printing goes on. 0: 16 MiB, negative: none.
	Reserve int64
	// NoSync leaves commits in the page cache. It exists so that a test can show
	// that it sees the loss.
	NoSync bool
}
