package printer_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/profile"
)

func TestOnAKeptConnectionNoAnswerToGSrIsWaitedForTwice(t *testing.T) {
	// GS r is doubled on a new connection only, and answers to the first two are waited for only there.
	asked := countGSr()
	s := answering(func(c net.Conn, all string) { _, _ = c.Write(make([]byte, asked(c, all))) })
	withScript(t, s, func(r *harness) {
		r.want("A1", "processed")
		before := strings.Count(s.all(), theGSr)
		r.want("A2", "processed").within(r, 0, 0)
		assert.Equal(t, strings.Count(s.all(), theGSr)-before, 2)
	})
}

func TestTheNewestReportOnThePaperCounts(t *testing.T) {
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
	withScript(t, s, func(r *harness) {
		for _, p := range []uint32{0, 3, 0} {
			synctest.Wait()
			paper.Store(p)
			r.want("A1", "processed")
			assert.Equal(t, len(r.d.Status().Conditions) != 0, p != 0, p)
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
		r := newHarness(t, nil, s, nil)
		o := r.printWith(ctx, r.p, orderOf("A1"), nil)
		assert.Equal(t, o.kind(), "confirmed", o.err)
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
			r := newHarness(t, nil, s, nil)
			r.want("A1", "confirmed")
			r.d.Retire()
			_, id, _ := strings.Cut(s.all(), theID)
			marks[id[:2]] = true
		}
	})
	assert.True(t, len(marks) >= 2, marks)
}

func TestAnUnknownIDIsReportedAsAnotherProgram(t *testing.T) {
	withScript(t, answering(func(c net.Conn, all string) {
		if id := idReply(all); id != nil {
			_, _ = c.Write([]byte("7\"P001\x007\"P002\x00"))
			_, _ = c.Write(id)
			_, _ = c.Write(id) // a second time is not another program
		}
	}), func(r *harness) {
		r.want("A1", "confirmed") // probe, hello and ticket: three fences, two unknown ids each
		synctest.Wait()
		status := r.d.Status()
		assert.Equal(t, status.Foreign, 6)
		assert.True(t, time.Since(status.ForeignAt) < time.Second, status.ForeignAt)
	})
}

func TestTheIDOfAnEarlierTicketProvesNothing(t *testing.T) {
	var answers [][]byte
	withScript(t, answering(func(c net.Conn, all string) {
		if id := idReply(all); id != nil {
			answers = append(answers, id)
			_, _ = c.Write(answers[min(len(answers)-1, 1)]) // probe, hello, and then the hello's again
		}
	}), func(r *harness) {
		r.want("A1", "doubt")
		assert.Equal(t, r.d.Status().Foreign, 0, "our own old id was taken for another program's")
	})
}

func TestAnAnswerWithPaperOutIsNoProof(t *testing.T) {
	paper := byte(0)
	withScript(t, answering(func(c net.Conn, all string) {
		if strings.Contains(all[max(0, len(all)-14):], theGSr) {
			_, _ = c.Write([]byte{paper})
		}
	}), func(r *harness) {
		r.want("A1", "processed")
		synctest.Wait()
		paper = 0x0c
		assert.Contains(t, r.want("A2", "doubt").err.Error(), "out of paper")
		r.wantState(printer.PaperOut)
		synctest.Wait()
		paper = 0x03 // low is not out
		r.want("A3", "processed")
	})
}

func TestEachFenceHasAnIDOfItsOwn(t *testing.T) {
	s := answering(answersIDs)
	withScript(t, s, func(r *harness) {
		for range 20 {
			r.want("A1", "confirmed")
		}
		seen := map[string]bool{}
		for _, rest := range strings.Split(s.all(), theID)[1:] {
			id := rest[:4]
			strange := strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r > 0x7e })
			assert.True(t, !seen[id] && !strange, id)
			seen[id] = true
		}
		assert.True(t, len(seen) == 41 && s.clients() == 1, len(seen), s.clients())
	})
}

func TestOnlyItsOwnAnswerProvesAnOverdueTicket(t *testing.T) {
	// The printer's answers to another id behind the ticket: after half of the time for printing.
	for name, c := range map[string]struct {
		answers func(first, other []byte) [][]byte
		want    string
	}{
		"the other one": {func(_, other []byte) [][]byte { return [][]byte{other} }, "doubt"},
		"the first":     {func(first, _ []byte) [][]byte { return [][]byte{first} }, "confirmed"},
		"both at once": {func(first, other []byte) [][]byte {
			return [][]byte{slices.Concat(first, other)}
		}, "confirmed"},
		"both in pieces": {func(first, other []byte) [][]byte {
			return slices.Collect(slices.Chunk(slices.Concat(first, other), 1))
		}, "confirmed"},
		"a GS r": {func(_, _ []byte) [][]byte { return [][]byte{{0}} }, "doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			var first []byte
			s := answering(func(conn net.Conn, all string) {
				switch id := idReply(all); {
				case id == nil:
				case !behind(all):
					_, _ = conn.Write(id)
				case !overdue(all):
					first = id
				default:
					for _, b := range c.answers(first, id) {
						_, _ = conn.Write(b)
					}
				}
			})
			withScript(t, s, func(r *harness) {
				o := r.want("A1", c.want)
				at := 20 * time.Second
				assert.True(t, name == "a GS r" || o.took >= at-5*time.Second && o.took <= at, o.took)
			})
		})
	}
}

func TestAPrinterThatIsSilentBehindATicketIsAskedNothingMore(t *testing.T) {
	// It is slow, or the network parts, and it keeps only the newest id.
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{}
		asked := false
		s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
			switch id := idReply(all); {
			case asked:
			case id != nil && behind(all):
				asked = true
				later(20*time.Second, func() {
					newest := s.all()
					_, _ = c.Write([]byte("7\"" + newest[strings.LastIndex(newest, theID)+7:][:4] + "\x00"))
				})
			case !answerStatus(c, all):
				answersIDs(c, all)
			}
		}
		newHarness(t, nil, s, nil).want("A1", "confirmed")
	})
}

func TestNoQuestionBehindATicketIsAskedTwice(t *testing.T) {
	for name, c := range map[string]struct {
		realTime, ids bool // whether it answers DLE EOT, and GS ( H or else GS r
		wantIDs       int
		wantGSr       int
	}{
		"ids":            {true, true, 2, 0}, // one of its own, and another one when it is overdue
		"ids, no status": {false, true, 1, 0},
		"GS r":           {true, false, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := countGSr()
			s := &scriptedPrinter{answer: func(_ *scriptedPrinter, conn net.Conn, all string) {
				n := asked(conn, all)
				switch {
				case c.realTime && answerStatus(conn, all), behind(all):
				case c.ids:
					answersIDs(conn, all)
				default:
					_, _ = conn.Write(make([]byte, n))
				}
			}}
			r := newHarness(t, nil, s, func(d *printer.DeviceOptions, _ *printer.Options) {
				if !c.realTime {
					d.Confirm = profile.ByProcessID
				}
			})
			r.want("A1", "doubt")
			_, rest, _ := strings.Cut(s.all(), "job 1")
			ids := map[string]bool{}
			for _, id := range strings.Split(rest, theID)[1:] {
				ids[id[:4]] = true
			}
			n := strings.Count(rest, theID)
			assert.True(t, n == c.wantIDs && n == len(ids), name, n, len(ids), c.wantIDs)
			assert.Equal(t, strings.Count(rest, theGSr), c.wantGSr, name)
		})
	}
}

func TestAConnectionThatEndsBeforeTheAnswerLeavesADoubtEachTime(t *testing.T) {
	withScript(t, cutter(func(n int) bool { return n > 1 && n < 8 }), func(r *harness) {
		r.wantAlone("A1", "confirmed")
		for range 6 {
			r.want("A2", "doubt")
			assert.Contains(t, r.wantState(printer.Unreachable).Err, "lengthen the idle time-out")
		}
		r.want("A2", "confirmed")
		assert.Equal(t, r.mem.Writes(), 1, r.mem.Value("grill"))
	})
}
