package queue

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// Copies of the file: a backup while the queue works, and its way back. Restore and Compact replace the
// file under [Lock] and bbolt's lock, so no daemon works with it meanwhile, or is about to. The new file is
// made under another name, as at the first start, and gets its name in one step when all of it is on the disk.
// A crash before that step leaves the file as it was, and PATH.new-*, which the next start removes. A crash
// after it: the new file.

// Backup writes the file as of the last commit to w. Commits go on meanwhile, but freed pages cannot be
// reused, and the file cannot be reopened after a failure: w must not block for longer than a minute.
func (q *Queue) Backup(w io.Writer) (n int64, err error) {
	err = q.view(func(tx *bolt.Tx) (err error) {
		n, err = tx.WriteTo(w)
		return err
	})
	if err != nil {
		return n, fmt.Errorf("back up %s: %w", q.o.Path, err)
	}
	return n, nil
}

// A Restored says what [Restore] did.
type Restored struct {
	Pending int    // tickets that print again, marked POSSIBLE DUPLICATE
	Held    int    // tickets that wait for a person
	Kept    string // where the file that was replaced is now; empty if there was none
}

// Restore replaces the file at path by a backup. Nobody knows which of the tickets that were pending, held or
// failed in the backup have come out since, so all of them are marked as in doubt. The keys of requests that
// came later are not in it: a retry of one would print again.
//
// The file at path is kept under another name, also if it is damaged. Check the backup in a child process
// first.
func Restore(path, backup string) (Restored, error) { return restore(path, backup, systemHooks) }

func restore(path, backup string, s storageHooks) (r Restored, err error) {
	lock, err := Lock(path)
	if err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	defer lock.Close()
	path = target(path)
	old, err := lockFile(path)
	if err != nil {
		return r, fmt.Errorf("restore %s: %w", path, err)
	}
	if old != nil {
		defer old.Close()
	}
	err = replaceFile(path, old, s, func(temp string) error {
		if err := copyFile(temp, backup, old); err != nil {
			return err
		}
		_ = os.Remove(reservePath(Options{Path: path})) // its counter is that of the old file
		r.Pending, r.Held, err = doubtAll(temp)
		return err
	}, func() (err error) {
		r.Kept, err = keep(path, old, s)
		return err
	})
	if err != nil {
		return r, fmt.Errorf("restore %s: %w", path, err)
	}
	return r, nil
}

// Compact rewrites the file without its free pages, and returns its size before and after. A file grows
// with the largest backlog and history that it ever had, and only this makes it smaller.
func Compact(path string) (before, after int64, err error) {
	lock, err := Lock(path)
	if err != nil {
		return 0, 0, fmt.Errorf("compact: %w", err)
	}
	defer lock.Close()
	_ = os.Remove(reservePath(Options{Path: target(path)})) // its counter is that of the old file
	return compact(path, systemHooks)
}

// compact is Compact for whoever has [Lock] already.
func compact(path string, s storageHooks) (before, after int64, err error) {
	fail := func(err error) (int64, int64, error) { return 0, 0, fmt.Errorf("compact %s: %w", path, err) }
	path = target(path)
	// It holds bbolt's lock until it is closed, when the new file has the name.
	db, _, err := openFile(Options{Path: path}, s.sync)
	if err != nil {
		return fail(err)
	}
	defer db.Close()
	old, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer old.Close()
	err = replaceFile(path, old, s, func(temp string) error {
		dst, err := bolt.Open(temp, 0o600, boltOptions(true)) // synced once, at the end
		if err != nil {
			return err
		}
		dst.AllocSize = 64 << 10    // how far the file may be longer than what is in it
		const transaction = 1 << 20 // bytes: memory of a small box
		return errors.Join(bolt.Compact(dst, db, transaction), dst.Close())
	}, func() error { return nil })
	if err != nil {
		return fail(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fail(err)
	}
	was, err := old.Stat()
	if err != nil {
		return fail(err)
	}
	return was.Size(), info.Size(), nil
}

// The committer compacts by itself what a person would not notice: nothing may wait for it longer than the
// service waits for an answer, also on an SD card.
const (
	quietHour     = time.Hour // without a request; or none since the start
	compactAbove  = 16 << 20  // bytes of the file
	compactAtMost = 32 << 20  // bytes that are copied; for more there is `db compact`
)

// compactIfQuiet compacts the file if more than half of it is free. Operations wait meanwhile. Whatever fails,
// the file is opened again, and is the old one or the new one; both are complete.
func (q *Queue) compactIfQuiet() {
	db, now := q.db.Load(), time.Now()
	info, err := os.Stat(q.o.Path)
	if err != nil || db == nil || now.Sub(q.lastAccept) < quietHour || now.Before(q.nextCompact) {
		return
	}
	free := int64(db.Stats().FreeAlloc)
	if info.Size() < compactAbove || free <= info.Size()/2 || info.Size()-free > compactAtMost {
		return
	}
	q.nextCompact = now.Add(24 * time.Hour) // if it fails: a full disk stays full
	q.db.Store(nil)
	_ = db.Close() // waits for read transactions, which are short
	before, after, err := compact(q.o.Path, q.hooks)
	if err != nil {
		q.log.Warn("the database could not be compacted", "err", err)
	} else {
		q.log.Info("database compacted", "bytes", after, "bytes_before", before,
			"took", time.Since(now).Round(time.Millisecond))
	}
	if err := q.reopen(); err != nil {
		q.commitFailed(classify(err))
	}
}

// target is the file that path is a symbolic link to, else path. A new file must get the name of the old one,
// not that of the link: the link may be there because this disk is too small.
func target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// lockFile opens the file at path and takes the lock that bbolt takes, without reading the file: it may be
// damaged. Nil if there is no file. Closing it releases the lock.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errInUse
		}
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

// replaceFile makes a new file with fill, and puts it in the place of old, which is locked; nil: there is
// none. before is called when the new file is durable.
func replaceFile(path string, old *os.File, s storageHooks, fill func(temp string) error, before func() error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	temp := f.Name()
	defer os.Remove(temp)
	// The daemon's user must be able to open it, whoever runs this command.
	owned, err := ownerOf(path, old)
	if err == nil && owned.Uid != uint32(os.Geteuid()) {
		err = f.Chown(int(owned.Uid), int(owned.Gid))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fill(temp); err != nil {
		return err
	}
	if err := syncPath(temp, s); err != nil {
		return err
	}
	if err := before(); err != nil {
		return err
	}
	if old == nil {
		// A link cannot replace a file that a daemon has made meanwhile.
		err = s.link(temp, path)
	} else {
		err = s.rename(temp, path)
	}
	if err != nil {
		return err
	}
	return syncDir(path, s)
}

// ownerOf is who must own a new file at path: the owner of the old one, else that of the folder.
func ownerOf(path string, old *os.File) (*syscall.Stat_t, error) {
	stat := func() (fs.FileInfo, error) { return os.Stat(filepath.Dir(path)) }
	if old != nil {
		stat = old.Stat
	}
	info, err := stat()
	if err != nil {
		return nil, err
	}
	return info.Sys().(*syscall.Stat_t), nil
}

// keep gives the old file a second name. So it is never without one: after a crash here it is still at
// path, and the second name is one too many.
func keep(path string, old *os.File, s storageHooks) (string, error) {
	if old == nil {
		return "", nil
	}
	kept := fmt.Sprintf("%s.before-restore-%s", path, time.Now().UTC().Format("20060102T150405Z"))
	if err := s.link(path, kept); err != nil {
		return "", fmt.Errorf("keep the present file as %s: %w", kept, err)
	}
	return kept, syncDir(path, s)
}

// copyFile copies a backup to temp. old must be another file: it is about to be replaced.
func copyFile(temp, backup string, old *os.File) error {
	in, err := os.Open(backup)
	if err != nil {
		return err
	}
	defer in.Close()
	from, err := in.Stat()
	if err != nil {
		return err
	}
	if old != nil {
		present, err := old.Stat()
		if err != nil {
			return err
		}
		if os.SameFile(from, present) {
			return fmt.Errorf("%s is the database itself, not a backup", backup)
		}
	}
	out, err := os.OpenFile(temp, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return checkLength(temp)
}

// doubtAll marks every ticket of the file that had not come out as one that may have. Of a held or failed one
// a person must know that: somebody may have had it printed since.
func doubtAll(path string) (pending, held int, err error) {
	db, err := bolt.Open(path, 0o600, boltOptions(true)) // synced once, by the caller
	if err != nil {
		return 0, 0, err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if err := checkFormat(tx); err != nil {
			return err
		}
		b := tx.Bucket(bucketNames[bucketState])
		doubted := map[string][]byte{} // written afterwards: a cursor must not see changes
		err := b.ForEach(func(k, v []byte) error {
			s, err := decodeState(v)
			if err != nil { // the next start makes it failed
				return nil
			}
			switch s.State {
			case ticket.Pending:
				pending++
			case ticket.Held:
				held++
			}
			if !s.doubtIfOwed() {
				return nil
			}
			doubted[string(k)], err = sealJSON(s)
			return err
		})
		for k, v := range doubted {
			err = errors.Join(err, b.Put([]byte(k), v))
		}
		return err
	})
	return pending, held, errors.Join(err, db.Close())
}

// doubtIfOwed marks a ticket that has not come out as one that may have.
func (s *jobState) doubtIfOwed() bool {
	owed := s.State.Open() || s.State == ticket.Failed
	if owed {
		s.Doubts = max(s.Doubts, 1)
	}
	return owed
}
