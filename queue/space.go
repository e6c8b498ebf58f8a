package queue

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	defaultReserve = 16 << 20
	// watermark is how much must be free to take new requests: a batch at its largest.
	minFree = 8 << 20
)

// space watches the disk. It keeps a file of ballast beside the queue, which is thrown
// overboard when a commit finds the disk full: what is already accepted can then still be
// printed and settled. Nothing new is taken until the ballast is back.
//
// Only the committer uses it, but for isFull.
type space struct {
	path   string // of the ballast
	dir    string
	size   int64 // 0: none
	log    *slog.Logger
	isFull atomic.Bool
}

func reservePath(o Options) string { return o.Path + ".reserve" }

func newSpace(o Options) *space {
	s := &space{path: reservePath(o), dir: filepath.Dir(o.Path), size: o.Reserve, log: o.Logger}
	if s.size == 0 {
		s.size = defaultReserve
	}
	s.size = max(s.size, 0)
	if isDiskFull(s.makeReserve()) {
		s.isFull.Store(true)
	}
	return s
}

// lookFull is how often the disk is asked again while it is full.
const fullCheckEvery = 5 * time.Second

// full asks the disk whether new requests must be refused.
func (s *space) checkFull() bool {
	free, err := freeBytes(s.dir)
	if err != nil {
		return s.isFull.Load() // the commit will tell
	}
	switch {
	case !s.isFull.Load() && free < minFree:
		s.isFull.Store(true)
		s.log.Error("disk is nearly full; new requests are refused until there is room: delete something there",
			"directory", s.dir, "free_bytes", free, "need_bytes", 2*minFree+s.missing())
	case s.isFull.Load() && free >= 2*minFree+s.missing() && !isDiskFull(s.makeReserve()):
		s.isFull.Store(false)
		s.log.Info("disk has room again; requests are accepted", "free_bytes", free)
	}
	return s.isFull.Load()
}

// missing is what the ballast will take from the free space.
func (s *space) missing() int64 {
	info, err := os.Stat(s.path)
	if err != nil {
		return s.size
	}
	return max(0, s.size-info.Size())
}

// noRoom tells a full disk from other failures. When the ballast cannot be made for another
// reason, that costs the reserve, not the orders.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// ballast makes sure that the file is there and takes up real blocks. A crash in the midst
// leaves one that is too short, which the next start makes anew.
func (s *space) makeReserve() error {
	if s.size == 0 {
		_ = os.Remove(s.path) // of an earlier configuration
		return nil
	}
	if info, err := os.Stat(s.path); err == nil && info.Size() == s.size {
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = allocate(f, s.size)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		_ = os.Remove(s.path)
		s.log.Warn("cannot set the reserve aside", "path", s.path, "bytes", s.size, "err", err)
	}
	return err
}

// release gives the ballast up. It is called when a commit has found the disk full.
func (s *space) release() {
	s.isFull.Store(true)
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("cannot give up the reserve", "path", s.path, "err", err)
	}
}

// zeroes fills a file the plain way.
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
