package queue

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/queuetest"
)

func TestTheFileIsCompactedInAQuietHour(t *testing.T) {
	var log queuetest.Log
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.evening(24)
		q.begin("grill")
		time.Sleep(quietHour - time.Second)
		if synctest.Wait(); q.isCompact() {
			t.Error("it was compacted within an hour of a request")
		}
		want := q.jobs(Filter{})
		time.Sleep(maintenanceEvery)
		if synctest.Wait(); !q.isCompact() || strings.Count(log.String(), "database compacted") != 1 {
			t.Errorf("it was not compacted once: %s", &log)
		}
		if got := fmt.Sprint(q.jobs(Filter{})); got != fmt.Sprint(want) {
			t.Errorf("after it: %s, not %s", got, fmt.Sprint(want))
		}
		q.wantDuplicate(order("a", "grill"))
		q.accept(order("b", "grill"))
		q.checkBooks()
		if n := q.Notices(); len(n) > 0 { // it has fewer commits now
			t.Errorf("it says %+v", n)
		}
	}, logTo(&log), withReserve)
}

func TestTheFileIsCompactedAtTheStartUnlessTooMuchIsInUse(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.evening(24)
	q.restart()
	q.accept(order("b", "grill")) // it waits for what the start does
	if !q.isCompact() {
		t.Error("it was not compacted")
	}
	q.printAll("grill", "a", "b")
	big := order("c", "grill")
	big.Body = make([]byte, compactAtMost+1)
	q.accept(big)
	q.evening(2 * compactAtMost >> 20)
	q.restart()
	q.accept(order("d", "grill"))
	if info, err := os.Stat(q.o.Path); err != nil || info.Size() < 3*compactAtMost {
		t.Errorf("%v: it was compacted, and tickets waited", err)
	}
}

func TestACompactionThatFailsAtAnyStepLosesNothing(t *testing.T) {
	for step := 1; step <= replacing["compact"].steps+1; step++ { // the last is the reopening
		for _, persist := range []bool{false, true} {
			t.Run(fmt.Sprintf("step %d, persists %v", step, persist), func(t *testing.T) {
				inBubble(t, func(t *testing.T, q *testQueue) {
					s := &stepper{at: step, persist: persist, end: func() error { return syscall.EIO }}
					commit := q.hooks.commit
					synctest.Wait() // the committer reads the hooks
					q.hooks = s.hooks()
					q.hooks.commit = commit
					q.accept(order("a", "grill"))
					q.evening(24)
					time.Sleep(quietHour + maintenanceEvery)
					synctest.Wait()
					if s.n < step {
						t.Fatalf("it has %d steps", s.n)
					}
					time.Sleep(maxBackoff) // a failed reopening is tried again
					synctest.Wait()
					q.wantDuplicate(order("a", "grill"))
					q.accept(order("b", "grill"))
					q.printAll("grill", "a", "b")
					q.restart()
					q.accept(order("c", "grill")) // after the compaction of the start
					if left, _ := filepath.Glob(q.o.Path + ".new-*"); len(left) > 0 {
						t.Errorf("%q is left", left)
					}
				})
			})
		}
	}
}

func (q *testQueue) isCompact() bool {
	q.t.Helper()
	info, err := os.Stat(q.o.Path)
	q.must(err)
	return info.Size() < compactAbove
}
