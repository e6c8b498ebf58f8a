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
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// withBackup is a queue with a backup: in it a is printed, b is held, c and d are pending, d in doubt already.
// Since then c has printed, and e was accepted. It is stopped.
func withBackup(t *testing.T) (q *testQueue, backup string) {
	t.Helper()
	q = start(t)
	q.accept(order("a", "grill"))
	q.print("grill")
	q.accept(order("b", "grill"))
	q.must(q.take("grill").Hold(bg, "paper"))
	q.accept(order("d", "bar"))
	q.must(q.begin("bar").Retry(bg, "cable"))
	q.accept(order("c", "grill"))
	var b bytes.Buffer
	n, err := q.Backup(&b)
	q.must(err)
	if n != int64(b.Len()) {
		t.Errorf("%d bytes are written, it says %d", b.Len(), n)
	}
	backup = filepath.Join(t.TempDir(), "backup")
	q.must(os.WriteFile(backup, b.Bytes(), 0o600))
	q.must(Check(backup))
	q.printAll("grill", "c")
	q.accept(order("e", "grill"))
	q.stop()
	return q, backup
}

// wantRestored opens the queue and looks for what the backup had. It is stopped again.
func (q *testQueue) wantRestored() {
	q.t.Helper()
	q.open()
	defer q.stop()
	q.wantState(1, ticket.Sent)
	q.wantState(2, ticket.Held)
	if len(q.jobs(Filter{})) != 4 {
		q.t.Errorf("restored are %+v", q.jobs(Filter{}))
	}
	for _, j := range q.jobs(Filter{States: []ticket.State{ticket.Pending}}) {
		if !j.Doubt {
			q.t.Errorf("job %d was pending in the backup and is not in doubt", j.ID)
		}
	}
	// It may have been moved or printed again since.
	if q.job(1).Doubt || !q.job(2).Doubt {
		q.t.Error("only tickets that were not printed in the backup are in doubt, the held ones too")
	}
}

// hasLater reports whether a file is the one that was replaced: it has order e.
func hasLater(t *testing.T, path string) (found bool) {
	t.Helper()
	q, err := Open(Options{Path: path, Reserve: -1, NoSync: true})
	must(t, err)
	jobs, err := q.Jobs(bg, Filter{Request: "e"})
	must(t, errors.Join(err, q.Close()))
	return len(jobs) == 1
}

func TestARestoredTicketThatWasPendingPrintsAsAPossibleDuplicate(t *testing.T) {
	q, backup := withBackup(t)
	r, err := Restore(q.o.Path, backup)
	must(t, err)
	if r.Pending != 2 || r.Held != 1 || !hasLater(t, r.Kept) {
		t.Errorf("it says %+v", r)
	}
	q.wantRestored()
	q.open()
	if d := q.print("grill"); !d.Doubt || d.Ticket.Number != "c" {
		t.Errorf("printed is %+v", d)
	}
	// d had one doubt before: a second one would hold it without a try.
	if d := q.print("bar"); !d.Doubt || d.Ticket.Number != "d" {
		t.Errorf("printed is %+v", d)
	}
}

// A box with a small card has the file on another disk, and a link to it.
func TestADatabaseBehindASymbolicLinkIsReplacedWhereItIs(t *testing.T) {
	for what, r := range replacing {
		q, backup := withBackup(t)
		path := filepath.Join(t.TempDir(), "link")
		must(t, os.Symlink(q.o.Path, path))
		must(t, r.run(path, backup, systemHooks))
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s has put a file in the place of the link: %v, %v", what, info, err)
		}
		if what == "restore" {
			q.wantRestored()
		}
	}
}

func TestABackupIsRestoredOntoADamagedFileAndOntoNone(t *testing.T) {
	q, backup := withBackup(t)
	must(t, os.WriteFile(q.o.Path, []byte("not a database"), 0o600))
	r, err := Restore(q.o.Path, backup)
	must(t, err)
	if b, err := os.ReadFile(r.Kept); err != nil || string(b) != "not a database" {
		t.Errorf("kept is %q, %v", b, err)
	}
	q.wantRestored()
	must(t, os.Remove(q.o.Path))
	if r, err = Restore(q.o.Path, backup); err != nil || r.Kept != "" {
		t.Errorf("%+v, %v", r, err)
	}
	q.wantRestored()
}

func TestWhatIsNoBackupReplacesNothing(t *testing.T) {
	q, backup := withBackup(t)
	content, err := os.ReadFile(backup)
	must(t, err)
	short := backup + ".short"
	must(t, os.WriteFile(short, content[:len(content)/2], 0o600))
	link := backup + ".link"
	must(t, os.Link(q.o.Path, link))
	other := backup + ".other"
	db, err := bolt.Open(other, 0o600, nil)
	must(t, errors.Join(err, db.Close()))
	for _, wrong := range []string{short, link, other, q.o.Path, backup + ".gone", filepath.Dir(backup)} {
		if _, err := Restore(q.o.Path, wrong); err == nil {
			t.Errorf("%s is restored", wrong)
		}
		if !hasLater(t, q.o.Path) {
			t.Fatalf("%s has replaced the file", wrong)
		}
	}
	if left := matches(q.o.Path + ".[^l]*"); len(left) > 0 { // all but the lock
		t.Errorf("%q is left", left)
	}
}

func TestAFileThatIsInUseIsNeitherRestoredNorCompacted(t *testing.T) {
	q, backup := withBackup(t)
	q.open()
	if _, err := Restore(q.o.Path, backup); !errors.Is(err, errInUse) {
		t.Errorf("restore: %v", err)
	}
	if _, _, err := Compact(q.o.Path); !errors.Is(err, errInUse) {
		t.Errorf("compact: %v", err)
	}
	q.stop()
	if !hasLater(t, q.o.Path) {
		t.Error("the file was replaced")
	}
}

// bbolt opens the file and then waits for the lock, which may be that of a restore.
func TestAStartThatWaitedForARestoreDoesNotWorkWithTheOldFile(t *testing.T) {
	q, backup := withBackup(t)
	lock, err := lockFile(q.o.Path)
	must(t, err)
	opened := make(chan error, 1)
	go func() { opened <- errOf(Open(q.o)) }()
	waitForOpen(t, q.o.Path) // it has the old file, and waits
	must(t, os.Rename(backup, q.o.Path))
	must(t, lock.Close())
	if err := <-opened; err == nil || !strings.Contains(err.Error(), "it was replaced just now: start again") {
		t.Errorf("err %v", err)
	}
}

// waitForOpen waits until this process has a file open twice.
func waitForOpen(t *testing.T, path string) {
	t.Helper()
	for range 1000 {
		entries, _ := os.ReadDir("/proc/self/fd")
		n := 0
		for _, e := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == path {
				n++
			}
		}
		if n >= 2 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Skip("this system does not show open files in /proc")
}

func TestCompactGivesBackTheSpaceOfAnEveningAndKeepsEveryTicket(t *testing.T) {
	q, _ := withBackup(t)
	q.open()
	big := order("big", "grill")
	big.Body = bytes.Repeat([]byte("x"), 1<<20)
	q.accept(big)
	q.must(q.db.Load().Update(func(tx *bolt.Tx) error { // what pruning does, after three days
		return tx.Bucket(bucketNames[bucketRequests]).Delete(key64(6))
	}))
	want := q.jobs(Filter{})
	q.stop()
	before, after, err := Compact(q.o.Path)
	must(t, err)
	if info, _ := os.Stat(q.o.Path); after != info.Size() || before < 1<<20 || after > before/2 {
		t.Errorf("from %d to %d bytes", before, after)
	}
	if left := matches(q.o.Path + ".[^l]*"); len(left) > 0 { // all but the lock
		t.Errorf("%q is left", left)
	}
	q.open()
	if got := fmt.Sprint(q.jobs(Filter{})); got != fmt.Sprint(want) {
		t.Errorf("after it: %s", got)
	}
	q.printAll("grill", "e", "big")
}

// A stepper has one of the steps of replacing a file end with an error, or with the process.
type stepper struct {
	at, n   int
	persist bool // the step is done all the same
	end     func() error
}

func (s *stepper) hooks() storageHooks {
	return storageHooks{
		sync:   func(f *os.File) error { return s.do(f.Sync) },
		link:   func(from, to string) error { return s.do(func() error { return os.Link(from, to) }) },
		rename: func(from, to string) error { return s.do(func() error { return os.Rename(from, to) }) },
	}
}

func (s *stepper) do(step func() error) error {
	s.n++
	if s.n != s.at {
		return step()
	}
	if s.persist {
		if err := step(); err != nil {
			return err
		}
	}
	return s.end()
}

// replacing is what replaces the file of a queue, with the steps that it has.
var replacing = map[string]struct {
	steps int
	run   func(path, backup string, s storageHooks) error
}{
	"restore": {5, func(path, backup string, s storageHooks) error { return errOf(restore(path, backup, s)) }},
	"compact": {4, func(path, _ string, s storageHooks) error {
		_, _, err := compact(path, s)
		return err
	}},
}

// afterHalf checks what must hold when a replacement ended at any step: the file at its path is the old one
// or the new one, the old one is somewhere, and a second try works.
func (q *testQueue) afterHalf(t *testing.T, what, backup string) {
	t.Helper()
	if !hasLater(t, q.o.Path) {
		kept := matches(q.o.Path + ".before-restore-*")
		if what == "compact" || len(kept) != 1 || !hasLater(t, kept[0]) {
			t.Fatalf("the old file is lost; kept are %q", kept)
		}
		q.wantRestored()
	}
	if left := matches(q.o.Path + ".new-*"); len(left) > 0 {
		t.Errorf("after a start %q is left", left)
	}
	// Its name has the time in seconds; an operator's second try is later.
	for _, kept := range matches(q.o.Path + ".before-restore-*") {
		must(t, os.Rename(kept, kept+"-1"))
	}
	must(t, replacing[what].run(q.o.Path, backup, systemHooks))
	if what == "restore" {
		q.wantRestored()
	} else if !hasLater(t, q.o.Path) {
		t.Error("compact lost a ticket")
	}
}

func matches(pattern string) []string {
	found, _ := filepath.Glob(pattern) // an error is a wrong pattern
	return found
}

func TestAReplacementThatFailsAtAnyStepLosesNothing(t *testing.T) {
	for what, r := range replacing {
		for step := 1; step <= r.steps; step++ {
			for _, persist := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, step %d, persists %v", what, step, persist), func(t *testing.T) {
					q, backup := withBackup(t)
					s := &stepper{at: step, persist: persist, end: func() error { return syscall.EIO }}
					if err := r.run(q.o.Path, backup, s.hooks()); !errors.Is(err, syscall.EIO) {
						t.Fatalf("err %v", err)
					}
					q.afterHalf(t, what, backup)
				})
			}
		}
		q, backup := withBackup(t)
		s := &stepper{}
		if err := r.run(q.o.Path, backup, s.hooks()); err != nil || s.n != r.steps {
			t.Errorf("%s: %v; it has %d steps, not %d", what, err, s.n, r.steps)
		}
	}
}

const killEnv = "TICKETRAIL_TEST_KILL" // what, step, persist, path, backup

// TestReplaceInAProcessThatIsKilled is the child process of the test below, and passes alone.
func TestReplaceInAProcessThatIsKilled(t *testing.T) {
	a := strings.Split(os.Getenv(killEnv), "|")
	if len(a) != 5 {
		return
	}
	step, err := strconv.Atoi(a[1])
	must(t, err)
	s := &stepper{at: step, persist: a[2] == "true", end: func() error {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}}
	_ = replacing[a[0]].run(a[3], a[4], s.hooks())
}

func TestAReplacementThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	for what, r := range replacing {
		for step := 1; step <= r.steps; step++ {
			for _, persist := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, step %d, persists %v", what, step, persist), func(t *testing.T) {
					q, backup := withBackup(t)
					c := exec.Command(os.Args[0], "-test.run=^TestReplaceInAProcessThatIsKilled$")
					c.Env = append(slices.Clip(os.Environ()), killEnv+"="+strings.Join(
						[]string{what, strconv.Itoa(step), strconv.FormatBool(persist), q.o.Path, backup}, "|"))
					out, err := c.CombinedOutput()
					e, ok := errors.AsType[*exec.ExitError](err)
					if !ok || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
						t.Fatalf("the process ends with %v\n%s", err, out)
					}
					q.afterHalf(t, what, backup)
				})
			}
		}
	}
}
