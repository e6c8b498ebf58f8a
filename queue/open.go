package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/queue/store"

	bolt "go.etcd.io/bbolt"
)

// A Queue is one open database file. Create it with [Open].
type Queue struct {
	o       Options
	log     *slog.Logger
	hooks   store.Hooks
	in      *inbox
	clock   *clock
	space   *store.Space
	metrics *metrics
	copier  *copier                 // nil: there are to be no copies
	broken  chan struct{}           // closed with damage
	db      atomic.Pointer[bolt.DB] // nil while the committer reopens the file
	file    atomic.Value            // fs.FileInfo of the file that is open; see named
	ended   chan struct{}           // closed when the committer has ended

	keepOutcomes atomic.Bool // see KeepOutcomes

	// Used by the committer only, and by Open before the committer runs.
	head, tail  uint64        // the lowest and highest position in use, of all lanes
	morePruning bool          // more history is to be removed than fits into one transaction
	nextReopen  time.Time     // when to reopen the file; zero: the file works
	backoff     time.Duration // between attempts to reopen
	lastFailure string        // logged last, so that the same error is logged once
	kept        []*op         // settlements, and begins that a full disk refused: tried again after a reopen
	replayed    bool          // the log was read, see replay
	closeErr    error

	mu         sync.Mutex // guards the fields below, and all of every lane
	lanes      lanes
	open       int   // jobs in all lanes; only the committer changes it
	storageErr error // why nothing can be committed now; nil: it can
	damage     error // a record that cannot be read; nil: none was found
	notices    []Notice
	closed     bool
}

// Open opens the queue at o.Path, or creates it. It reads the open jobs, not the history, so its
// time depends on the backlog, and verifies the books. If the file is damaged the error wraps
// ErrDamaged; Open does not read every page, see [Check] for that.
//
// A first commit that fails does not fail Open: the queue then refuses requests until storage
// works.
func Open(o Options) (*Queue, error) {
	hooks := store.System
	if o.NoSync {
		hooks.Sync = func(*os.File) error { return nil }
	}
	return open(o, hooks)
}

// open is Open with the calls that tests replace. The order matters: the file is made durable and read, then a probe
// commit proves that it can be written, then the commits that it has lost are read from the log, and only then the
// committer starts and tickets are lent.
func open(o Options, s store.Hooks) (*Queue, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}

	queue := &Queue{
		o: o, log: o.Logger, hooks: s, in: newInbox(),
		clock: &clock{wallClock: cmp.Or[Clock](o.Clock, systemClock{}), started: time.Now()},
		lanes: lanes{}, ended: make(chan struct{}), broken: make(chan struct{}),
	}

	queue.KeepOutcomes(o.KeepOutcomes)
	if why := store.Filesystem(filepath.Dir(o.Path)); why != "" {
		queue.log.Warn("the filesystem may lose the queue; use a local disk", "path", o.Path, "filesystem", why)
	}

	if err := store.Create(o.Path, o.Copy, o.NoSync, Contents, s); err != nil {
		return nil, err
	}

	db, loaded, err := queue.openFile()
	if store.IsFull(err) { // a copy-on-write filesystem needs space even to rewrite a page
		_ = os.Remove(store.ReservePath(o.Path))
		db, loaded, err = queue.openFile()
	}
	if err != nil {
		return nil, err
	}

	if o.Copy != "" {
		if err := queue.followCopies(loaded.copy); err != nil {
			queue.copier.folder.Unlock() // for Recover
			return nil, errors.Join(fmt.Errorf("open %s: %w", o.Path, err), db.Close())
		}
	}

	queue.db.Store(db)
	queue.install(loaded)
	queue.clock.start(loaded.clock, time.Duration(loaded.youngest))
	queue.clock.addTimeOff(queue.log)

	queue.space = store.NewSpace(o.Path, o.Reserve, o.Logger)
	queue.metrics = newMetrics(queue, o.Registerer)

	if err = queue.probeCommit(db); err == nil {
		err = queue.replay()
	}
	if err != nil { // as after any failed commit, run reopens the file before it accepts
		queue.commitFailed(err)
	}

	// It starts all the same: the tickets that are there must print, and the metric raises the
	// alarm.
	if off := queue.Unaccounted(); off != 0 {
		queue.log.Error("the books do not balance", "unaccounted_jobs", off)
	}

	go queue.run()
	if queue.copier != nil {
		var ctx context.Context
		ctx, queue.copier.cancel = context.WithCancel(context.Background())
		go queue.copier.run(ctx)
	}

	return queue, nil
}

// followCopies returns an error if the file is older than its copies. A folder that cannot be read, or is another
// daemon's, says nothing about the file: then there is nothing to replay either.
func (q *Queue) followCopies(r store.CopyRecord) error {
	q.copier = &copier{
		q: q, folder: store.Folder{Dir: q.o.Copy}, last: time.Now(), record: r,
		commits: make(chan []copyLine, maxCommits), ended: make(chan struct{}),
	}

	files, unread := q.copier.folder.List()
	if unread == nil {
		_, _, err := files.Follow(r)
		if unread = files.Hangs; unread == nil {
			return err
		}
	}

	q.copier.failed(unread)
	q.replayed = true
	return nil
}

// complete fills in the options that were not given. The limits are the configuration's: without one there is none.
func (o Options) complete() (Options, error) {
	if o.Path == "" {
		return o, errors.New("Options.Path is missing")
	}
	o.Path = store.Target(o.Path) // the space of its disk counts

	const forever = 100 * 365 * 24 * time.Hour
	o.DedupRetention = cmp.Or(o.DedupRetention, forever)
	o.HistoryRetention = cmp.Or(o.HistoryRetention, forever)
	o.MaxBacklog = cmp.Or(o.MaxBacklog, math.MaxInt)

	if o.CheckCopy == nil {
		o.CheckCopy = func(_ context.Context, path string) error { return store.Check(path, Contents) }
	}

	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("component", "queue")
	return o, nil
}

// Close refuses new operations, commits those that wait, and closes the file. It returns when all
// is written. Leases that are not settled stay as they are on disk: in doubt if they had begun.
func (q *Queue) Close() error {
	q.mu.Lock()
	q.closed = true
	for _, l := range q.lanes {
		l.notify() // callers of Take must not wait for ever
	}
	q.mu.Unlock()

	if q.copier != nil {
		q.copier.cancel()
		defer func() { <-q.copier.ended }()
	}

	q.in.close()
	<-q.ended
	return q.closeErr
}

// Waiting is how long the oldest operation has waited for the disk; 0 when there is none. A
// watchdog that sees it grow knows that the disk hangs.
func (q *Queue) Waiting() time.Duration { return q.in.waiting() }

// A Notice tells a person of a state that was found since the start.
type Notice struct {
	At       time.Time // by the wall clock
	Lost     bool      // orders may be lost; else nothing is
	Text, Do string    // the cause, and the remedy
}

// Notices are in the order in which they were found.
func (q *Queue) Notices() []Notice {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.notices)
}

// foundDamage notes that a record cannot be read. The file is as bad as a damaged one at the start, and to repair it
// would be a second way to do the same: [Queue.Broken] has the daemon end, and because of the mark the next start puts
// the file aside. Until then no request is accepted, and tickets that can be read print.
//
// A crash before the mark is written: the check of the next start finds the record. After it: so does the mark.
func (q *Queue) foundDamage(what string, cause error) error {
	err := fmt.Errorf("%w: %s: %w", ErrDamaged, what, cause)
	if !errors.Is(cause, errChecksum) { // another version has written it, and its copy says the same
		return err
	}

	q.mu.Lock()
	defer q.mu.Unlock()
	if q.damage != nil {
		return err
	}

	q.damage = fmt.Errorf("%w: %w", ErrStorageFailed, err)
	close(q.broken)
	q.log.Error("a stored record is damaged: the daemon restarts with the copy of the database", "err", err)

	if bad := store.Suspect(q.o.Path, err.Error()); bad != nil {
		q.log.Error("the damaged database cannot be marked", "err", bad)
	}
	return err
}

// Broken is closed when a record was found that cannot be read; Ready then says which.
func (q *Queue) Broken() <-chan struct{} { return q.broken }
