package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A Queue is one open file. Create it with Open.
type Queue struct {
	o       Options
	log     *slog.Logger
	hooks   hooks
	in      *inbox
	clock   *clock
	space   *space
	metrics *metrics
	db      atomic.Pointer[bolt.DB] // nil while the file is being opened anew
	ended   chan struct{}           // closed when the committer is gone

	// Only the committer uses these, and Open before it runs.
	head, tail  uint64 // the outermost positions in use
	pruning     bool   // there is more history to remove
	nextReopen  time.Time
	backoff     time.Duration
	lastFailure string
	unsettled   []*op // ends of leases that storage has not taken yet
	closeErr    error

	mu         sync.Mutex // guards what follows, and every line
	lanes      map[string]*lane
	open       int   // jobs in all lines; only the committer changes it
	storageErr error // why nothing can be committed now
	damaged    int
	closed     bool
}

// seams are where tests make storage fail.
type hooks struct {
	commit func(tx *bolt.Tx) error
	sync   func(f *os.File) error // of the file when it is opened
}

// Open opens the queue at o.Path, or makes one, and checks the books. It reads what waits,
// not the history. If the file is not sound the error wraps ErrDamaged; see Check for
// the damage that Open does not see.
func Open(o Options) (*Queue, error) {
	s := hooks{commit: (*bolt.Tx).Commit, sync: (*os.File).Sync}
	if o.NoSync {
		s.sync = func(*os.File) error { return nil }
	}
	return open(o, s)
}

func open(o Options, s hooks) (*Queue, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	q := &Queue{
		o: o, log: o.Logger, hooks: s, in: newInbox(), clock: newClock(o.Clock),
		lanes: map[string]*lane{}, ended: make(chan struct{}),
	}
	if why := filesystem(filepath.Dir(o.Path)); why != "" {
		q.log.Warn("the queue's filesystem may not keep what it is given", "path", o.Path, "filesystem", why)
	}
	if err := create(o); err != nil {
		return nil, err
	}
	db, err := openFile(o, s.sync)
	if noRoom(err) { // where nothing is written in place, even that takes room
		_ = os.Remove(reservePath(o))
		db, err = openFile(o, s.sync)
	}
	if err != nil {
		return nil, err
	}
	m, err := load(db)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", o.Path, err), db.Close())
	}
	q.db.Store(db)
	q.install(m)
	q.clock.start(m.clock, time.Duration(m.youngest))
	q.space = newSpace(o)
	q.metrics = newMetrics(q, o.Registerer)
	if err = q.probeCommit(db); err == nil {
		err = q.repair(m.repairs)
	}
	if err != nil { // as with any commit that failed: run mends it, nobody hears yes before
		q.commitFailed(classify(err))
	}
	if n := q.Unaccounted(); n != 0 {
		q.log.Error("the books do not balance", "unaccounted_jobs", n)
	}
	go q.run()
	return q, nil
}

func (o Options) complete() (Options, error) {
	if o.Path == "" {
		return o, errors.New("Options.Path is missing")
	}
	if o.DedupRetention < 0 || o.HistoryRetention < 0 || o.MaxBacklog < 0 {
		return o, errors.New("a retention or MaxBacklog is negative")
	}
	if o.DedupRetention == 0 {
		o.DedupRetention = 168 * time.Hour
	}
	if o.HistoryRetention == 0 {
		o.HistoryRetention = 72 * time.Hour
	}
	if o.MaxBacklog == 0 {
		o.MaxBacklog = 100_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("component", "queue")
	return o, nil
}

// Close takes nothing more, commits what waits, and closes the file. Leases that are out
// stay as they are on disk: in doubt if they had begun.
func (q *Queue) Close() error {
	q.mu.Lock()
	q.closed = true
	for _, l := range q.lanes {
		l.notify()
	}
	q.mu.Unlock()
	q.in.close()
	<-q.ended
	return q.closeErr
}

// Ready returns nil when a new request could be committed.
func (q *Queue) Ready() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrClosed
	case q.storageErr != nil:
		return q.storageErr
	case q.space.isFull.Load():
		return ErrStorageFull
	}
	return nil
}

// Waiting is how long the oldest change has waited for the disk; 0 when idle. A watchdog
// that sees it grow knows that the disk hangs.
func (q *Queue) Waiting() time.Duration { return q.in.waiting() }

// Damaged counts the records that were set aside since the start.
func (q *Queue) Damaged() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.damaged
}

// view reads the file. f must be short and may not wait for anything: while it runs the file
// cannot be opened anew, and no freed page can be used again.
//
// While the file is being opened anew, which is a matter of milliseconds unless the disk is
// gone, it waits.
func (q *Queue) view(f func(tx *bolt.Tx) error) error {
	db := q.db.Load()
	for range 100 {
		if db != nil || errors.Is(q.Ready(), ErrClosed) {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-q.ended:
		}
		db = q.db.Load()
	}
	if db == nil {
		if err := q.Ready(); err != nil && !errors.Is(err, ErrStorageFull) {
			return err
		}
		return fmt.Errorf("%w: the file is being opened anew", ErrStorageFailed)
	}
	return db.View(f)
}
