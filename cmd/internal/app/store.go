package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/config"
	"ticketrail/queue"
)

// A store is the database file: how it is checked, opened, put into quarantine and closed.
type store struct {
	conf   config.Storage
	log    *slog.Logger
	notify func(state string)
	check  func(ctx context.Context, path string) error // nil: no check
}

// open has the file checked and opens it.
func (s *store) open(ctx context.Context, o Options, reg *prometheus.Registry) (*queue.Queue, error) {
	if err := s.checked(ctx); err != nil {
		return nil, err
	}
	qo := queue.Options{
		Path:             s.conf.Path,
		DedupRetention:   s.conf.DedupRetention,
		HistoryRetention: s.conf.HistoryRetention,
		MaxBacklog:       s.conf.MaxBacklog,
		Clock:            o.Clock,
		Logger:           s.log,
		Registerer:       reg,
		NoSync:           o.NoSync,
	}
	if qo.Clock == nil {
		qo.Clock = doctor.WallClock{}
	}
	q, err := queue.Open(qo)
	if errors.Is(err, queue.ErrDamaged) { // what the check does not look at, or there was no check
		if err = s.quarantine(err); err == nil {
			q, err = queue.Open(qo)
		}
	}
	if err != nil {
		return nil, noStore(s.conf.Path, err)
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ticketrail_queue_quarantined_files",
		Help: "Damaged databases that were set aside and that nobody has taken away yet.",
	}, func() float64 { return float64(len(s.quarantined())) }))
	return q, nil
}

// closing closes the queue, or gives up on a disk that never answers: what it was told to keep
// it has or has not by then, and the next start finds out.
func closing(q *queue.Queue) func(context.Context) error {
	return func(ctx context.Context) error {
		closed := make(chan error, 1)
		go func() { closed <- q.Close() }()
		select {
		case err := <-closed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("the disk does not answer: %w", context.Cause(ctx))
		}
	}
}

// checked has the file checked and, if it is bad, puts it into quarantine so that the kitchen
// goes on with an empty one: tonight's orders matter more than this afternoon's file, and
// the file is still there for whoever can read it.
//
// A crash after the rename finds no file and starts a new one; the notice is found again
// by the name of the old one.
func (s *store) checked(ctx context.Context) error {
	path := s.conf.Path
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || s.check == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	began := time.Now()
	stop := s.extendStart(ctx)
	err = s.check(ctx, path)
	stop()
	switch {
	case err == nil:
		s.log.Info("database checked", "path", path, "bytes", info.Size(), "took", time.Since(began).Round(time.Millisecond))
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.Is(err, queue.ErrDamaged):
		// Not a word about the file itself: locked, unreadable, no memory. Opening it will
		// say what is wrong, with the file where it is.
		s.log.Warn("database not checked", "path", path, "err", err)
		return nil
	}
	return s.quarantine(err)
}

// noStore says what to do about a database that cannot be opened for its place's sake.
func noStore(path string, err error) error {
	do := ""
	switch dir := filepath.Dir(path); {
	case errors.Is(err, fs.ErrNotExist):
		do = fmt.Sprintf("there is no folder %s: make it, or set storage.path", dir)
	case errors.Is(err, fs.ErrPermission):
		do = fmt.Sprintf("this user may not write there: chown it and what is in %s to the user that runs ticketrail, or set storage.path", dir)
	case errors.Is(err, syscall.EROFS):
		do = "the disk is mounted read-only: look at dmesg, for a failing disk ends like that"
	case errors.Is(err, syscall.ENOSPC):
		do = fmt.Sprintf("the disk is full: make room on the one that df %s shows", dir)
	default:
		return err
	}
	return fmt.Errorf("storage.path: %s (%w)", do, err)
}

// quarantine renames a damaged database, so that a new one can be started under its name.
func (s *store) quarantine(damage error) error {
	kept := fmt.Sprintf("%s.corrupt-%s", s.conf.Path, time.Now().UTC().Format("20060102T150405Z"))
	if err := os.Rename(s.conf.Path, kept); err != nil {
		return fmt.Errorf("set the damaged database aside: %w", err)
	}
	s.log.Error("the database is damaged: it was set aside and a new one is started; tickets that waited in it will not print",
		"path", s.conf.Path, "kept", kept, "err", damage)
	return nil
}

// quarantined lists the databases that were set aside and that nobody has taken away yet.
func (s *store) quarantined() (found []string) {
	entries, err := os.ReadDir(filepath.Dir(s.conf.Path))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(s.conf.Path)+".corrupt-") {
			found = append(found, filepath.Join(filepath.Dir(s.conf.Path), e.Name()))
		}
	}
	return found
}

// refusing says why no orders are taken, and where and what to do about it.
func (s *store) refusing(err error) string {
	do := "see the log; they are taken again when the disk can be written"
	if errors.Is(err, queue.ErrStorageFull) {
		do = "delete something there, or give it more room; tickets that wait go on printing, and orders are taken again by themselves"
	}
	return fmt.Sprintf("no orders are taken now: %v (%s): %s", err, filepath.Dir(s.conf.Path), do)
}

// extendStart keeps the init system patient while a large file is read: each call
// asks for another 30 s, until the returned function is called.
func (s *store) extendStart(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			s.notify("EXTEND_TIMEOUT_USEC=30000000\nSTATUS=checking the database")
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
