package queue

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/queuetest"
	"ticketrail/queue/store"
)

func TestANewFileAndThenItsNameAreSyncedBeforeItIsUsed(t *testing.T) {
	o := newQueue(t).o
	for _, want := range []string{"sync queue.db.new-, link, sync , sync queue.db", "sync , sync queue.db"} {
		s := &stepper{}
		q, err := open(o, s.hooks())
		must(t, err)
		must(t, q.Close())
		wantEqual(t, strings.Join(s.done, ", "), want)
	}
}

func TestAFirstStartWhoseSyncFailsIsAnErrorAndTheNextOneWorks(t *testing.T) {
	for _, step := range []int{1, 3, 4} { // the second one makes a link
		o := newQueue(t).o
		for _, at := range []int{step, 1} {
			s := &stepper{at: at, end: func() error { return syscall.EIO }}
			wantErr(t, errOf(open(o, s.hooks())), syscall.EIO)
		}
		left, _ := filepath.Glob(o.Path + ".new-*")
		wantTrue(t, len(left) == 0, step, left)
		q, err := Open(o)
		must(t, err)
		must(t, q.Close())
	}
}

func TestCommitsAreSyncedUnlessATestSaysNo(t *testing.T) {
	closed, err := os.Open(os.DevNull)
	must(t, err)
	must(t, closed.Close())
	for _, no := range []bool{false, true} {
		q, err := Open(Options{Path: filepath.Join(t.TempDir(), "queue.db"), Reserve: -1, NoSync: no})
		must(t, err)
		defer q.Close()
		db, err := q.db.Load(), q.hooks.Sync(closed)
		wantTrue(t, db.NoSync == no && (err == nil) == no && db.AllocSize == 4<<20, no, db.NoSync, db.AllocSize, err)
	}
}

func TestAFilesystemWithoutLinksCanHoldTheQueue(t *testing.T) {
	o := newQueue(t).o
	h := store.System
	h.Link = func(string, string) error { return syscall.EPERM }
	q, err := open(o, h)
	must(t, err)
	must(t, q.Close())
	h.Link = func(file, _ string) error { return errors.Join(syscall.EPERM, os.Remove(file)) }
	path := filepath.Join(t.TempDir(), "queue.db")
	wantErr(t, store.Create(path, "", true, Contents, h), os.ErrNotExist) // no rename either

	lost := withHistory(t)
	h.Link = func(string, string) error { return syscall.EPERM }
	must(t, os.Remove(lost.o.Path))
	must(t, recoverQueue(lost.o, h))
	lost.wantHistory(true)
}

func TestAFileThatAnotherProcessMadeMeanwhileIsNotReplaced(t *testing.T) {
	other := start(t)
	other.accept(order("a", "grill"))
	other.stop()
	q := newQueue(t)
	h := store.System
	h.Link = func(_, name string) error { return errors.Join(os.Link(other.o.Path, name), syscall.EEXIST) }
	opened, err := open(q.o, h)
	must(t, err)
	q.Queue = opened
	q.wantDuplicate(order("a", "grill"))
}

// TestAPathThatCannotBeUsedIsAnErrorAndNotCalledDamaged: a damaged file is moved aside at the start, and a directory
// must not be.
func TestAPathThatCannotBeUsedIsAnErrorAndNotCalledDamaged(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop.db")
	must(t, os.Symlink(loop, loop))
	for _, path := range []string{dir, loop, filepath.Join(dir, "missing", "queue.db")} {
		for _, err := range []error{errOf(Open(Options{Path: path, Reserve: -1})), Check(path)} {
			wantTrue(t, err != nil && !errors.Is(err, ErrDamaged), path, err)
		}
	}
	wantErrText(t, errOf(Open(Options{})), "Options.Path is missing")
	wantErr(t, Check(filepath.Join(dir, "missing.db")), os.ErrNotExist)
}

func TestAFileWithoutItsFormatOrABucketIsDamaged(t *testing.T) {
	format := func(v []byte) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error { return tx.Bucket(bucketNames[bucketMeta]).Put(keyFormat, v) }
	}
	without := func(bucket int) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error { return tx.DeleteBucket(bucketNames[bucket]) }
	}
	each(t, map[string]func(tx *bolt.Tx) error{
		"checksum":                  format([]byte("1")),
		"no number":                 format(seal([]byte("x"))),
		"zero":                      format(seal([]byte("0"))),
		"no KV bucket":              without(bucketKV),
		"a file of another program": without(bucketMeta),
	}, func(t *testing.T, q *testQueue, change func(tx *bolt.Tx) error) {
		q.change(change)
		wantErr(t, errOf(Open(q.o)), ErrDamaged)
		wantErr(t, Check(q.o.Path), ErrDamaged)
	})
}

func TestCheckFindsAKeyInTheWrongOrder(t *testing.T) {
	if path := os.Getenv(checkInChild); path != "" {
		err := Check(path)
		if errors.Is(err, ErrDamaged) {
			os.Exit(exitDamaged)
		}
		must(t, err)
		return
	}
	q := start(t)
	for n := range 20 {
		q.must(q.KV("x").Put(bg, fmt.Sprintf("key number %02d", n), make([]byte, 150)))
	}
	q.stop()
	content, err := os.ReadFile(q.o.Path)
	must(t, err)
	content = bytes.ReplaceAll(content, []byte("key number 07"), []byte("key number 77"))
	must(t, os.WriteFile(q.o.Path, content, 0o600))
	for range 10 { // now and then bbolt crashes on such a file
		child := exec.Command(os.Args[0], "-test.run=^TestCheckFindsAKeyInTheWrongOrder$")
		child.Env = append(os.Environ(), checkInChild+"="+q.o.Path)
		out, err := child.CombinedOutput()
		wantTrue(t, err != nil, out)
		if child.ProcessState.ExitCode() == exitDamaged {
			return
		}
	}
	t.Error("it never says that the file is damaged")
}

func TestCheckReadsAFileThatOthersRead(t *testing.T) {
	q := start(t)
	q.stop()
	other, err := bolt.Open(q.o.Path, 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	defer other.Close()
	must(t, Check(q.o.Path))
}

func TestBooksThatDoNotBalanceAreLoggedAtTheStartAndTheTicketsPrint(t *testing.T) {
	var log queuetest.Log
	q := start(t, logTo(&log))
	q.accept(order("a", "grill"))
	q.change(func(tx *bolt.Tx) error {
		r, err := sealJSON(stationRecord{Books: Books{Enqueued: 5}})
		return errors.Join(err, tx.Bucket(bucketNames[bucketStations]).Put([]byte("grill"), r))
	})
	opened, err := Open(q.o)
	must(t, err)
	defer opened.Close()
	n := opened.Unaccounted()
	wantTrue(t, n == 4 && strings.Contains(log.String(), "component=queue unaccounted_jobs=4"), n, &log)
	l, err := opened.Take(bg, "grill")
	wantTrue(t, err == nil && l.Delivery().Ticket.Request == "a", l, err)
}

// Check must be called in a child process: with a path in this variable, the next test is that child.
const (
	checkInChild = "TICKETRAIL_TEST_CHECK"
	exitDamaged  = 7
)
