package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// A Folder is a folder of copies that one daemon uses: it is locked by who has listed it.
type Folder struct {
	Dir    string
	locked *os.File // nil: it is not there, or another daemon's
	shared error    // that it is another daemon's; nil: it is not
}

// List lists the folder, and locks it if it is there. Who did not get the lock leaves the folder alone from then on:
// the other one may have ended only for a moment.
func (f *Folder) List() (files Copies, err error) {
	if f.locked == nil && f.shared == nil {
		if f.locked, err = lockFolder(f.Dir); errors.Is(err, ErrShared) {
			f.shared = err
		}
	}

	if err = cmp.Or(f.shared, err); err != nil {
		return files, err
	}
	return ReadCopies(f.Dir)
}

// Unlock leaves the folder to others.
func (f *Folder) Unlock() {
	if f.locked != nil {
		_ = f.locked.Close()
	}
}

// readWithin bounds a read from the folder of copies. A disk that is about to fail can block one for ever, and the
// daemon must start: it does so without the copy.
const readWithin = 10 * time.Second

// ErrHangs: the disk of copies does not answer.
var ErrHangs = fmt.Errorf("its disk has not answered for %s", readWithin)

// within returns the results of f, or gives up.
func within[T any](f func() (T, error)) (v T, err error) {
	done := make(chan struct{})
	var result T
	var failed error

	go func() {
		defer close(done)
		result, failed = f()
	}()

	select {
	case <-done:
		return result, failed
	case <-time.After(readWithin):
		return v, ErrHangs
	}
}

// A copyReader reads a file of the folder, as [within] says.
type copyReader struct {
	file *os.File
	buf  []byte // of its own: a read that was given up may still end
}

func openCopy(path string) (*copyReader, error) {
	f, err := within(func() (*os.File, error) { return os.Open(path) })
	return &copyReader{file: f}, err
}

func (r *copyReader) Read(p []byte) (int, error) {
	if r.buf == nil {
		r.buf = make([]byte, 64<<10)
	}
	count, err := within(func() (int, error) { return r.file.Read(r.buf[:min(len(p), len(r.buf))]) })
	return copy(p, r.buf[:count]), err
}

func (r *copyReader) Close() error { return r.file.Close() }

// ErrShared: the folder of copies is another daemon's.
var ErrShared = errors.New("another ticketrail has its copies there: give each its own folder, see storage.copy")

// lockFolder keeps others from a folder of copies until the result is closed. A folder that is not there is locked by
// none, and one whose filesystem has no locks by each.
func lockFolder(dir string) (*os.File, error) {
	folder, err := within(func() (*os.File, error) { return os.Open(dir) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err == nil && errors.Is(syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, ErrShared), folder.Close())
	}
	return folder, err
}

// MaxLogs bounds all logs together, in bytes, while no base copy succeeds: they may be on the disk of the database.
// A restaurant writes less than a hundredth of it between two base copies.
const MaxLogs = 256 << 20

// Bound removes the oldest logs of too many. A base copy before them is then too old for the others, and the stations
// are told from when on nothing is missing.
func (c *Copies) Bound() error {
	total, keep := int64(0), len(c.Logs)
	for ; keep > 0; keep-- {
		if info, err := os.Stat(c.Log(c.Logs[keep-1])); err == nil {
			total += info.Size()
		}
		if total > MaxLogs {
			break
		}
	}

	var err error
	for _, n := range c.Logs[:keep] {
		err = errors.Join(err, os.Remove(c.Log(n)))
	}

	if keep > 0 {
		err = errors.Join(fmt.Errorf("the logs since the last base copy are too long: %d are removed", keep), err)
	}
	return err
}

// Place copies a file to a name, durably, and replaces a file of that name. It writes as [PacedFile] does.
func Place(ctx context.Context, from, to string, s Hooks) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()

	out, err := os.OpenFile(to+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(to + tempSuffix)

	_, err = io.Copy(&PacedFile{Ctx: ctx, File: out, Sync: s.Sync}, in)
	if err == nil {
		err = publish(out, to, s)
	}
	return errors.Join(err, out.Close())
}

// RemoveOld removes the files that are not needed once base copy n is there: the base copies before the last two of
// those up to n, and the logs before them.
func (c *Copies) RemoveOld(n uint64) error {
	bases := slices.DeleteFunc(slices.Clone(c.Bases), func(b uint64) bool { return b >= n })

	bases = append(bases, n)
	oldest := bases[max(len(bases)-2, 0)]

	var err error
	for _, b := range c.Bases {
		if b < oldest {
			err = errors.Join(err, os.Remove(c.Base(b)))
		}
	}
	for _, l := range c.Logs {
		if l < oldest {
			err = errors.Join(err, os.Remove(c.Log(l)))
		}
	}

	return err
}

// A PacedFile is a copy that is being written, at half the speed of its disk, so that orders are stored beside it: an
// SD card that has to write a hundred megabytes at once makes them wait for seconds. Writing ends with the context.
type PacedFile struct {
	Ctx  context.Context
	File *os.File
	Sync func(*os.File) error

	unsynced int // bytes
}

// paceBytes is how much is written at a time. An order waits until the disk has it.
const paceBytes = 512 << 10

// Write implements [io.Writer].
func (f *PacedFile) Write(b []byte) (int, error) {
	if err := f.Ctx.Err(); err != nil {
		return 0, err
	}

	written, err := f.File.Write(b)
	f.unsynced += written
	if err != nil || f.unsynced < paceBytes {
		return written, err
	}

	began := time.Now()
	if err := f.Sync(f.File); err != nil {
		return written, err
	}
	f.unsynced = 0

	select {
	case <-time.After(time.Since(began)):
	case <-f.Ctx.Done():
	}
	return written, nil
}
