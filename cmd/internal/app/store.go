package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ticketrail/config"
	"ticketrail/queue"
)

// ErrDamaged says that the database is not what was written. Any other error of
// CheckStore says nothing about the file.
var ErrDamaged = queue.ErrDamaged

// CheckStore checks the whole database at path. A bad page can kill the process, so run it
// in one that may die: the hidden command `db check` is that.
func CheckStore(path string) error { return queue.Check(path) }

// openStore has the file checked, opens it, and closes it in the teardown.
func (a *App) openStore(ctx context.Context, conf config.Storage) error {
	if err := a.checkStore(ctx, conf.Path); err != nil {
		return err
	}
	clock := a.o.Clock
	if clock == nil {
		clock = wallClock{}
	}
	o := queue.Options{
		Path:             conf.Path,
		DedupRetention:   conf.DedupRetention,
		HistoryRetention: conf.HistoryRetention,
		MaxBacklog:       conf.MaxBacklog,
		Clock:            clock,
		Logger:           a.log,
		Registerer:       a.registry,
		NoSync:           a.o.NoSync,
	}
	var err error
	a.queue, err = queue.Open(o)
	if errors.Is(err, queue.ErrDamaged) { // what the check does not look at, or there was no check
		if err = a.setAside(conf.Path, err); err == nil {
			a.queue, err = queue.Open(o)
		}
	}
	if err != nil {
		return noStore(conf.Path, err)
	}
	a.down.push("queue", a.closeQueue)
	return nil
}

// closeQueue closes the store, or gives up on a disk that never answers: what it was told
// to keep it has or has not by then, and the next start finds out.
func (a *App) closeQueue(ctx context.Context) error {
	closed := make(chan error, 1)
	go func() { closed <- a.queue.Close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the disk does not answer: %w", context.Cause(ctx))
	}
}

// checkStore has the file checked and, if it is bad, sets it aside so that the kitchen
// goes on with an empty one: tonight's orders matter more than this afternoon's file, and
// the file is still there for whoever can read it.
//
// A crash after the rename finds no file and starts a new one; the notice is found again
// by the name of the old one.
func (a *App) checkStore(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || a.o.CheckStore == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	began := time.Now()
	stop := a.extendStart(ctx)
	err = a.o.CheckStore(ctx, path)
	stop()
	switch {
	case err == nil:
		a.log.Info("database checked", "path", path, "bytes", info.Size(), "took", time.Since(began).Round(time.Millisecond))
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.Is(err, queue.ErrDamaged):
		// Not a word about the file itself: locked, unreadable, no memory. Opening it will
		// say what is wrong, with the file where it is.
		a.log.Warn("database not checked", "path", path, "err", err)
		return nil
	}
	return a.setAside(path, err)
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

// setAside renames a damaged database, so that a new one can be started under its name.
func (a *App) setAside(path string, damage error) error {
	aside := fmt.Sprintf("%s.corrupt-%s", path, time.Now().UTC().Format("20060102T150405Z"))
	if err := os.Rename(path, aside); err != nil {
		return fmt.Errorf("set the damaged database aside: %w", err)
	}
	a.log.Error("the database is damaged: it was set aside and a new one is started; tickets that waited in it will not print",
		"path", path, "kept", aside, "err", damage)
	return nil
}

// quarantined lists the databases that were set aside and that nobody has taken away yet.
func (a *App) quarantined() []string {
	path := a.boot.Storage.Path
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".corrupt-") {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return found
}

// extendStart keeps the init system patient while a large file is read: each call
// asks for another 30 s, until the returned function is called.
func (a *App) extendStart(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			a.notify("EXTEND_TIMEOUT_USEC=30000000\nSTATUS=checking the database")
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
