// Package store is the file in which everything is kept, and its copies: how it is made, locked, opened, checked and
// replaced, so that a power cut at any moment leaves a file that can be read, and a damaged one has a successor. It
// knows bbolt and the disk, and nothing of tickets: three functions know the content of the file ([Contents]).
//
// The package queue decides which changes are committed, and when.
package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Errors that callers distinguish with [errors.Is].
var (
	// ErrDamaged: the file, or a record in it, is not as it was written.
	ErrDamaged = errors.New("damaged")
	// ErrFull: the disk is full.
	ErrFull = errors.New("the disk is full")
)

// Contents has the functions that know the content of the file.
type Contents struct {
	// Create writes the content of an empty file.
	Create func(tx *bolt.Tx) error
	// Check reads every value, because a page can be sound when the size of a value in it is not.
	Check func(tx *bolt.Tx) error
	// Adopt makes a base copy, or an empty file, the one that the folder of copies belongs to. written is when the file
	// that it replaces was written last. Orders before from may be missing; zero: none is.
	Adopt func(tx *bolt.Tx, files *Copies, written time.Time) (from time.Time, err error)
}

// The parts that bbolt lacks: it trusts the length of the file and the meta page it finds,
// and it creates a database in place. On a box that loses power at any moment each of these has to
// be made safe around it.

// mapSize is how much address space bbolt maps at first: 1 GiB, on 32 bits 256 MiB. When a map has
// to grow, the writer waits for all readers. Address space is not memory, and on 64 bits it costs
// nothing.
const mapSize = 1 << (26 + strconv.IntSize/16)

// Open opens an existing file. It checks the length first: bbolt maps as much as the file says it
// contains, and reading a page behind the end kills the process with SIGBUS, which no recover
// catches.
//
// sync is called once, with the file: see rewriteMeta. identity tells whether a name still belongs to this file.
func Open(path string, noSync bool, sync func(*os.File) error) (db *bolt.DB, identity fs.FileInfo, err error) {
	err = checkLength(path)
	if err == nil {
		identity, err = os.Stat(path)
	}
	if err == nil {
		db, err = openBolt(path, BoltOptions(noSync))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}

	// bbolt opens the file and then waits for its lock. The owner of the lock may have replaced the file in this
	// time: then the lock is on a file that no later start will find.
	if after, bad := os.Stat(path); bad != nil || !os.SameFile(identity, after) {
		err = errors.Join(errors.New("it was replaced just now: start again"), bad)
	} else {
		err = rewriteMeta(path, sync)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}

	// The file grows in steps of 4 MiB instead of bbolt's 16: SD cards are small, and a nearly full
	// disk stops later.
	db.AllocSize = 4 << 20
	return db, identity, nil
}

// openBolt opens a file with bbolt, or says that another process has it open.
func openBolt(path string, o *bolt.Options) (*bolt.DB, error) {
	db, err := bolt.Open(path, 0o600, o)
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, errInUse
	}
	return db, err
}

var errInUse = errors.New("another ticketrail process has it open: use the commands that talk to it, " +
	"or stop it first with systemctl stop ticketrail")

// rewriteMeta makes the state that will be read durable: it writes the newest meta page once more, unchanged,
// and syncs the file.
//
// A meta page whose fsync failed, or was never called because the process was killed, is in the
// page cache and perhaps nowhere else. Using it is wrong in two ways. A 200 would depend on it. And
// the next commit reuses pages that this meta page has freed, but that the older one, which is all
// the disk has, still needs: after a power cut neither would be readable. A sync alone is not
// enough, because Linux marks a page clean after a failed write. The pages that the meta page
// points to were synced before it was written.
//
// A crash before the sync: the disk has the meta page, or a torn one and the older one, which is
// complete, and no page that it needs was reused. A crash after it: the disk has the state that will be read.
func rewriteMeta(path string, sync func(*os.File) error) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()

	newest, ok := newestMeta(file)
	if !ok {
		return fmt.Errorf("%w: no valid meta page", ErrDamaged)
	}

	page := io.NewSectionReader(file, newest.at, newest.pageSize)
	if _, err := io.Copy(io.NewOffsetWriter(file, newest.at), page); err != nil {
		return err
	}

	return sync(file)
}

// BoltOptions: a lock is waited for 3 s, because the process before may be ending. The freelist is
// not stored, because that would be more to sync in each commit; bbolt rebuilds it when it opens
// the file.
func BoltOptions(noSync bool) *bolt.Options {
	return &bolt.Options{
		Timeout:         3 * time.Second,
		FreelistType:    bolt.FreelistMapType,
		NoFreelistSync:  true,
		InitialMmapSize: mapSize,
		NoSync:          noSync,
	}
}

// Create makes a new file if there is none. Power may fail at any point, and bbolt's own creation
// would then leave a file that no later Open can read. So the file is made under another name, and
// gets its own name only when all of it is on the disk.
//
// A crash before the link leaves PATH.new-*, which the next start removes. A crash after it leaves
// an empty queue. No request was answered yet in either case.
func Create(path, copies string, noSync bool, c Contents, s Hooks) error {
	removeHalf(path)

	if _, err := os.Stat(path); err == nil {
		// An earlier start may have ended between the link and the sync of the directory, and a name
		// that is not synced can vanish with everything that was accepted since.
		return syncDir(path, s)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	folder := Folder{Dir: copies}
	files, err := folder.List()
	folder.Unlock()
	if copies != "" && folder.shared == nil && (err != nil || !files.None()) {
		return fmt.Errorf("open %s: %w: it is missing, and there are copies of it in %s", path, ErrDamaged, copies)
	}

	err = replaceFile(path, nil, s, func(temp string) error { return createEmpty(temp, noSync, c) },
		func() error { return nil })
	switch {
	case errors.Is(err, fs.ErrExist): // another process has just made one
		return syncDir(path, s)
	case err != nil:
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

// TempPattern is for [os.CreateTemp], of a new file for a path.
func TempPattern(path string) string { return filepath.Base(path) + ".new-*" }

// removeHalf removes the new file that a killed start has left half made.
func removeHalf(path string) {
	for _, half := range beside(path, ".new-") {
		_ = os.Remove(half)
	}
}

// PutAside lists the damaged files that were at path and have not been moved away yet, oldest first. A
// folder that cannot be read has none.
func PutAside(path string) []string { return beside(Target(path), asideSuffix) }

const asideSuffix = ".corrupt-"

// beside lists the files whose names are the name of path with that suffix, and more, in order.
func beside(path, suffix string) (found []string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+suffix) {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return found
}

// syncDir makes the name of a file durable: a synced file whose directory is not synced can vanish
// in a power cut.
func syncDir(path string, s Hooks) error {
	if err := syncPath(filepath.Dir(path), s); err != nil {
		return fmt.Errorf("open %s: sync its directory: %w", path, err)
	}
	return nil
}

// createEmpty makes an empty file a database without contents. The caller syncs it.
func createEmpty(path string, noSync bool, c Contents) error {
	db, err := bolt.Open(path, 0o600, BoltOptions(noSync))
	if err != nil {
		return err
	}
	db.AllocSize = 64 << 10
	return errors.Join(db.Update(c.Create), db.Close())
}

func syncPath(path string, s Hooks) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(s.Sync(file), file.Close())
}

// The two meta pages of a bbolt file are its first two pages: a page header of 16 bytes, then these
// fields. The layout is private to bbolt; meta_test.go checks it against the bbolt of go.mod.
const (
	pageHeader   = 16
	metaSize     = 64
	boltMagic    = 0xED0CDAED
	offPageSize  = 8
	offHighWater = 40
	offTxid      = 48
	offChecksum  = 56
)

// meta has the used fields of a meta page.
type meta struct {
	at       int64 // offset of the page in the file
	pageSize int64
	txid     uint64
	need     uint64 // bytes that the file must have: its high-water mark
}

// newestMeta reads the meta page that bbolt will use: of the valid ones, the one with the later
// transaction. Like bbolt, it takes the offset of the second from the first, and searches for the
// second only if the first is not valid, because elsewhere a page may contain anything.
func newestMeta(f *os.File) (meta, bool) {
	if first, ok := readMeta(f, 0); ok {
		second, ok := readMeta(f, first.pageSize)
		if ok && second.txid > first.txid {
			return second, true
		}
		return first, true
	}
	for size := int64(1 << 10); size <= 64<<10; size *= 2 {
		if second, ok := readMeta(f, size); ok && second.pageSize == size {
			return second, true
		}
	}
	return meta{}, false
}

// readMeta reads a meta page. ok is false if its magic number or checksum is wrong.
func readMeta(f *os.File, at int64) (meta, bool) {
	page := make([]byte, pageHeader+metaSize)
	_, _ = f.ReadAt(page, at) // bytes that were not read are zero, and not valid
	fields, host := page[pageHeader:], binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(fields[:offChecksum])
	if host.Uint32(fields) != boltMagic || host.Uint64(fields[offChecksum:]) != sum.Sum64() {
		return meta{}, false
	}

	size := host.Uint32(fields[offPageSize:])
	return meta{
		at: at, pageSize: int64(size), txid: host.Uint64(fields[offTxid:]),
		need: host.Uint64(fields[offHighWater:]) * uint64(size),
	}, true
}

// checkLength returns an error if the file is shorter than its newest meta page says. A copy that
// was cut off is the usual cause.
func checkLength(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()

	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s, not a file", info.Mode().Type())
	}

	newest, ok := newestMeta(file)
	switch {
	case !ok:
		return fmt.Errorf("%w: no valid meta page in %d bytes: not a database, or its first pages are overwritten",
			ErrDamaged, info.Size())
	case uint64(info.Size()) < newest.need:
		return fmt.Errorf("%w: %d bytes long, but it should have %d: its end was cut off",
			ErrDamaged, info.Size(), newest.need)
	}
	return nil
}

// Hooks are the calls at which tests make storage fail.
type Hooks struct {
	Commit func(tx *bolt.Tx) error // ends the transaction, also when it fails
	Sync   func(f *os.File) error  // of the file each time it is opened, of a new one, and of the directory
	Link   func(file, name string) error
	Rename func(from, to string) error // of a file that replaces another; see replaceFile
}

// System are the calls themselves.
var System = Hooks{
	Commit: (*bolt.Tx).Commit, Sync: (*os.File).Sync, Link: os.Link, Rename: os.Rename,
}
