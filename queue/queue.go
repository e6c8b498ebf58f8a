// Package queue stores every ticket that the kitchen is owed: from the moment the point-of-sale
// service gets its 200 until the ticket is known to have come out, or a person has decided about
// it.
//
// One bbolt file holds the dedup keys, the jobs, one lane per station, and the history. How that file is made, opened,
// checked, copied and replaced is the package store's; its content, and the time of each commit, is decided here. A job
// is one ticket for one station. A lane is the queue of one station: its open jobs, in the order in which they must
// print.
//
// All writes go through one goroutine, the committer (committer.go). It collects the operations
// that wait and commits them in one transaction, so a hundred senders cost hardly more fsyncs than
// one. Memory changes only after the commit: nothing is ever answered that a power cut
// could take back.
//
// The life of a job: [Queue.Accept] enqueues it, [Queue.Take] lends it to its station as a [Lease],
// [Lease.Begin] makes durable that it may come out from now on, and [Lease.Settle] ends the lease. If the process dies
// after Begin and before the end, the ticket is in doubt: it prints again, marked POSSIBLE DUPLICATE.
//
// All exported methods may be called concurrently.
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ticketrail/queue/store"

	"github.com/prometheus/client_golang/prometheus"
)

// Errors that callers distinguish with [errors.Is]. The errors of this package wrap them and say
// more.
var (
	// ErrBacklogFull: the request would exceed Options.MaxBacklog. The printers cannot keep up, or
	// are down.
	ErrBacklogFull = errors.New("too many tickets are waiting")
	// ErrStorageFull: the disk is full. New requests are refused until there is space; accepted
	// tickets still print.
	ErrStorageFull = store.ErrFull
	// ErrStorageFailed: a commit failed. Whether it is on the disk is unknown, and a retry is safe.
	ErrStorageFailed = errors.New("storage failed")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the queue is closed")
	// ErrBusy: too many requests wait for the committer. The disk is too slow, or hangs.
	ErrBusy = errors.New("too many requests wait for the disk")
	// ErrNotFound: there is no such job, or Options.HistoryRetention has removed it.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the state of the job or station does not allow the command.
	ErrConflict = errors.New("not possible now")
	// ErrDamaged: the file, or a record in it, is not as it was written.
	ErrDamaged = store.ErrDamaged
)

// A StorageFull is [ErrStorageFull] with the room that there is and that is needed.
type StorageFull = store.FullError

// wrap puts an operation before its error; nil stays nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// Clock is the wall clock, and whether it can be trusted. A box without a battery boots in 1970 and
// NTP steps its clock later, so the wall clock decides nothing here unless it says that it is
// synchronized.
type Clock interface {
	Now() time.Time
	Synchronized() bool
}

// Options of [Open]. Only Path is required.
type Options struct {
	// Path is the database file. Others are next to it: PATH.lock, PATH.reserve, and while a new file or a base copy
	// is made PATH.new-*.
	Path string
	// Copy is the folder of base copies and logs. Empty: there are none.
	Copy string
	// CheckCopy checks a base copy before it is kept. Nil: [Check], in this process.
	CheckCopy func(ctx context.Context, path string) error
	// DedupRetention is how long the key of a request is remembered, in running time. A retry that
	// comes later would print again: keep it longer than the service retries. 0: for ever.
	DedupRetention time.Duration
	// HistoryRetention is how long a finished job can be looked up and reprinted, in running time.
	// Failed jobs stay until a person acts. 0: for ever.
	HistoryRetention time.Duration
	// MaxBacklog limits the open jobs of all stations together; above it Accept refuses. 100,000 take about 5 MB of
	// memory (see entry), and are more than any kitchen can print in a day. 0: no limit.
	MaxBacklog int
	Clock      Clock                 // nil: time.Now, never synchronized
	Logger     *slog.Logger          // nil: nothing is logged
	Registerer prometheus.Registerer // nil: metrics are not registered
	// Reserve is the size in bytes of a file that only takes space. It is removed when the disk is
	// full, so that the tickets that were accepted can still be printed and settled. 0: 16 MiB, negative: none.
	Reserve int64
	// KeepOutcomes is [Queue.KeepOutcomes] from the start on: Open itself may end a ticket.
	KeepOutcomes bool
	// NoSync skips fsync. Tests use it to be fast, and to show that they notice the loss.
	NoSync bool
}
