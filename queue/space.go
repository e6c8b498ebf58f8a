package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// On a copy-on-write database even deleting needs new pages, so a full disk would stop printing as
// well as accepting. The reserve is space for exactly that: a settle needs a few new pages, and
// frees as many.

const (
	defaultReserve = 16 << 20
	// minFree is how many bytes must be free to accept new requests: the largest batch, with what
	// bbolt adds to it.
	minFree = 8 << 20
)

// A space watches the free space of the disk. It keeps a reserve file next to the queue, and
// removes it when a commit finds the disk full: with that space, the tickets that were accepted can
// still be printed and settled. New requests are refused until the reserve is back.
//
// Only the committer uses it, except isFull.
type space struct {
	path   string // of the reserve
	dir    string
	size   int64 // 0: none
	log    *slog.Logger
	isFull atomic.Bool
	free   func(dir string) (int64, error) // freeBytes, or what a test says
}

// reservePath is next to the queue, because it must be on the same filesystem.
func reservePath(o Options) string { return o.Path + ".reserve" }

// newSpace creates the reserve, or finds that the disk is full already.
func newSpace(o Options) *space {
	s := &space{path: reservePath(o), dir: filepath.Dir(o.Path), size: o.Reserve, log: o.Logger, free: freeBytes}
	if s.size == 0 {
		s.size = defaultReserve
	}
	s.size = max(s.size, 0)
	if isDiskFull(s.makeReserve()) {
		s.isFull.Store(true)
	}
	return s
}

// fullCheckEvery is how often the free space is checked while the disk is full.
const fullCheckEvery = 5 * time.Second

// reusable is how many bytes of the file are free: room for new requests also on a full disk.
func (q *Queue) reusable() int64 {
	db := q.db.Load()
	if db == nil { // the file is to be reopened
		return 0
	}
	return int64(db.Stats().FreeAlloc)
}

// checkFull says whether new requests must be refused. It stops at minFree and resumes at twice
// that plus the reserve, so that it does not switch all the time. Bytes of the file that can be used again
// count as free: a file that filled the disk once would otherwise refuse requests for ever.
func (s *space) checkFull(reusable int64) bool {
	free, err := s.free(s.dir)
	free += reusable
	resume := s.needed()
	if err != nil {
		return s.isFull.Load() // unknown: the next commit will show it
	}
	switch {
	case !s.isFull.Load() && free < minFree:
		s.isFull.Store(true)
		s.log.Error("disk is nearly full; new requests are refused: free disk space there",
			"directory", s.dir, "free_bytes", free, "need_bytes", resume)
	case s.isFull.Load() && free >= resume && (!isDiskFull(s.makeReserve()) || reusable >= resume):
		s.isFull.Store(false)
		s.log.Info("disk has free space again; new requests are accepted", "free_bytes", free)
	}
	return s.isFull.Load()
}

// needed is how many bytes must be free before new requests are accepted again.
func (s *space) needed() int64 { return 2*minFree + s.missingReserve() }

// full is [ErrStorageFull] with how much room a person must make. Safe for concurrent use.
func (s *space) full(reusable int64) error {
	free, err := s.free(s.dir)
	if free += reusable; err != nil || free >= s.needed() { // there is room: the next check will see it
		return ErrStorageFull
	}
	return fmt.Errorf("%w: %d MB are free, %d MB are needed", ErrStorageFull, free/1e6, s.needed()/1e6+1)
}

// missingReserve is how many bytes the reserve will take from the free space.
func (s *space) missingReserve() int64 {
	info, err := os.Stat(s.path)
	if err != nil {
		return s.size
	}
	return s.size - info.Size()
}

// isDiskFull tells a full disk, or quota, from other failures.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// makeReserve makes sure that the reserve file exists and has real blocks. If that fails for
// another reason than a full disk, only the reserve is missing: requests are still accepted. A
// crash in the middle leaves a file that is too short, which the next start replaces.
func (s *space) makeReserve() error {
	if s.size == 0 {
		_ = os.Remove(s.path) // left by an earlier configuration
		return nil
	}
	if info, err := os.Stat(s.path); err == nil && info.Size() == s.size {
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = allocate(f, s.size)
		err = errors.Join(err, f.Sync(), f.Close()) // some filesystems report a full disk only here
	}
	if err != nil {
		_ = os.Remove(s.path)
		s.log.Warn("cannot create the reserve file: on a full disk printing may stop",
			"path", s.path, "bytes", s.size, "err", err)
	}
	return err
}

// freeReserve removes the reserve, because a commit has found the disk full. It is called again at each
// failed attempt, when the file is gone already.
func (s *space) freeReserve() {
	s.isFull.Store(true)
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("cannot remove the reserve file", "path", s.path, "err", err)
	}
}

// writeZeroes takes up space on filesystems that cannot allocate it.
func writeZeroes(f *os.File, size int64) error {
	block := make([]byte, 256<<10)
	for size > 0 {
		n, err := f.Write(block[:min(size, int64(len(block)))])
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}
