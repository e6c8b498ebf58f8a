package queue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestAfterAFailedCommitEveryRequestIsRefusedUntilOneSucceeds(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.disk.willEnd(fails, fails, failsButPersist, fails) // the commit, then probe commits
		q.wantRefused(order("b", "grill"), ErrStorageFailed)
		synctest.Wait()
		wantErr(t, q.Ready(), ErrStorageFailed)
		q.wantRefused(order("a", "grill"), ErrStorageFailed)
		q.wantNothing("grill")
		q.waitForStorage()
		q.wantDuplicate(order("a", "grill"))
		q.wantNew(order("b", "grill"))
	})
}

func TestABackupEndsWhenACommitFailsSoThatTheFileIsReopened(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for n := range 100 {
			q.accept(order(id(n), "grill"))
		}

		writes := 0
		_, err := q.Backup(writerFunc(func(b []byte) (int, error) {
			if writes++; writes == 1 {
				q.disk.willEnd(fails)
				q.wantRefused(order("b", "grill"), ErrStorageFailed)
			}
			return len(b), nil
		}))

		wantTrue(t, err != nil && writes == 1, err, writes)
		q.waitForStorage()
		q.wantNew(order("b", "grill"))
	})
}

func TestABeginThatFailedLeavesADoubtOnlyIfItPersistedAndACrashCameBeforeTheEnd(t *testing.T) {
	pairs(t, func(t *testing.T, q *testQueue, end commitResult) {
		for n, crash := range []bool{false, true} {
			q.accept(order(id(n), id(n)))
			l := q.take(id(n))
			q.failCommit(end, func() error { return l.Begin(bg, false) })
			if !crash {
				q.must(l.Retry(bg, "storage"))
			}
			q.restart()
			want := crash && end == failsButPersist
			d := q.take(id(n)).Delivery()
			wantTrue(t, d.Doubt == want && (crash || d.Attempt == 2), crash, d)
		}
	})
}

func TestEveryEndOfALeaseSurvivesAFailedCommit(t *testing.T) {
	ends := []struct {
		name  string
		begin bool
		end   func(l *Lease) error
		want  ticket.State
		tries int
		doubt bool
	}{
		{"ack", true, func(l *Lease) error { return l.Ack(bg, ticket.Sent, "") }, ticket.Sent, 1, false},
		{"retry", false, func(l *Lease) error { return l.Retry(bg, "r") }, ticket.Pending, 1, false},
		{"retry in doubt", true, func(l *Lease) error { return l.Retry(bg, "r") }, ticket.Pending, 1, true},
		{"return", false, func(l *Lease) error { return l.Return(bg, "r") }, ticket.Pending, 0, false},
		{"return in doubt", true, func(l *Lease) error { return l.Return(bg, "r") }, ticket.Pending, 0, true},
		{"hold", true, func(l *Lease) error { return l.Hold(bg, "r") }, ticket.Held, 1, true},
		{"fail", false, func(l *Lease) error { return l.Fail(bg, "r") }, ticket.Failed, 1, false},
		{"fail in doubt", true, func(l *Lease) error { return l.Fail(bg, "r") }, ticket.Failed, 1, true},
		{"move", true, func(l *Lease) error {
			return l.Settle(bg, Settlement{End: Move, To: "bar", RefusedBy: "grill", Reason: "r", Untouched: true})
		}, ticket.Moved, 1, false},
		{"move in doubt", true, func(l *Lease) error { return l.Move(bg, "bar", "grill", "r") }, ticket.Moved, 1, true},
	}
	noted := map[ticket.State]string{
		ticket.Sent: ", 1 sent", ticket.Held: ", 1 held", ticket.Failed: ", 1 failed",
		ticket.Moved: ", 3 accepted, 1 moved",
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			pairs(t, func(t *testing.T, q *testQueue, end commitResult) {
				q.KeepOutcomes(true)
				q.accept(order("a", "grill"))
				q.accept(order("b", "grill"))
				l := q.take("grill")
				if tt.begin {
					q.must(l.Begin(bg, false))
				}
				q.disk.willEnd(end, fails, works, end, fails) // the end, probe commits, the end again, a probe commit
				q.must(tt.end(l))
				q.disk.clear() // an end that persisted the first time needs no second
				check := func() {
					t.Helper()
					j := q.job(l.Delivery().Job)
					wantTrue(t, j.State == tt.want && j.Attempts == tt.tries && j.Doubt == tt.doubt, j)
					q.checkBooks()
					q.wantOutcomes("1 accepted, 2 accepted" + noted[tt.want])
					n := q.count(bucketFinished)
					wantTrue(t, n <= 1, n)
				}
				check()
				q.restart()
				check()
				mark := map[bool]string{true: "in doubt"}[tt.doubt]
				switch tt.want {
				case ticket.Pending:
					q.printAll("grill", strings.TrimSpace("a "+mark))
				case ticket.Moved:
					q.printAll("bar", "a "+strings.TrimPrefix(mark+", for grill, refused by grill", ", "))
					q.wantNothing("bar")
					fallthrough
				default:
					q.printAll("grill", "b")
				}
			})
		})
	}
}

func TestTheEndOfALeaseIsStoredAlsoAfterItsCallerGaveUp(t *testing.T) {
	pairs(t, func(t *testing.T, q *testQueue, end commitResult) {
		q.accept(order("a", "grill"))
		l := q.begin("grill")
		q.disk.willEnd(end, fails, fails)
		ctx, cancel := context.WithTimeout(bg, 100*time.Millisecond)
		defer cancel()
		wantErr(t, l.Ack(ctx, ticket.Sent, ""), context.DeadlineExceeded)
		q.wantNothing("grill")
		q.waitForStorage()
		q.wantState(l.Delivery().Job, ticket.Sent)
		q.wantNothing("grill")
	})
}

func TestAFullDiskStopsAcceptingNeverPrinting(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		l := q.take("grill")
		q.disk.willEnd(noSpace)
		q.must(l.Begin(bg, false)) // works with the space of the reserve
		q.disk.willEnd(noSpace, noSpace)
		q.must(l.Ack(bg, ticket.Sent, ""))
		q.disk.willEnd(noSpace)
		q.wantRefused(order("b", "grill"), ErrStorageFull)
		q.waitForStorage()
		q.wantDuplicate(order("a", "grill"))
		q.accept(order("b", "grill"))
		q.print("grill")
		q.wantNothing("grill")
	})
}

func TestMoveAllOverAFailureMovesEachJobOnceAndInOrder(t *testing.T) {
	pairs(t, func(t *testing.T, q *testQueue, end commitResult) {
		const atOnce = 30
		const tickets = atOnce + 20 // two transactions: the second one fails
		q.orders(tickets, "grill")
		q.disk.willEnd(works, end)
		moved, err := q.MoveAll(bg, "grill", "bar")
		wantTrue(t, errors.Is(err, ErrStorageFailed) && len(moved) == atOnce, len(moved), err)
		q.waitForStorage()
		moved, err = q.MoveAll(bg, "grill", "bar")
		want := tickets - atOnce
		if end == failsButPersist {
			want = 0
		}
		wantTrue(t, err == nil && len(moved) == want, len(moved), err, want)
		q.restart()
		q.wantNothing("grill")
		for n := range tickets {
			q.printAll("bar", id(n))
		}
		q.wantNothing("bar")
	})
}

func TestAValueIsStoredAsItWasPutAlsoAfterItsCallerGaveUp(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		s, commit := q.KV("boards"), q.gather()
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		value := []byte("grill: burger")
		wantErr(t, s.Put(ctx, "k", value), context.DeadlineExceeded)
		copy(value, "used for something else")
		commit()
		got, ok, err := s.Get("k")
		wantTrue(t, string(got) == "grill: burger" && ok && err == nil, got, ok, err)
	})
}

func TestMaintenanceThatFailsRemovesNothingEarlyAndIsDoneLater(t *testing.T) {
	for _, end := range []commitResult{fails, failsButPersist, noSpace} {
		t.Run(end.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) {
				q.accept(order("old", "grill"))
				q.print("grill")
				struck := 0
				hours := func(n int) {
					for range n {
						before := q.disk.commits()
						q.disk.willEnd(end, works, end) // the next commit, the probe commit, the one after
						time.Sleep(time.Hour + time.Minute)
						q.disk.clear()
						q.waitForStorage()
						if q.disk.commits() > before {
							struck++
						}
					}
				}
				hours(9)
				q.wantDuplicate(order("old", "grill"))
				q.wantState(1, ticket.Sent)
				hours(26) // the keys of a day are dropped together
				q.wantNew(order("old", "grill"))
				_, _, _, err := q.Job(bg, 1)
				wantTrue(t, errors.Is(err, ErrNotFound), err)
				wantTrue(t, struck >= 10, struck)
			}, func(o *Options) { o.DedupRetention, o.HistoryRetention = 10*time.Hour, 10*time.Hour })
		})
	}
}

func TestAFullDiskRefusesOnlyValuesOfMoreThan64KiB(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.disk.willEnd(noSpace)
		q.wantRefused(order("a", "grill"), ErrStorageFull)
		synctest.Wait()
		wantErr(t, q.KV("x").Put(bg, "k", make([]byte, 64<<10+1)), ErrStorageFull)
		q.must(q.KV("x").Put(bg, "k", make([]byte, 64<<10)))
	})
}

func TestFreedDiskSpaceIsNoticedWithinSecondsWhateverElseIsStored(t *testing.T) {
	for _, stored := range []bool{false, true} {
		inBubble(t, func(t *testing.T, q *testQueue) {
			q.disk.willEnd(noSpace)
			q.wantRefused(order("a", "grill"), ErrStorageFull)
			wantErr(t, q.Ready(), ErrStorageFull)
			for range 5 {
				time.Sleep(time.Second)
				if stored {
					q.must(q.KV("x").Put(bg, "k", []byte("v")))
				}
			}
			synctest.Wait()
			q.must(q.Ready())
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
