package queue

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/queuetest"
)

func TestACommitThatIsLostWithItsMetaPageIsSaid(t *testing.T) {
	for _, reserve := range []int64{1 << 16, -1} {
		for range 5 {
			var log queuetest.Log
			q := start(t, logTo(&log), func(o *Options) { o.Reserve = reserve })
			q.orders(20, "grill")
			left := q.content()
			counter, _ := os.ReadFile(reservePath(q.o))
			q.stop()
			must(t, os.WriteFile(q.o.Path, left, 0o600)) // it was killed after the last order
			if reserve > 0 {
				must(t, os.WriteFile(reservePath(q.o), counter, 0o600))
			}
			damageMeta(t, q.o.Path)
			q.open()
			if n := len(q.jobs(Filter{})); n != 19 {
				t.Fatalf("%d orders are left", n)
			}
			want := "a meta page of the database is invalid"
			if reserve > 0 {
				want = "the database has lost its last commits, 1 of them"
			}
			n := q.Notices()
			if len(n) != 1 || !n[0].Lost || !strings.HasPrefix(n[0].Text, want) || q.Damaged() != 1 {
				t.Errorf("it says %+v, %d records are damaged", n, q.Damaged())
			}
			if l := log.String(); strings.Count(l, "level=ERROR") != 1 || !strings.Contains(l, want) {
				t.Errorf("logged: %s", l)
			}
			q.stop()
			q.wantNoLoss("the next start")
		}
	}
}

// TestAPowerCutHasLostNoCommitThatWasAnswered: power fails when the pages of a commit are on the disk and its meta
// page is not, or is torn. What the counter has lost is at most everything since the reserve was made.
func TestAPowerCutHasLostNoCommitThatWasAnswered(t *testing.T) {
	for _, lags := range []bool{false, true} {
		for _, torn := range []bool{false, true} {
			q := start(t, withReserve)
			first, err := os.ReadFile(reservePath(q.o))
			must(t, err)
			for n := range 5 {
				q.orders(5, id(n))
				q.stop()
				var left, counter []byte
				hooks := systemHooks
				hooks.commit = func(tx *bolt.Tx) error {
					before := q.content()
					counter, err = os.ReadFile(reservePath(q.o))
					must(t, err)
					end := tx.Commit()
					left = q.content()
					if copy(left, before[:2*os.Getpagesize()]); torn {
						copy(left[newest(t, q.o.Path).at:], "torn"+strings.Repeat("x", pageHeader))
					}
					return end
				}
				opened, err := open(q.o, hooks)
				must(t, err)
				must(t, errOf(opened.Accept(bg, order("answered", "grill"))))
				must(t, errOf(opened.Accept(bg, order("cut", "grill"))))
				cut, known := left, counter
				must(t, opened.Close())
				if lags {
					known = first
				}
				must(t, os.WriteFile(q.o.Path, cut, 0o600))
				must(t, os.WriteFile(reservePath(q.o), known, 0o600))
				if !torn {
					q.wantNoLoss(fmt.Sprint("power cut ", n))
				} else if q.open(); len(q.Notices()) != 1 || strings.Contains(q.Notices()[0].Text, "has lost") {
					t.Errorf("a torn meta page: it says %+v", q.Notices())
				}
				q.wantDuplicate(order("answered", "grill"))
			}
		}
	}
}

func TestAFailedCommitHasLostNothingAndADiskThatForgetsOneHas(t *testing.T) {
	for _, end := range []commitResult{fails, failsButPersist, noSpace} {
		inBubble(t, func(t *testing.T, q *testQueue) {
			q.accept(order("a", "grill"))
			q.disk.willEnd(end)
			_, _ = q.Accept(bg, order("b", "grill"))
			q.waitForStorage()
			if n := q.Notices(); len(n) > 0 {
				t.Errorf("%s: it says %+v", end, n)
			}
		}, withReserve)
	}
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		commit := q.hooks.commit
		q.hooks.commit = func(tx *bolt.Tx) error {
			q.hooks.commit = commit
			torn := int64(tx.ID() % 2 * os.Getpagesize())
			f, err := os.OpenFile(q.o.Path, os.O_WRONLY, 0)
			must(t, err)
			must(t, errors.Join(errOf(f.WriteAt(make([]byte, pageHeader+metaSize), torn)), f.Close(), tx.Rollback()))
			return syscall.EIO
		}
		_, _ = q.Accept(bg, order("b", "grill"))
		q.waitForStorage()
		if n := q.Notices(); len(n) > 0 {
			t.Errorf("a meta page that was written in part: it says %+v", n)
		}
	}, withReserve)
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.disk.willEnd(forgets, fails, fails, fails)
		q.accept(order("a", "grill"))
		_, _ = q.Accept(bg, order("b", "grill"))
		q.waitForStorage()
		if n := q.Notices(); len(n) != 1 || !strings.Contains(n[0].Text, "lost its last commits, 1 of them") {
			t.Errorf("it says %+v", n)
		}
	}, withReserve)
}

func TestACounterOfAnotherFileIsNotBelieved(t *testing.T) {
	for what, replace := range map[string]func(q *testQueue){
		"compacted twice": func(q *testQueue) { // the second new file can have the inode of the first
			for range 2 {
				_, _, err := Compact(q.o.Path)
				q.must(err)
			}
		},
		"restored": func(q *testQueue) {
			q.must(os.WriteFile(q.o.Path+".backup", q.content(), 0o600))
			q.open()
			q.accept(order("later", "grill"))
			q.stop()
			for range 2 {
				r, err := Restore(q.o.Path, q.o.Path+".backup")
				q.must(errors.Join(err, os.Remove(r.Kept)))
			}
		},
		"removed": func(q *testQueue) { q.must(os.Remove(q.o.Path)) },
		"copied over it": func(q *testQueue) {
			q.must(os.WriteFile(q.o.Path+".2", q.content(), 0o600))
			q.open()
			q.orders(5, "grill")
			q.stop()
			q.must(os.Rename(q.o.Path+".2", q.o.Path))
		},
	} {
		q := start(t, withReserve)
		q.orders(9, "bar")
		q.stop()
		replace(q)
		q.wantNoLoss(what)
		q.stop()
	}
}

// wantNoLoss opens the queue and fails if it says that anything is missing.
func (q *testQueue) wantNoLoss(what string) {
	q.t.Helper()
	q.open()
	if n := q.Notices(); len(n) > 0 || q.Damaged() > 0 {
		q.t.Errorf("%s: it says %+v, %d records are damaged", what, n, q.Damaged())
	}
}
