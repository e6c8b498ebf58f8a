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

// A store is the database file: it is checked, opened, and quarantined if it is damaged.
type store struct {
	conf   config.Storage
	log    *slog.Logger
	notify func(state string)
	check  func(ctx context.Context, path string) error // nil: no check
}

// open checks the file and opens it.
func (s *store) open(ctx context.Context, o Options, reg *prometheus.Registry) (*queue.Queue, error) {
	if err := s.checkFile(ctx); err != nil {
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
	if errors.Is(err, queue.ErrDamaged) { // damage that the check does not look for, or there was no check
		if err = s.quarantine(err); err == nil {
			q, err = queue.Open(qo)
		}
	}
	if err != nil {
		return nil, openError(s.conf.Path, err)
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ticketrail_queue_quarantined_files",
		Help: "Quarantined databases that have not been moved away yet.",
	}, func() float64 { return float64(len(s.quarantined())) }))
	return q, nil
}

// closeQueue returns the teardown step of the queue. It gives up if the disk does not answer in time:
// what was acknowledged is on the disk by then, and the next start reads it.
func closeQueue(q *queue.Queue) func(context.Context) error {
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

// checkFile checks the file and quarantines it if it is damaged. The kitchen then works with a new
// database: tonight's orders matter more than the old file, which stays on the disk.
//
// A crash before the rename leaves the damaged file, which is found again. A crash after it finds no
// file and starts a new one; the notice to the operator is found again by the name of the old file.
func (s *store) checkFile(ctx context.Context) error {
	path := s.conf.Path
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || s.check == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	began := time.Now()
	stop := s.extendStart(ctx)
	err = s.check(ctx, path)
	stop()
	switch {
	case err == nil:
		s.log.Info("database checked", "path", path, "bytes", info.Size(),
			"took", time.Since(began).Round(time.Millisecond))
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.Is(err, queue.ErrDamaged):
		// The check itself failed: the file is locked or unreadable, or memory ran out. That proves no
		// damage, so the file stays; opening it will return the real error.
		s.log.Warn("database not checked", "path", path, "err", err)
		return nil
	}
	return s.quarantine(err)
}

// openError adds what to do to an error of opening the database, if its folder or disk is the cause.
func openError(path string, err error) error {
	fix := ""
	switch dir := filepath.Dir(path); {
	case errors.Is(err, fs.ErrNotExist):
		fix = fmt.Sprintf("the folder %s does not exist: create it, or set storage.path", dir)
	case errors.Is(err, fs.ErrPermission):
		fix = fmt.Sprintf("this user may not write in %s: "+
			"chown it and what is in it to the user that runs ticketrail, or set storage.path", dir)
	case errors.Is(err, syscall.EROFS):
		fix = "the disk is mounted read-only, which often means that it fails: see dmesg"
	case errors.Is(err, syscall.ENOSPC):
		fix = fmt.Sprintf("the disk is full: delete something on the disk that df %s shows", dir)
	default:
		return err
	}
	return fmt.Errorf("storage.path: %s (%w)", fix, err)
}

// quarantine renames a damaged database, so that a new one can be started under its name.
func (s *store) quarantine(damage error) error {
	kept := fmt.Sprintf("%s.corrupt-%s", s.conf.Path, time.Now().UTC().Format("20060102T150405Z"))
	if err := os.Rename(s.conf.Path, kept); err != nil {
		return fmt.Errorf("quarantine the damaged database: %w", err)
	}
	s.log.Error("the database is damaged: it was quarantined and a new one is started; "+
		"tickets that waited in it will not print",
		"path", s.conf.Path, "kept", kept, "err", damage)
	return nil
}

// quarantined lists the quarantined databases that have not been moved away yet.
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

// notReady says why no orders are accepted, where the problem is and what to do.
func (s *store) notReady(err error) string {
	fix := "see the log; orders are accepted again when the disk can be written"
	if errors.Is(err, queue.ErrStorageFull) {
		fix = "delete something there; waiting tickets still print, and orders are accepted again automatically"
	}
	return fmt.Sprintf("no orders are accepted: %v (%s): %s", err, filepath.Dir(s.conf.Path), fix)
}

// extendStart asks systemd for more time while a large file is checked, until the returned function
// is called. Each notification asks for 30 s more, and one is sent every 10 s.
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
