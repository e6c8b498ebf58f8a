package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/queue"
	file "ticketrail/queue/store"
)

// The file is checked before it is opened, because bbolt maps it into memory and a damaged page can
// kill the process. A damaged file is renamed, never repaired or deleted. Its copy takes its place.

// A store is the database file: it is checked, opened, and replaced by its copy if it is damaged.
type store struct {
	conf        config.Storage // of the start: a reload cannot change it
	lock        io.Closer      // from before the first look at the file until it is closed
	log         *slog.Logger
	tellSystemd func(state string)                           // systemd must not give up on a long check
	check       func(ctx context.Context, path string) error // nil: no check

	outcomes  bool           // somebody is to be told them, see [queue.Queue.KeepOutcomes]
	recovered file.Recovered // by this start
	crashes   *crashes       // of the starts before; nil: they are not watched
}

// open checks the file and opens it. A full disk is no error: the queue opens, refuses requests,
// and accepts them again when there is space.
func (s *store) open(ctx context.Context, o Options, reg *prometheus.Registry) (q *queue.Queue, err error) {
	// Without it a file that another process writes could look damaged, and would be renamed while that
	// process stores orders in it.
	if s.lock, err = file.Lock(s.conf.Path); err != nil {
		return nil, openError(s.conf.Path, err)
	}

	s.crashes = newCrashes(s.conf.Path, o.CrashOutput)
	defer func() {
		if err != nil {
			s.crashes.over()
			s.lock.Close()
		}
	}()
	if err := s.checkFile(ctx); err != nil {
		return nil, err
	}

	qo := queue.Options{
		Path:             s.conf.Path,
		DedupRetention:   s.conf.DedupRetention,
		HistoryRetention: s.conf.HistoryRetention,
		MaxBacklog:       s.conf.MaxBacklog,
		Clock:            o.Clock, // for running time
		Logger:           s.log,
		Registerer:       reg,
		KeepOutcomes:     s.outcomes,
		NoSync:           o.NoSync,
		Copy:             s.conf.CopyFolder(),
		CheckCopy:        s.check,
	}

	q, err = queue.Open(qo)
	if errors.Is(err, queue.ErrDamaged) { // it is missing or older than its copy, or there was no check
		if err = s.recover(ctx, err); err == nil {
			q, err = queue.Open(qo)
		}
	}
	if err != nil {
		return nil, openError(s.conf.Path, err)
	}

	return q, nil
}

// close closes the queue. It gives up if the disk does not answer in time: all acknowledged data is on the disk
// already, and the next start reads it. Otherwise every stop with a dead disk would end with a kill.
func (s *store) close(ctx context.Context, q *queue.Queue) error {
	s.crashes.over()
	closed := make(chan error, 1)
	go func() { closed <- errors.Join(q.Close(), s.lock.Close()) }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the disk does not answer: %w", context.Cause(ctx))
	}
}

// checkFile checks the file and replaces it if it is damaged. A crash before its end leaves the damaged file, which
// is found again, or the new one; the notice to the operator is found again by the name of the old file.
func (s *store) checkFile(ctx context.Context) error {
	path := s.conf.Path
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) { // the first start, or the copy takes its place: see [queue.Open]
		return nil
	}
	if err != nil {
		return openError(path, fmt.Errorf("check the database: %w", err))
	}
	if err := errors.Join(file.Suspected(path), s.crashes.suspect()); err != nil {
		return s.recover(ctx, err)
	}

	if s.check == nil {
		return nil
	}
	began := time.Now()
	s.extendStart("checking")
	err = s.check(ctx, path)
	switch {
	case err == nil:
		s.log.Info("database checked", "path", path, "bytes", info.Size(),
			"took", time.Since(began).Round(time.Millisecond))
		return nil

	// Stopped while checking. The file has not been judged, so it must not be quarantined.
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.Is(err, queue.ErrDamaged):
		// The check itself failed: the file is locked or unreadable, or memory ran out. That proves no
		// damage, so the file stays; opening it will return the real error.
		s.log.Warn("database not checked", "path", path, "err", err)
		return nil
	}

	return s.recover(ctx, err)
}

// folder is where the file is, whatever links to it: the space of its disk counts.
func (s *store) folder() string { return filepath.Dir(file.Target(s.conf.Path)) }

// openError makes a finding of an error of opening the database, if its folder or disk is the cause: an operator with a
// new box sees it first.
func openError(path string, err error) error {
	path = file.Target(path)
	who := "the user of the service"
	if me, err := user.Current(); err == nil {
		who = me.Username
	}
	if fault, known := finding.Storage(path, who, file.WithRoom(path, err)); known {
		return &finding.Error{Finding: fault, Err: err}
	}
	return err
}

// recover puts the damaged database aside and its copy in its place, else an empty one. If that fails the daemon does
// not start: it must not open it.
func (s *store) recover(ctx context.Context, damage error) (err error) {
	s.extendStart("restoring")
	s.recovered, err = file.Recover(s.conf.Path, s.conf.CopyFolder(), func(path string) error {
		if s.check == nil {
			return file.Check(path, queue.Contents)
		}
		return s.check(ctx, path)
	}, queue.Contents, file.System)
	if err != nil {
		return openError(s.conf.Path, fmt.Errorf("replace the damaged database: %w", err))
	}

	s.log.Error("the database is damaged or missing: "+s.recovered.String(),
		"path", s.conf.Path, "kept", s.recovered.Kept, "base", s.recovered.Base, "err", damage)
	return nil
}

// lossOf says which tickets of a damaged database are lost. Only the start that replaced it knows.
func (s *store) lossOf(kept string) string {
	if s.recovered.Kept != kept {
		return "see the log of that day"
	}
	return s.recovered.String()
}

// watchDatabase ends the daemon when a record of the database cannot be read: systemd starts it again, and that start
// takes the copy. That is one way for every damage, and it is over in seconds.
func watchDatabase(q *queue.Queue) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-q.Broken():
			return fmt.Errorf("restart with the copy: %w", q.Ready())
		case <-ctx.Done():
			return nil
		}
	}
}

// quarantined lists the damaged databases that have not been moved away yet. It reads the folder at each call, so that
// the notice survives a restart and ends when the operator moves the file away. An unreadable folder counts as none:
// the daemon has other notices for a broken disk.
func (s *store) quarantined() []string { return file.PutAside(s.conf.Path) }

// extendStart asks systemd for an hour more than TimeoutStartSec, while a large file is read: it would kill a daemon
// with one at every start, for ever. See EXTEND_TIMEOUT_USEC in sd_notify(3).
func (s *store) extendStart(doing string) {
	s.tellSystemd(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d\nSTATUS=%s the database", time.Hour.Microseconds(), doing))
}
