package queue

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	bolt "go.etcd.io/bbolt"

	"ticketrail/deploy/slow"
	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

func TestAReplacementThatFailsAtAnyStepLosesNothing(t *testing.T) {
	for what, r := range replacing {
		for step := 1; step <= r.steps; step++ {
			for _, persist := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, step %d, persists %v", what, step, persist), func(t *testing.T) {
					q := r.start(t)
					s := &stepper{at: step, persist: persist, end: func() error { return syscall.EIO }}

					// A filesystem without links: the damaged file is renamed.
					err := r.run(q.o, s.hooks())
					noLinks := what == "recover" && step == 2
					wantTrue(t, errors.Is(err, syscall.EIO) != noLinks, err)
					r.after(q)
				})
			}
		}

		q := r.start(t)
		s := &stepper{}
		must(t, r.run(q.o, s.hooks()))
		wantEqual(t, len(s.done), r.steps, what)
		r.after(q)
	}
}

func TestAReplacementThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	slow.Test(t)
	for what, r := range replacing {
		for step := 1; step <= r.steps; step++ {
			for _, persist := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, step %d, persists %v", what, step, persist), func(t *testing.T) {
					q := r.start(t)
					c := exec.Command(os.Args[0], "-test.run=^TestReplaceInAProcessThatIsKilled$")
					c.Env = append(slices.Clip(os.Environ()), killEnv+"="+strings.Join(
						[]string{what, strconv.Itoa(step), strconv.FormatBool(persist), q.o.Path}, "|"))

					out, err := c.CombinedOutput()
					e, ok := errors.AsType[*exec.ExitError](err)
					wantTrue(t, ok && e.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL, err, out)
					r.after(q)
				})
			}
		}
	}
}

// TestReplaceInAProcessThatIsKilled is the child process of the test above, and passes alone.
func TestReplaceInAProcessThatIsKilled(t *testing.T) {
	a := strings.Split(os.Getenv(killEnv), "|")
	if len(a) != 4 {
		return
	}
	step, err := strconv.Atoi(a[1])
	must(t, err)
	s := &stepper{at: step, persist: a[2] == "true", end: func() error {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}}
	o := Options{Path: a[3]}
	withCopies(&o)
	_ = replacing[a[0]].run(o, s.hooks())
}

// TestADatabaseBehindASymbolicLinkIsReplacedWhereItIs: a box with a small card has the file on another disk, and a
// link to it.
func TestADatabaseBehindASymbolicLinkIsReplacedWhereItIs(t *testing.T) {
	for what, r := range replacing {
		q := r.start(t)
		o := q.o
		o.Path = filepath.Join(t.TempDir(), "link")
		must(t, os.Symlink(q.o.Path, o.Path))
		must(t, r.run(o, store.System))

		info, err := os.Lstat(o.Path)
		wantTrue(t, err == nil && info.Mode().Type() == os.ModeSymlink, what, info, err)
		r.after(q)
	}
}

func TestAFileThatIsInUseIsNeitherRestoredNorCompacted(t *testing.T) {
	q := withHistory(t)
	synctest.Test(t, func(t *testing.T) { // which makes the wait for the lock short
		q.open()
		wantErrText(t, errOf(store.Restore(q.o.Path, q.o.Copy, "", Check, Contents)), inUse)
		_, _, err := store.Compact(q.o.Path, store.System)
		wantErrText(t, err, inUse)
		q.stop()
	})
}

// TestAStartThatWaitedForARestoreDoesNotWorkWithTheOldFile: bbolt opens the file and then waits for the lock, which
// may be a restore's.
func TestAStartThatWaitedForARestoreDoesNotWorkWithTheOldFile(t *testing.T) {
	q := withHistory(t)
	synctest.Test(t, func(t *testing.T) {
		files := q.copies()
		lock, err := os.Open(q.o.Path)
		must(t, err)
		must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
		opened := make(chan error, 1)
		go func() { opened <- errOf(Open(q.o)) }()
		synctest.Wait() // it has the old file, and waits

		must(t, os.Rename(files.Base(files.Newest()), q.o.Path))
		must(t, lock.Close())
		wantErrText(t, <-opened, "it was replaced just now: start again")
	})
}

func TestCompactGivesBackTheSpaceOfAnEveningAndKeepsEveryTicket(t *testing.T) {
	q := start(t)
	q.orders(2, "grill")
	big := order("big", "grill")
	big.Body = bytes.Repeat([]byte("x"), 1<<20)
	q.accept(big)
	q.must(q.db.Load().Update(func(tx *bolt.Tx) error { // as pruning does, after three days
		return tx.Bucket(bucketNames[bucketRequests]).Delete(key64(3))
	}))
	want := q.jobs(Filter{})
	q.stop()

	before, after, err := store.Compact(q.o.Path, store.System)
	must(t, err)
	info, _ := os.Stat(q.o.Path)
	wantTrue(t, after == info.Size() && before >= 1<<20 && after <= before/2, before, after)
	left := matches(q.o.Path + ".[^l]*") // all but the lock
	wantTrue(t, len(left) == 0, left)
	q.open()
	wantEqual(t, fmt.Sprint(q.jobs(Filter{})), fmt.Sprint(want))
	q.printAll("grill", id(0), id(1), "big")
}

// replacing replaces the file of a queue, with the steps that it has. after checks the promises when run
// ended at any step.
var replacing = map[string]struct {
	steps int
	start func(t *testing.T) *testQueue
	run   func(o Options, s store.Hooks) error
	after func(*testQueue)
}{
	"compact": {4, withHistory, func(o Options, s store.Hooks) error {
		_, _, err := store.Compact(o.Path, s)
		return err
	}, func(q *testQueue) {
		q.wantHistory(false)
		_, _, err := store.Compact(q.o.Path, store.System)
		q.must(err)
		q.wantHistory(false)
	}},
	"recover": {5, func(t *testing.T) *testQueue {
		q := withHistory(t)
		q.must(os.WriteFile(q.o.Path, []byte("damaged"), 0o600))
		return q
	}, recoverQueue, func(q *testQueue) {
		if content, err := os.ReadFile(q.o.Path); err != nil || string(content) == "damaged" {
			q.must(recoverQueue(q.o, store.System))
		}
		kept := matches(q.o.Path + ".corrupt-*")
		wantEqual(q.t, len(kept), 1, kept)
		b, err := os.ReadFile(kept[0])
		wantTrue(q.t, err == nil && string(b) == "damaged", err)
		q.wantHistory(true)
		left := matches(q.o.Path + ".new-*")
		wantTrue(q.t, len(left) == 0, left)
	}},
}

func recoverQueue(o Options, s store.Hooks) error {
	return errOf(store.Recover(o.Path, o.Copy, Check, Contents, s))
}

// killEnv has the kind of replacement, at which step the process is killed, whether the step persists, and the path.
const killEnv = "TICKETRAIL_TEST_KILL"

// withHistory is a stopped queue with copies. In the base copy a is printed, b is held and c waits in doubt already;
// since then d was printed, and e waits.
func withHistory(t *testing.T) *testQueue {
	t.Helper()
	q := newQueue(t, withCopies)
	q.inBubble(func() {
		synctest.Wait() // until the first log has begun: it has all that comes
		q.accept(order("a", "grill"))
		q.print("grill")
		q.accept(order("b", "grill"))
		q.must(q.take("grill").Hold(bg, "paper"))
		q.accept(order("c", "bar"))
		q.must(q.begin("bar").Retry(bg, "cable"))
		q.anHourLater()
		q.accept(order("d", "grill"))
		q.print("grill")
		q.accept(order("e", "grill"))
	})
	return q
}

// wantHistory opens the queue of withHistory, looks for its tickets, and stops it.
func (q *testQueue) wantHistory(recovered bool) {
	q.t.Helper()
	q.open()
	defer q.stop()
	q.wantState(1, ticket.Sent)
	q.wantState(2, ticket.Held)
	q.wantState(4, ticket.Sent)
	for job, want := range map[uint64]bool{2: recovered, 3: true, 5: recovered} {
		j := q.job(job)
		wantTrue(q.t, j.Doubt == want && j.State.Open(), recovered, j)
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		station := "grill"
		if name == "c" {
			station = "bar"
		}
		q.wantDuplicate(order(name, station))
	}
}
