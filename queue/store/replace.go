package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// The replacements of the file: a base copy, or the file without its free pages. Both replace it under [Lock] and
// bbolt's lock, so no daemon works with it, or is about to. The new file is made under another name, as at
// the first start, and gets its name in one step when all of it is on the disk. A crash before that step leaves the
// file as it was, and PATH.new-*, which the next start removes. A crash after it: the new file.

// Compact rewrites the file without its free pages, and returns its size before and after. A file grows
// with the largest backlog and history that it ever had, and only this makes it smaller.
func Compact(path string, s Hooks) (before, after int64, err error) {
	fail := func(err error) (int64, int64, error) { return 0, 0, fmt.Errorf("compact %s: %w", path, err) }

	lock, err := Lock(path)
	if err != nil {
		return fail(err)
	}
	defer lock.Close()

	path = Target(path)
	// It holds bbolt's lock until it is closed, when the new file has the name.
	db, _, err := Open(path, false, s.Sync)
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
		dst, err := bolt.Open(temp, 0o600, BoltOptions(true)) // synced once, at the end
		if err != nil {
			return err
		}
		dst.AllocSize = 64 << 10    // how far the file may be longer than its content
		const transaction = 1 << 20 // bytes: memory of a small box
		return errors.Join(bolt.Compact(dst, db, transaction), dst.Close(), own(temp, path, old))
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

// Target is the file that path is a symbolic link to, else path. A new file must get the name of the old one,
// not the link's: the link may be there because this disk is too small.
func Target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// lockFile opens the file at path and takes the lock that bbolt takes, without reading the file: it may be
// damaged. Nil if there is no file. Closing it releases the lock.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errInUse
		}
		return nil, fmt.Errorf("lock: %w", err)
	}

	return file, nil
}

// replaceFile makes a new file with fill, and puts it in the place of old, which is locked; nil: there is
// none. before is called when the new file is durable.
func replaceFile(path string, old *os.File, s Hooks, fill func(temp string) error, before func() error) error {
	created, err := os.CreateTemp(filepath.Dir(path), TempPattern(path))
	if err != nil {
		return err
	}
	temp := created.Name()
	defer os.Remove(temp)

	if err := errors.Join(created.Close(), fill(temp)); err != nil {
		return err
	}
	if err := syncPath(temp, s); err != nil {
		return err
	}

	if err := before(); err != nil {
		return err
	}

	if old == nil { // a link cannot replace a file that another process has just made
		err = s.Link(temp, path)
	}
	if old != nil || err != nil && !errors.Is(err, fs.ErrExist) { // or this filesystem has no links
		err = s.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	return syncDir(path, s)
}

// own gives a new file to who must own it: the daemon's user must be able to open it, whoever runs this command. It
// follows no link, because this user can put one there: root would give him another file.
func own(temp, path string, old *os.File) error {
	owned, err := ownerOf(path, old)
	if err == nil && owned.Uid != uint32(os.Geteuid()) {
		err = os.Lchown(temp, int(owned.Uid), int(owned.Gid))
	}
	return err
}

// ownerOf is who must own a new file at path: the owner of the old one, else of the folder.
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

// keep gives the old file a second name, which replaces no other. So it is never without one: after a crash here it is
// still at path, and the second name is one too many, which is used again.
func keep(path string, old *os.File, s Hooks) (string, error) {
	if old == nil {
		return "", nil
	}
	info, err := old.Stat()
	if err != nil {
		return "", err
	}

	others := PutAside(path)
	for _, other := range others {
		if same, err := os.Stat(other); err == nil && os.SameFile(same, info) {
			return other, syncDir(path, s)
		}
	}

	name := path + asideSuffix + stamp()
	kept := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			break
		}
		kept = fmt.Sprintf("%s-%d", name, n)
	}

	if s.Link(path, kept) != nil { // this filesystem has no links: after a crash now the file is missing, as it should
		if err := s.Rename(path, kept); err != nil {
			return "", err
		}
	}

	for len(others) > 1 { // with this one, two are kept
		_ = os.Remove(others[0])
		others = others[1:]
	}

	return kept, syncDir(path, s)
}
