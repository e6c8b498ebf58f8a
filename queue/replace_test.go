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
	"ticketrail/queue/ticket"
)

func TestAReplacementThatFailsAtAnyStepLosesNothing(t *testing.T) {
	for what, r := range replacing {
		for step := 1; step <= r.steps; step++ {
			if what == "quarantine" && step == 1 {
				continue // nothing can be salvaged, which is a test of its own
			}
			for _, persist := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, step %d, persists %v", what, step, persist), func(t *testing.T) {
					q, from := r.start(t)
					s := &stepper{at: step, persist: persist, end: func() error { return syscall.EIO }}

					// A filesystem without links: the damaged file is renamed.
					err := r.run(q.o.Path, from, s.hooks())
					if noLinks := what == "quarantine" && step == 2; errors.Is(err, syscall.EIO) == noLinks {
						t.Fatalf("err %v", err)
					}
					r.after(q, from)
				})
			}
		}

		q, from := r.start(t)
		s := &stepper{}
		if err := r.run(q.o.Path, from, s.hooks()); err != nil || s.n != r.steps {
			t.Errorf("%s: %v; it has %d steps, not %d", what, err, s.n, r.steps)
		}
		r.after(q, from)
	}
}

func TestAReplacementThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	slow.Test(t)
	for what, r := range replacing {
		for step := 1; step <= r.steps; step++ {
			for _, persist := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, step %d, persists %v", what, step, persist), func(t *testing.T) {
					q, from := r.start(t)
					arg := from
					if what == "quarantine" {
						arg = "" // it needs only the path; from is the content of the damaged file
					}
					c := exec.Command(os.Args[0], "-test.run=^TestReplaceInAProcessThatIsKilled$")
					c.Env = append(slices.Clip(os.Environ()), killEnv+"="+strings.Join(
						[]string{what, strconv.Itoa(step), strconv.FormatBool(persist), q.o.Path, arg}, "|"))

					out, err := c.CombinedOutput()
					e, ok := errors.AsType[*exec.ExitError](err)
					if !ok || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
						t.Fatalf("the process ends with %v\n%s", err, out)
					}
					r.after(q, from)
				})
			}
		}
	}
}

// TestReplaceInAProcessThatIsKilled is the child process of the test above, and passes alone.
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

// TestADatabaseBehindASymbolicLinkIsReplacedWhereItIs: a box with a small card has the file on another disk, and a
// link to it.
func TestADatabaseBehindASymbolicLinkIsReplacedWhereItIs(t *testing.T) {
	for what, r := range replacing {
		q, from := r.start(t)
		path := filepath.Join(t.TempDir(), "link")
		must(t, os.Symlink(q.o.Path, path))
		must(t, r.run(path, from, systemHooks))

		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s has put a file in the place of the link: %v, %v", what, info, err)
		}
		r.after(q, from)
	}
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

func TestABackupIsRestoredOntoADamagedFileAndOntoNone(t *testing.T) {
	q, backup := withBackup(t)
	must(t, os.WriteFile(q.o.Path, []byte("not a database"), 0o600))
	r, err := Restore(q.o.Path, backup)
	must(t, err)
	if b, err := os.ReadFile(r.Kept); err != nil || string(b) != "not a database" {
		t.Errorf("kept is %q, %v", b, err)
	}

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
	short, link, other := backup+".short", backup+".link", backup+".other"
	must(t, os.WriteFile(short, content[:len(content)/2], 0o600))
	must(t, os.Link(q.o.Path, link))
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

func TestAFileThatIsInUseIsNeitherRestoredNorCompactedNorSalvaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which makes the wait for the lock short
		q, backup := withBackup(t)
		q.open()
		wantErr(t, errOf(Restore(q.o.Path, backup)), errInUse)
		_, _, err := Compact(q.o.Path)
		wantErr(t, err, errInUse)
		wantErr(t, errOf(Salvage(q.o.Path, q.o.Path+".saved")), errInUse)
		q.stop()
		if !hasLater(t, q.o.Path) {
			t.Error("the file was replaced")
		}
	})
}

// TestAStartThatWaitedForARestoreDoesNotWorkWithTheOldFile: bbolt opens the file and then waits for the lock, which
// may be that of a restore.
func TestAStartThatWaitedForARestoreDoesNotWorkWithTheOldFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, backup := withBackup(t)
		lock, err := lockFile(q.o.Path)
		must(t, err)
		opened := make(chan error, 1)
		go func() { opened <- errOf(Open(q.o)) }()
		synctest.Wait() // it has the old file, and waits

		must(t, os.Rename(backup, q.o.Path))
		must(t, lock.Close())
		wantErrText(t, <-opened, "it was replaced just now: start again")
	})
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

func TestAQuarantineSaysWhatItSaved(t *testing.T) {
	q, damaged := damagedEvening(t)
	r, err := Quarantine(q.o.Path)
	if err != nil || r.Err != nil || r.Pending != 2 || r.Held != 1 || r.Ended != 61 || r.Keys != 64 || r.Failed != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	q.afterHalfQuarantine(damaged)
}

// TestADamagedFileThatCannotBeSalvagedIsKeptAndAnEmptyOneBegins: the new file cannot be made: the disk is full, for
// example.
func TestADamagedFileThatCannotBeSalvagedIsKeptAndAnEmptyOneBegins(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		q, damaged := damagedEvening(t)
		hooks := systemHooks
		hooks.sync = func(f *os.File) error {
			if f.Name() == filepath.Dir(q.o.Path) {
				return nil
			}
			return cause
		}
		r, err := quarantine(q.o.Path, hooks)
		if err != nil || !errors.Is(r.Err, cause) {
			t.Fatalf("%+v, %v", r, err)
		}
		if b, err := os.ReadFile(r.Kept); err != nil || string(b) != damaged {
			t.Errorf("the damaged file is not kept: %v", err)
		}
		q.open()
		q.wantNew(order("a", "grill"))
		q.stop()

		// By hand, when there is space again.
		r, err = Salvage(r.Kept, q.o.Path+".saved")
		must(t, err)
		q.o.Path += ".saved"
		q.wantSalvaged()
	}
}

func TestAFullDiskGivesUpTheReserveForTheSalvage(t *testing.T) {
	q, damaged := damagedEvening(t)
	must(t, os.WriteFile(reservePath(q.o), nil, 0o600))
	hooks := systemHooks
	hooks.sync = func(f *os.File) error {
		if _, err := os.Stat(reservePath(q.o)); err == nil {
			return syscall.ENOSPC
		}
		return nil
	}
	r, err := quarantine(q.o.Path, hooks)
	must(t, errors.Join(err, r.Err))
	q.afterHalfQuarantine(damaged)
}

func TestASalvageOverwritesNoFileAndLeavesNoneWhereThereIsNothingToSalvage(t *testing.T) {
	q := start(t)
	q.stop()
	to := q.o.Path + ".saved"
	must(t, os.WriteFile(to, []byte("x"), 0o600))
	wantErrText(t, errOf(Salvage(q.o.Path, to)), "is not overwritten")
	wantErr(t, errOf(Salvage(to, to+"2")), ErrDamaged)
	wantErr(t, errOf(Salvage(to+"gone", to+"2")), os.ErrNotExist)
	if left := matches(to + "2*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// replacing is what replaces the file of a queue, with the steps that it has. Of a stopped queue, start returns what
// run needs; after checks what must hold when run ended at any step.
var replacing = map[string]struct {
	steps int
	start func(t *testing.T) (q *testQueue, from string)
	run   func(path, from string, s storageHooks) error
	after func(q *testQueue, from string)
}{

	"restore": {5, withBackup, restoreFrom, func(q *testQueue, backup string) {
		q.afterHalf(backup)
		// Its name has the time in seconds; an operator's second try is later.
		for _, kept := range matches(q.o.Path + ".before-restore-*") {
			q.must(os.Rename(kept, kept+"-1"))
		}
		q.must(restoreFrom(q.o.Path, backup, systemHooks))
		q.wantRestored()
	}},
	"compact": {4, withBackup, compactFile, func(q *testQueue, backup string) {
		q.afterHalf("")
		q.must(compactFile(q.o.Path, backup, systemHooks))
		if !hasLater(q.t, q.o.Path) {
			q.t.Error("compact lost a ticket")
		}
	}},
	"quarantine": {5, damagedEvening, func(path, _ string, s storageHooks) error {
		r, err := quarantine(path, s)
		return errors.Join(err, r.Err)
	}, (*testQueue).afterHalfQuarantine},
}

func restoreFrom(path, backup string, s storageHooks) error { return errOf(restore(path, backup, s)) }

func compactFile(path, _ string, s storageHooks) error {
	_, _, err := compact(path, s)
	return err
}

// killEnv has what is replaced, at which step the process is killed, whether the step persists, the path, and what
// run needs.
const killEnv = "TICKETRAIL_TEST_KILL"

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
func hasLater(t testing.TB, path string) (found bool) {
	t.Helper()
	q, err := Open(Options{Path: path, Reserve: -1, NoSync: true})
	must(t, err)
	jobs, err := q.Jobs(bg, Filter{Request: "e"})
	must(t, errors.Join(err, q.Close()))
	return len(jobs) == 1
}

// afterHalf checks what must hold when a replacement ended at any step: the file at its path is the old one, or that
// of the backup if there is one, and then the old one is kept.
func (q *testQueue) afterHalf(backup string) {
	q.t.Helper()
	if !hasLater(q.t, q.o.Path) {
		kept := matches(q.o.Path + ".before-restore-*")
		if backup == "" || len(kept) != 1 || !hasLater(q.t, kept[0]) {
			q.t.Fatalf("the old file is lost; kept are %q", kept)
		}
		q.wantRestored()
	}
	if left := matches(q.o.Path + ".new-*"); len(left) > 0 {
		q.t.Errorf("after a start %q is left", left)
	}
}

// damagedEvening is a stopped queue whose file has lost its roots: a is printed, b is held, c and d are pending. It
// returns the content of the file as well.
func damagedEvening(t *testing.T) (q *testQueue, content string) {
	t.Helper()
	q = start(t)
	q.accept(order("a", "grill"))
	q.print("grill")
	q.accept(order("b", "grill"))
	q.must(q.take("grill").Hold(bg, "paper"))
	q.accept(order("c", "grill"))
	q.accept(order("d", "bar"))
	for n := range 60 { // or everything is within the root
		q.accept(order(id(n), "cold"))
		q.print("cold")
	}
	q.stop()
	damaged := noRoot(nil, q.content())
	q.must(os.WriteFile(q.o.Path, damaged, 0o600))
	return q, string(damaged)
}

// wantSalvaged opens the queue and looks for what the damaged file had.
func (q *testQueue) wantSalvaged() {
	q.t.Helper()
	q.must(Check(q.o.Path))
	q.open()
	defer q.stop()
	for _, name := range []string{"a", "b", "c", "d"} {
		q.wantDuplicate(order(name, "grill"))
	}
	q.wantState(1, ticket.Sent)
	q.wantState(2, ticket.Held)
	for job, station := range map[uint64]string{3: "grill", 4: "bar"} {
		if d := q.print(station); d.Job != job || !d.Doubt {
			q.t.Errorf("printed is %+v", d)
		}
	}
	q.wantNothing("grill")
}

// afterHalfQuarantine is the next start after one that ended at any step.
func (q *testQueue) afterHalfQuarantine(damaged string) {
	q.t.Helper()
	if string(q.content()) == damaged {
		r, err := Quarantine(q.o.Path)
		q.must(errors.Join(err, r.Err))
	}
	kept := matches(q.o.Path + ".corrupt-*")
	if len(kept) != 1 {
		q.t.Fatalf("kept are %q", kept)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || string(b) != damaged {
		q.t.Errorf("the damaged file is not kept: %v", err)
	}
	q.wantSalvaged()
	if left := matches(q.o.Path + ".new-*"); len(left) > 0 {
		q.t.Errorf("%q is left", left)
	}
}
