package store

import (
	"cmp"
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
	// MinFree is how many bytes must be free to accept new requests: the largest batch, with the pages that
	// bbolt adds to it.
	MinFree = 8 << 20
)

// A Space watches the free space of the disk. It keeps a reserve file next to the queue, and
// removes it when a commit finds the disk full: with that space, the tickets that were accepted can
// still be printed and settled. New requests are refused until the reserve is back.
//
// Only one goroutine uses it, except IsFull and Full.
type Space struct {
	path   string // of the reserve
	Dir    string
	size   int64 // 0: none
	log    *slog.Logger
	IsFull atomic.Bool
	Free   func(dir string) (int64, error) // FreeBytes, or the function of a test
}

// ReservePath is next to the queue, because it must be on the same filesystem.
func ReservePath(path string) string { return path + ".reserve" }

// NewSpace creates the reserve, or finds that the disk is full already.
func NewSpace(path string, size int64, log *slog.Logger) *Space {
	space := &Space{
		path: ReservePath(path), Dir: filepath.Dir(path), size: max(cmp.Or(size, defaultReserve), 0), log: log,
		Free: FreeBytes,
	}

	if IsFull(space.makeReserve()) {
		space.IsFull.Store(true)
	}
	return space
}

// FullCheckEvery is how often the free space is checked while the disk is full.
const FullCheckEvery = 5 * time.Second

// CheckFull says whether new requests must be refused. It stops at MinFree and resumes at twice
// that plus the reserve, so that it does not switch all the time. Bytes of the file that can be used again
// count as free: a file that filled the disk once would otherwise refuse requests for ever.
func (s *Space) CheckFull(reusable int64) bool {
	free, err := s.Free(s.Dir)
	free += reusable

	resume := s.needed()
	if err != nil {
		return s.IsFull.Load() // unknown: the next commit will show it
	}

	switch {
	case !s.IsFull.Load() && free < MinFree:
		s.IsFull.Store(true)
		s.log.Error("disk is nearly full; new requests are refused: free disk space there",
			"directory", s.Dir, "free_bytes", free, "need_bytes", resume)
	case s.IsFull.Load() && free >= resume && (!IsFull(s.makeReserve()) || reusable >= resume):
		s.IsFull.Store(false)
		s.log.Info("disk has free space again; new requests are accepted", "free_bytes", free)
	}
	return s.IsFull.Load()
}

// needed is how many bytes must be free before new requests are accepted again.
func (s *Space) needed() int64 { return 2*MinFree + s.missingReserve() }

// A FullError is [ErrFull] with the room that there is, and the room that a person must make, in bytes.
type FullError struct{ Free, Needed int64 }

// Room is the error without its cause.
func (e *FullError) Room() string {
	return fmt.Sprintf("%d MB are free, %d MB are needed", e.Free/1e6, e.Needed/1e6+1)
}

func (e *FullError) Error() string { return ErrFull.Error() + ": " + e.Room() }
func (e *FullError) Unwrap() error { return ErrFull }

// Full is a [FullError], or [ErrFull] if there is room, which the next check will see. Safe for concurrent use.
func (s *Space) Full(reusable int64) error {
	free, err := s.Free(s.Dir)
	if free += reusable; err != nil || free >= s.needed() {
		return ErrFull
	}
	return &FullError{Free: free, Needed: s.needed()}
}

// WithRoom adds a [FullError] to the error of a process that could not open the database at path on a full disk.
func WithRoom(path string, err error) error {
	if !IsFull(err) {
		return err
	}
	path = Target(path)
	space := &Space{path: ReservePath(path), Dir: filepath.Dir(path), size: defaultReserve, Free: FreeBytes}
	return fmt.Errorf("%w: %w", space.Full(0), err)
}

// missingReserve is how many bytes the reserve will take from the free space.
func (s *Space) missingReserve() int64 {
	info, err := os.Stat(s.path)
	if err != nil {
		return s.size
	}
	return s.size - info.Size()
}

// IsFull tells a full disk, or quota, from other failures.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// makeReserve makes sure that the reserve file exists and has real blocks. If that fails for
// another reason than a full disk, only the reserve is missing: requests are still accepted. A
// crash in the middle leaves a file that is too short, which the next start replaces.
func (s *Space) makeReserve() error {
	if s.size == 0 {
		_ = os.Remove(s.path) // left by an earlier configuration
		return nil
	}

	if info, err := os.Stat(s.path); err == nil && info.Size() == s.size {
		return nil
	}

	reserve, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = allocate(reserve, s.size)
		err = errors.Join(err, reserve.Sync(), reserve.Close()) // some filesystems report a full disk only here
	}

	if err != nil {
		_ = os.Remove(s.path)
		s.log.Warn("cannot create the reserve file: on a full disk printing may stop",
			"path", s.path, "bytes", s.size, "err", err)
	}
	return err
}

// FreeReserve removes the reserve, because a commit has found the disk full. It is called again at each
// failed attempt, when the file is gone already.
func (s *Space) FreeReserve() {
	s.IsFull.Store(true)
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("cannot remove the reserve file", "path", s.path, "err", err)
	}
}

// writeZeroes takes up space on filesystems that cannot allocate it.
func writeZeroes(f *os.File, size int64) error {
	block := make([]byte, 256<<10)
	for size > 0 {
		written, err := f.Write(block[:min(size, int64(len(block)))])
		if err != nil {
			return err
		}
		size -= int64(written)
	}
	return nil
}
