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

	"ticketrail/queue/ticket"
)

// damagedEvening is a stopped queue whose file has lost its roots: a is printed, b is held, c and d are pending.
func damagedEvening(t *testing.T) (q *testQueue, content []byte) {
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
	content = noRoot(nil, q.content())
	q.must(os.WriteFile(q.o.Path, content, 0o600))
	return q, content
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

// quarantineSteps are the steps that can fail.
const quarantineSteps = 5

// afterHalf is the next start after one that ended at any step.
func (q *testQueue) afterHalfQuarantine(damaged []byte) {
	q.t.Helper()
	if bytes.Equal(q.content(), damaged) {
		r, err := Quarantine(q.o.Path)
		q.must(errors.Join(err, r.Err))
	}
	kept := matches(q.o.Path + ".corrupt-*")
	if len(kept) != 1 {
		q.t.Fatalf("kept are %q", kept)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(b, damaged) {
		q.t.Errorf("the damaged file is not kept: %v", err)
	}
	q.wantSalvaged()
	if left := matches(q.o.Path + ".new-*"); len(left) > 0 {
		q.t.Errorf("%q is left", left)
	}
}

func TestAQuarantineThatFailsAtAnyStepLosesNothing(t *testing.T) {
	for step := 2; step <= quarantineSteps; step++ {
		for _, persist := range []bool{false, true} {
			t.Run(fmt.Sprintf("step %d, persists %v", step, persist), func(t *testing.T) {
				q, damaged := damagedEvening(t)
				s := &stepper{at: step, persist: persist, end: func() error { return syscall.EIO }}
				r, err := quarantine(q.o.Path, s.hooks())
				if step == 2 { // a filesystem without links: it is renamed
					q.must(err)
				} else if !errors.Is(err, syscall.EIO) || r.Err != nil {
					t.Fatalf("%v, %v", err, r.Err)
				}
				q.afterHalfQuarantine(damaged)
			})
		}
	}
	q, damaged := damagedEvening(t)
	s := &stepper{}
	if r, err := quarantine(q.o.Path, s.hooks()); err != nil || r.Err != nil || s.n != quarantineSteps ||
		r.Pending != 2 || r.Held != 1 || r.Ended != 61 || r.Keys != 64 || r.Failed != 0 {
		t.Errorf("%+v, %v; it has %d steps", r, err, s.n)
	}
	q.afterHalfQuarantine(damaged)
}

// The new file cannot be made: the disk is full, for example.
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
		if b, err := os.ReadFile(r.Kept); err != nil || !bytes.Equal(b, damaged) {
			t.Errorf("the damaged file is not kept: %v", err)
		}
		q.open()
		if got := q.accept(order("a", "grill")); got.Duplicate {
			t.Error("the new file is not empty")
		}
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

const quarantineEnv = "TICKETRAIL_TEST_QUARANTINE" // step, persist, path

// TestQuarantineInAProcessThatIsKilled is the child process of the test below, and passes alone.
func TestQuarantineInAProcessThatIsKilled(t *testing.T) {
	a := strings.Split(os.Getenv(quarantineEnv), "|")
	if len(a) != 3 {
		return
	}
	step, err := strconv.Atoi(a[0])
	must(t, err)
	s := &stepper{at: step, persist: a[1] == "true", end: func() error {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}}
	_, _ = quarantine(a[2], s.hooks())
}

func TestAQuarantineThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	for step := 1; step <= quarantineSteps; step++ {
		for _, persist := range []bool{false, true} {
			t.Run(fmt.Sprintf("step %d, persists %v", step, persist), func(t *testing.T) {
				q, damaged := damagedEvening(t)
				c := exec.Command(os.Args[0], "-test.run=^TestQuarantineInAProcessThatIsKilled$")
				c.Env = append(slices.Clip(os.Environ()), quarantineEnv+"="+
					strings.Join([]string{strconv.Itoa(step), strconv.FormatBool(persist), q.o.Path}, "|"))
				out, err := c.CombinedOutput()
				e, ok := errors.AsType[*exec.ExitError](err)
				if !ok || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the process ends with %v\n%s", err, out)
				}
				q.afterHalfQuarantine(damaged)
			})
		}
	}
}

func TestAFileThatIsInUseIsNotSalvagedAndNoneIsOverwritten(t *testing.T) {
	q := start(t)
	to := q.o.Path + ".saved"
	wantErr(t, errOf(Salvage(q.o.Path, to)), errInUse)
	q.stop()
	must(t, os.WriteFile(to, []byte("x"), 0o600))
	if _, err := Salvage(q.o.Path, to); err == nil || !strings.Contains(err.Error(), "is not overwritten") {
		t.Errorf("err %v", err)
	}
	wantErr(t, errOf(Salvage(to, to+"2")), ErrDamaged)
	wantErr(t, errOf(Salvage(to+"gone", to+"2")), os.ErrNotExist)
	if left := matches(to + "2*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
