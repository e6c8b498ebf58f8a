package queue

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

	"ticketrail/queue/ticket"
)

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

// A Recovered says what [Recover] and [Restore] did. The next [Open] reads the log.
type Recovered struct {
	Base string    // the base copy that took the place of the file; empty: none was sound, and an empty file did
	From time.Time // what came before may be missing; zero: nothing is
	Kept string    // where the file that was replaced is now; empty: there was none
}

// String says to a person what took the place of the file.
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
// its place, or an empty file. The caller has the [Lock]. All its tickets are in doubt. What the log has since then is
// done again by the next [Open], which [Queue.TellStations] then tells the stations.
//
// A crash: see above; the damaged file is found again.
func Recover(path, dir string, check func(path string) error) (Recovered, error) {
	return recoverFile(path, dir, check, systemHooks)
}

func recoverFile(path, dir string, check func(string) error, s storageHooks) (r Recovered, err error) {
	path = target(path)
	fail := func(err error) (Recovered, error) { return r, fmt.Errorf("recover %s: %w", path, err) }
	old, err := lockFile(path)
	if err != nil {
		return fail(err)
	}
	if old != nil {
		defer old.Close()
	}
	removeHalf(path)
	copies := &copier{dir: dir}
	files, _ := copies.list() // a folder that cannot be read, or is another daemon's, has no copies
	defer copies.unlock()
	set := func() error {
		return replaceFile(path, old, s, func(temp string) (err error) {
			_ = os.Remove(reservePath(Options{Path: path})) // it may be what takes the space
			r.Base, r.From, err = fill(temp, &files, lastWrite(path, &files), check)
			return err
		}, func() (err error) {
			r.Kept, err = keep(path, old, s)
			return err
		})
	}
	if err = set(); isDiskFull(err) { // then without a base copy: the log goes back to the one before the last
		files.bases = nil
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
	temp string, files *copyFiles, written time.Time, check func(string) error,
) (base string, from time.Time, err error) {
	for _, n := range slices.Backward(files.bases) {
		err := copyFile(temp, files.base(n))
		if isDiskFull(err) {
			return "", from, err
		}
		if err == nil {
			err = check(temp)
		}
		if err == nil {
			from, err = adopt(temp, files, written)
			return files.base(n), from, err
		}
		// A copy that was not checked says nothing, and to begin an empty file would lose what is in it. One that
		// cannot be read, or is damaged, is passed over.
		if _, unread := errors.AsType[*fs.PathError](err); !unread && !errors.Is(err, ErrDamaged) {
			return "", from, err
		}
	}
	if err := os.Truncate(temp, 0); err != nil {
		return "", from, err
	}
	unsynced := storageHooks{sync: func(*os.File) error { return nil }} // synced once, by the caller
	if err := createEmpty(temp, Options{NoSync: true}, unsynced); err != nil {
		return "", from, err
	}
	from, err = adopt(temp, files, written)
	return "", from, err
}

// adopt makes a file one of the folder of copies: the next start reads the logs since its own number that follow each
// other. If there are none before it, what came before from may be missing, and so it is if they end long before
// written. All its tickets are put in doubt.
func adopt(temp string, files *copyFiles, written time.Time) (from time.Time, err error) {
	db, err := bolt.Open(temp, 0o600, boltOptions(true))
	if err != nil {
		return from, err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if err := checkFormat(tx); err != nil {
			return err
		}
		r, err := readCopyRecord(tx)
		if err != nil {
			return err
		}
		if name := files.database(); name != "" {
			r.Database = name
		}
		since := files.since()
		if r.Number == 0 || r.Number < since {
			r.Number, from = since, time.Now()
			if h, err := files.header(since); err == nil {
				from = h.Began
			}
		}
		if last, _ := files.last(); len(files.logs) == 0 || files.logs[len(files.logs)-1] < r.Number ||
			written.After(last.At.Add(copyLate)) {
			from = time.Now()
		}
		meta := tx.Bucket(bucketNames[bucketMeta])
		return errors.Join(putJSON(meta, keyCopy, r), putJSON(meta, keyNotice, noticeOf{from}), doubtAll(tx))
	})
	return from, errors.Join(err, db.Close())
}

// lastWrite is when the file that is replaced was written last: as of its end the log should be. Of one that is
// missing nothing is known, unless the daemon was stopped.
func lastWrite(path string, files *copyFiles) time.Time {
	if info, err := os.Stat(path); err == nil {
		return info.ModTime()
	}
	if last, err := files.last(); err == nil && last.Closed {
		return last.At
	}
	return time.Now()
}

func putJSON(k *bolt.Bucket, key []byte, v any) error {
	raw, err := sealJSON(v)
	if err != nil {
		return err
	}
	return k.Put(key, raw)
}

// Restore is Recover by hand. from is a folder of copies, for example on the disk of another box, or one base copy; if
// it is empty, it is dir. Else what is in dir is kept under another name.
//
// A crash while it is copied: the next start finds the copies that are complete, and does what was asked for.
func Restore(path, dir, from string, check func(path string) error) (r Recovered, err error) {
	lock, err := Lock(path)
	if err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	defer lock.Close()
	if old, err := lockFile(target(path)); err != nil {
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
	files, unread := readCopyFiles(dir)
	if err == nil && (unread != nil || files.none()) {
		err = errors.Join(errors.New("there are no copies in "+dir), unread)
	}
	if err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	return recoverFile(path, dir, check, systemHooks)
}

// importCopies copies a folder of copies, or one base copy, into dir. What was there is kept under another name.
func importCopies(dir, from string, owner, group int, check func(string) error) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	all, to := map[string]string{}, copyFiles{dir: dir}
	if info.IsDir() {
		files, err := readCopyFiles(from)
		if err != nil {
			return err
		}
		for _, n := range files.bases {
			all[files.base(n)] = to.base(n)
		}
		for _, n := range files.logs {
			all[files.log(n)] = to.log(n)
		}
	} else if err := check(from); err != nil {
		return err
	} else {
		all[from] = to.base(1)
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
		err = errors.Join(err, place(context.Background(), from, to, systemHooks))
		_ = os.Chown(to, owner, group) // a stick with FAT has no owners
	}
	_ = os.Chown(dir, owner, group)
	return err
}

func stamp() string { return time.Now().UTC().Format("20060102T150405Z") }

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return errors.Join(err1, err2) == nil && os.SameFile(x, y)
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

// doubtAll marks every ticket of the file that had not come out as one that may have. Of a held or failed one
// a person must know that: somebody may have had it printed since.
func doubtAll(tx *bolt.Tx) error {
	b := tx.Bucket(bucketNames[bucketState])
	doubted := map[string][]byte{} // written afterwards: a cursor must not see changes
	err := b.ForEach(func(k, v []byte) error {
		s, err := decodeState(v)
		if err != nil || !s.doubtIfOwed() {
			return err
		}
		doubted[string(k)], err = sealJSON(s)
		return err
	})
	for k, v := range doubted {
		err = errors.Join(err, b.Put([]byte(k), v))
	}
	return err
}

// doubtIfOwed marks a ticket that has not come out as one that may have.
func (s *jobState) doubtIfOwed() bool {
	owed := s.State.Open() || s.State == ticket.Failed
	if owed {
		s.Doubts = max(s.Doubts, 1)
	}
	return owed
}
