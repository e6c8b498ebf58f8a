package printer_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestOnAKeptConnectionNoAnswerToGSrIsWaitedForTwice(t *testing.T) {
	// GS r is doubled on a new connection only, and answers to the first two are waited for only there.
	synctest.Test(t, func(t *testing.T) {
		asked := countGSr()
		s := answering(func(c net.Conn, all string) { _, _ = c.Write(make([]byte, asked(c, all))) })
		r := newScriptedHarness(t, s)
		r.want("A1", "processed")
		before := strings.Count(s.all(), theGSr)
		if o := r.want("A2", "processed"); o.took > 0 {
			t.Errorf("after %s", o.took)
		}
		if n := strings.Count(s.all(), theGSr) - before; n != 2 {
			t.Errorf("asked %d times, want once before and once behind the ticket", n)
		}
	})
}

func TestTheNewestReportOnThePaperCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paper atomic.Uint32
		asked := countGSr()
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if last(all, "\x10\x04\x01") {
				_, _ = c.Write([]byte{0x12})
			}
			if n := asked(c, all); n > 0 { // and an answer to another client's DLE EOT
				_, _ = c.Write(append(bytes.Repeat([]byte{byte(paper.Load())}, n), 0x12))
			}
		}}
		r := newScriptedHarness(t, s)
		for _, p := range []uint32{0, 3, 0} {
			synctest.Wait()
			paper.Store(p)
			r.want("A1", "processed")
			if c := r.d.Status().Conditions; (c != 0) != (p != 0) {
				t.Errorf("it answered %d and reports %q", p, c)
			}
		}
	})
}

func TestOfTwoAnswersBehindATicketTheFirstOneCounts(t *testing.T) {
	// GS r is asked again when a ticket is overdue. The first answer says whether the ticket's last lines are on paper.
	for answers, want := range map[string]string{"\x0c\x00": "doubt", "\x00\x0c": "processed"} {
		synctest.Test(t, func(t *testing.T) {
			count, asked := countGSr(), 0
			r := newScriptedHarness(t, answering(func(c net.Conn, all string) {
				n := count(c, all)
				if !behind(all) {
					_, _ = c.Write(make([]byte, n))
				} else if asked += n; n > 0 && asked == 2 {
					_, _ = c.Write([]byte(answers))
				}
			}))
			r.want("A1", want)
		})
	}
}

func TestAPrinterThatPausesDuringTheProbeIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := answering(func(c net.Conn, all string) {
			if last(all, "\x1da\x0e") {
				time.Sleep(3 * time.Second)
			}
			answersIDs(c, all)
		})
		r := newScriptedHarness(t, s)
		r.want("A1", "confirmed")
	})
}

func TestATicketIsNotBegunOnAConnectionThatEndedDuringTheFirstQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScriptedHarness(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if last(all, "\x10\x04\x01") {
				_ = c.Close()
			}
		}})
		if o := r.want("A1", "clean"); o.began > 0 || r.d.Status().Capability != "" {
			t.Errorf("begun %d times, %v, %+v", o.began, o.err, r.d.Status())
		}
	})
}

func TestATicketBeginsInItsOwnContext(t *testing.T) {
	// What stores the doubt stops with the ticket.
	withHarness(t, answersAll(), nil, func(r *harness) {
		type key struct{}
		_, err := r.p.Print(context.WithValue(r.t.Context(), key{}, 1), orderOf("A1"), func(ctx context.Context) error {
			if ctx.Value(key{}) != 1 {
				t.Error("begun in another context")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestTheEndOfAnEarlierTicketsContextDisturbsNoOther(t *testing.T) {
	// The context of a ticket that is printed ends while the question before the next one is written.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var second atomic.Bool
		s := answering(func(c net.Conn, all string) {
			if second.Load() && last(all, "\x00\x00") && idReply(all) == nil {
				later(time.Second, cancel)
				time.Sleep(1500 * time.Millisecond)
			}
			answersIDs(c, all)
		})
		r := newScriptedHarness(t, s)
		if o := r.printWith(ctx, r.p, orderOf("A1"), nil); o.kind() != "confirmed" {
			t.Error(o.err)
		}
		synctest.Wait()
		second.Store(true)
		r.want("A2", "confirmed")
	})
}

func TestEachDeviceMarksItsIDs(t *testing.T) {
	marks := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		for range 8 { // that all are the same by chance: once in 10^21
			s := answering(answersIDs)
			r := newScriptedHarness(t, s)
			r.want("A1", "confirmed")
			r.d.Retire()
			_, id, _ := strings.Cut(s.all(), theID)
			marks[id[:2]] = true
		}
	})
	if len(marks) < 2 {
		t.Errorf("%v: an answer to the box's earlier process would be taken for its own", marks)
	}
}
