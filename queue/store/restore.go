package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A Recovered is the report of [Recover] and [Restore]. The next start reads the log.
type Recovered struct {
	Base string    // the base copy that took the place of the file; empty: none was sound, and an empty file did
	From time.Time // orders before it may be missing; zero: none is
	Kept string    // where the file that was replaced is now; empty: there was none
}

// String tells a person which copy took the place of the file.
func (r Recovered) String() string {
	text := "a copy and its log have taken its place: " +
		"what is not known to have come out prints marked POSSIBLE DUPLICATE"
	if r.Base == "" {
		text = "there is no sound copy, so an empty database has begun"
	}

	if !r.From.IsZero() {
		text += "; orders before " + r.From.Local().Format("15:04") + " may be missing"
	}

	return text
}

// Recover puts the file at path aside, as PATH.corrupt-TIME, and the newest base copy in dir that check finds sound in
// its place, or an empty file. The caller has the [Lock]. All its tickets are in doubt. The later records of the log
// are done again by the next start.
//
// A crash: see above; the damaged file is found again.
func Recover(
	path, dir string, check func(path string) error, c Contents, s Hooks,
) (r Recovered, err error) {
	path = Target(path)
	fail := func(err error) (Recovered, error) { return r, fmt.Errorf("recover %s: %w", path, err) }

	old, err := lockFile(path)
	if err != nil {
		return fail(err)
	}
	if old != nil {
		defer old.Close()
	}

	removeHalf(path)
	folder := Folder{Dir: dir}
	files, _ := folder.List() // a folder that cannot be read, or is another daemon's, has no copies
	defer folder.Unlock()

	set := func() error {
		return replaceFile(path, old, s, func(temp string) (err error) {
			_ = os.Remove(ReservePath(path)) // the reserve may take the space that is missing
			r.Base, r.From, err = fill(temp, &files, lastWrite(path, &files), check, c)
			return errors.Join(err, own(temp, path, old))
		}, func() (err error) {
			r.Kept, err = keep(path, old, s)
			return err
		})
	}

	if err = set(); IsFull(err) { // then without a base copy: the log goes back to the one before the last
		files.Bases = nil
		err = set()
	}

	if err != nil {
		return fail(err)
	}
	return r, nil
}

// fill makes the new file at temp of the newest base copy that is sound, else an empty one. from is when the log began
// that it needs, if none before it is there.
func fill(
	temp string, files *Copies, written time.Time, check func(string) error, c Contents,
) (base string, from time.Time, err error) {
	for _, n := range slices.Backward(files.Bases) {
		err := copyFile(temp, files.Base(n))
		if IsFull(err) {
			return "", from, err
		}
		if err == nil {
			err = check(temp)
		}
		if err == nil {
			from, err = adopt(temp, files, written, c)
			return files.Base(n), from, err
		}
		// A copy that was not checked says nothing, and to begin an empty file would lose its orders. One that
		// cannot be read, or is damaged, is passed over.
		if _, unread := errors.AsType[*fs.PathError](err); !unread && !errors.Is(err, ErrDamaged) {
			return "", from, err
		}
	}
	if err := os.Truncate(temp, 0); err != nil {
		return "", from, err
	}
	if err := createEmpty(temp, true, c); err != nil {
		return "", from, err
	}
	from, err = adopt(temp, files, written, c)
	return "", from, err
}

// adopt has the new file adopted.
func adopt(temp string, files *Copies, written time.Time, c Contents) (from time.Time, err error) {
	db, err := bolt.Open(temp, 0o600, BoltOptions(true))
	if err != nil {
		return from, err
	}

	err = db.Update(func(tx *bolt.Tx) (err error) {
		from, err = c.Adopt(tx, files, written)
		return err
	})
	return from, errors.Join(err, db.Close())
}

// lastWrite is when the file that is replaced was written last: as of its end the log should be. Of one that is
// missing nothing is known, unless the daemon was stopped.
func lastWrite(path string, files *Copies) time.Time {
	if info, err := os.Stat(path); err == nil {
		return info.ModTime()
	}
	if last, err := files.Last(); err == nil && last.Closed {
		return last.At
	}
	return time.Now()
}

// Restore is Recover by hand. from is a folder of copies, for example on the disk of another box, or one base copy; if
// it is empty, it is dir. Else the files in dir are kept under another name.
//
// A crash while it is copied: the next start finds the copies that are complete, and restores from them.
func Restore(path, dir, from string, check func(path string) error, c Contents) (r Recovered, err error) {
	lock, err := Lock(path)
	if err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	defer lock.Close()

	if old, err := lockFile(Target(path)); err != nil {
		return r, fmt.Errorf("restore: %w", err)
	} else if old != nil {
		old.Close()
	}

	if from != "" && !sameFile(from, dir) {
		owner, group := -1, -1
		if owned, err := ownerOf(path, nil); err == nil { // the daemon's user must be able to write there
			owner, group = int(owned.Uid), int(owned.Gid)
		}
		err = importCopies(dir, from, owner, group, check)
	}

	files, unread := ReadCopies(dir)
	if err == nil && (unread != nil || files.None()) {
		err = errors.Join(errors.New("there are no copies in "+dir), unread)
	}
	if err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}

	return Recover(path, dir, check, c, System)
}

// importCopies copies a folder of copies, or one base copy, into dir. The folder before it is kept under another name.
func importCopies(dir, from string, owner, group int, check func(string) error) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}

	all, to := map[string]string{}, Copies{dir: dir}
	if info.IsDir() {
		files, err := ReadCopies(from)
		if err != nil {
			return err
		}
		for _, n := range files.Bases {
			all[files.Base(n)] = to.Base(n)
		}
		for _, n := range files.Logs {
			all[files.Log(n)] = to.Log(n)
		}
	} else if err := check(from); err != nil {
		return err
	} else {
		all[from] = to.Base(1)
	}
	if len(all) == 0 {
		return errors.New("there are no copies in " + from)
	}

	err = os.Rename(dir, dir+".before-restore-"+stamp())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	err = os.MkdirAll(dir, 0o700)
	for from, to := range all {
		err = errors.Join(err, Place(context.Background(), from, to, System))
		_ = os.Lchown(to, owner, group) // a stick with FAT has no owners
	}

	_ = os.Lchown(dir, owner, group)
	return err
}

func stamp() string { return time.Now().UTC().Format("20060102T150405Z") }

func sameFile(a, b string) bool {
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	return errors.Join(err1, err2) == nil && os.SameFile(first, second)
}

// copyFile copies a base copy to temp.
func copyFile(temp, base string) error {
	in, err := openCopy(base)
	if err != nil {
		return err
	}
	defer in.Close()

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
