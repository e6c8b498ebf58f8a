package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// What takes the place of the file: a base copy, or the file without its free pages. Both replace it under [Lock] and
// bbolt's lock, so no daemon works with it meanwhile, or is about to. The new file is made under another name, as at
// the first start, and gets its name in one step when all of it is on the disk. A crash before that step leaves the
// file as it was, and PATH.new-*, which the next start removes. A crash after it: the new file.

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
	From time.Time // what came before may be missing, if Base is empty
	Kept string    // where the file that was replaced is now; empty: there was none
}

// String says to a person what took the place of the file.
func (r Recovered) String() string {
	if r.Base == "" {
		return "there was no sound copy, so an empty database has begun: orders before " +
			r.From.Local().Format("15:04") + " may be missing"
	}
	return "a copy and its log have taken its place: " +
		"what is not known to have come out prints marked POSSIBLE DUPLICATE"
}

// Recover puts the file at path aside, as PATH.corrupt-TIME, and the newest base copy in dir that check finds sound in
// its place, or an empty file. The caller has the [Lock]. All its tickets are in doubt. What the log has since then is
// done again by the next [Open], which [Queue.TellStations] then tells the stations.
//
// A crash: see above; the damaged file is found again.
func Recover(path, dir string, check func(path string) error) (Recovered, error) {
	return recoverFile(path, dir, "", check, systemHooks)
}

func recoverFile(path, dir, base string, check func(string) error, s storageHooks) (r Recovered, err error) {
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
	files, _ := readCopyFiles(dir) // a folder that cannot be read has no copies
	bases := []string{base}
	if base == "" {
		bases = nil
		for _, n := range slices.Backward(files.bases) {
			bases = append(bases, files.base(n))
		}
	}
	set := func() error {
		return replaceFile(path, old, s, func(temp string) (err error) {
			_ = os.Remove(reservePath(Options{Path: path})) // it may be what takes the space
			r.Base, r.From, err = fill(temp, &files, bases, check)
			return err
		}, func() (err error) {
			r.Kept, err = keep(path, old, s)
			return err
		})
	}
	if err = set(); isDiskFull(err) && base == "" { // then without a base copy
		bases = nil
		err = set()
	}
	if err != nil {
		return fail(err)
	}
	return r, nil
}

// fill makes the new file at temp of the first of the base copies that is sound, else an empty one.
func fill(temp string, files *copyFiles, bases []string, check func(string) error) (base string, from time.Time,
	err error,
) {
	for _, b := range bases {
		err := copyFile(temp, b)
		if err == nil {
			if err = check(temp); err != nil && !errors.Is(err, ErrDamaged) {
				err = fmt.Errorf("%w: %w", errUnchecked, err)
			}
		}
		switch {
		case err == nil:
			at := time.Time{}
			if info, err := os.Stat(b); err == nil {
				at = info.ModTime()
			}
			return b, at, adopt(temp, files, noticeOf{Text: "The database was damaged. Tickets that are marked " +
				"POSSIBLE DUPLICATE may have come out before: look at the rail first."})
		case isDiskFull(err), errors.Is(err, errUnchecked):
			return "", from, err
		}
	}
	from = time.Now()
	if since := files.since(); since > 0 {
		if h, err := files.header(since); err == nil {
			from = h.Began
		}
	}
	if err := os.Truncate(temp, 0); err != nil {
		return "", from, err
	}
	unsynced := storageHooks{sync: func(*os.File) error { return nil }} // synced once, by the caller
	if err := createEmpty(temp, Options{NoSync: true}, unsynced); err != nil {
		return "", from, err
	}
	return "", from, adopt(temp, files, noticeOf{All: true, Before: from})
}

// errUnchecked says nothing about a base copy: to begin an empty file because of it would lose what is in the copy.
var errUnchecked = errors.New("the copy could not be checked")

// adopt makes a file one of the folder of copies: the next start reads the logs since its own number that follow each
// other. All its tickets are put in doubt.
func adopt(temp string, files *copyFiles, n noticeOf) error {
	db, err := bolt.Open(temp, 0o600, boltOptions(true))
	if err != nil {
		return err
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
		if since := files.since(); r.Number < since {
			r.Number = since
		}
		meta := tx.Bucket(bucketNames[bucketMeta])
		return errors.Join(putJSON(meta, keyCopy, r), putJSON(meta, keyNotice, n), doubtAll(tx))
	})
	return errors.Join(err, db.Close())
}

func putJSON(k *bolt.Bucket, key []byte, v any) error {
	raw, err := sealJSON(v)
	if err != nil {
		return err
	}
	return k.Put(key, raw)
}

// Restore is Recover by hand. from is a folder of copies, for example on the disk of another box, or one base copy; if
// it is empty, it is dir. What else is in dir is kept under another name, unless its log continues the base copy.
//
// A crash while a folder is copied: the next start finds the copies that are complete, and does what was asked for.
func Restore(path, dir, from string, check func(path string) error) (r Recovered, err error) {
	lock, err := Lock(path)
	if err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	defer lock.Close()
	base := ""
	switch info, err := os.Stat(cmp.Or(from, dir)); {
	case err != nil:
		return r, fmt.Errorf("restore: %w", err)
	case !info.IsDir():
		if err := check(from); err != nil {
			return r, fmt.Errorf("restore %s: %w", from, err)
		}
		base = from
		if err := continueFrom(dir, from); err != nil {
			return r, fmt.Errorf("restore %s: %w", from, err)
		}
	case from != "" && !sameFile(from, dir):
		if err := importCopies(dir, from); err != nil {
			return r, fmt.Errorf("restore %s: %w", from, err)
		}
	}
	if files, err := readCopyFiles(dir); base == "" && (err != nil || files.none()) {
		return r, errors.Join(fmt.Errorf("restore: there are no copies in %s", dir), err)
	}
	return recoverFile(path, dir, base, check, systemHooks)
}

// continueFrom keeps the copies in dir only if their log continues a base copy.
func continueFrom(dir, base string) error {
	db, err := bolt.Open(base, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if err != nil {
		return err
	}
	var r copyRecord
	err = db.View(func(tx *bolt.Tx) (err error) { r, err = readCopyRecord(tx); return err })
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	files, err := readCopyFiles(dir)
	if err != nil {
		return err
	}
	if first, foreign, err := files.follow(r); err == nil && !foreign && (first > 0 || files.none()) {
		return nil
	}
	return setAside(dir)
}

// importCopies copies a folder of copies into dir. What was there is kept under another name.
func importCopies(dir, from string) error {
	files, err := readCopyFiles(from)
	if err != nil {
		return err
	}
	if files.none() {
		return errors.New("there are no copies in it")
	}
	if err := setAside(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	to := copyFiles{dir: dir}
	for _, n := range files.bases {
		err = errors.Join(err, place(context.Background(), files.base(n), to.base(n), systemHooks))
	}
	for _, n := range files.logs {
		err = errors.Join(err, place(context.Background(), files.log(n), to.log(n), systemHooks))
	}
	return err
}

// setAside renames a folder of copies, if there is one.
func setAside(dir string) error {
	err := os.Rename(dir, dir+".before-restore-"+stamp())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func stamp() string { return time.Now().UTC().Format("20060102T150405Z") }

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return errors.Join(err1, err2) == nil && os.SameFile(x, y)
}

// Compact rewrites the file without its free pages, and returns its size before and after. A file grows
// with the largest backlog and history that it ever had, and only this makes it smaller.
func Compact(path string) (before, after int64, err error) {
	lock, err := Lock(path)
	if err != nil {
		return 0, 0, fmt.Errorf("compact: %w", err)
	}
	defer lock.Close()
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
	f, err := os.CreateTemp(filepath.Dir(path), tempPattern(path))
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

// keep gives the old file a second name, which replaces no other. So it is never without one: after a crash here it is
// still at path, and the second name is one too many, which is used again.
func keep(path string, old *os.File, s storageHooks) (string, error) {
	if old == nil {
		return "", nil
	}
	info, err := old.Stat()
	if err != nil {
		return "", err
	}
	others, _ := filepath.Glob(path + ".corrupt-*") // an error is a path that is a pattern
	for _, other := range others {
		if same, err := os.Stat(other); err == nil && os.SameFile(same, info) {
			return other, syncDir(path, s)
		}
	}
	name := path + ".corrupt-" + stamp()
	kept := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			break
		}
		kept = fmt.Sprintf("%s-%d", name, n)
	}
	if s.link(path, kept) != nil { // this filesystem has no links: after a crash now the file is missing, as it should
		if err := s.rename(path, kept); err != nil {
			return "", err
		}
	}
	return kept, syncDir(path, s)
}

// copyFile copies a base copy to temp.
func copyFile(temp, base string) error {
	in, err := os.Open(base)
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
