package printer_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

func TestASingleStatusByteThatNobodyAskedForProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var itsEnd net.Conn
		asked := countGSr()
		s := answering(func(c net.Conn, all string) {
			itsEnd = c
			_, _ = c.Write(make([]byte, asked(c, all)))
		})
		noise := 0
		r := newHarness(t, nil, &tap{Dialer: s, after: func(_ transport.Conn, written string) {
			if noise > 0 && strings.Contains(written, "job 1") {
				synctest.Wait() // it has read the ticket
				_, _ = itsEnd.Write(make([]byte, noise))
				synctest.Wait() // that was read, before the question is written
			}
		}}, nil)
		for i, want := range []string{"processed", "sent", "processed"} {
			noise = i % 2
			r.want("A1", want)
		}
		assert.Equal(t, s.clients(), 1)
	})
}

func TestACutThatWasTakenAheadOfATicketIsNotSentAgain(t *testing.T) {
	// The cut of A1 fails. It goes ahead of A2, which breaks off in its middle, and belongs to neither from then on.
	s := answering(answersIDs)
	w := &tap{Dialer: s}
	withScript(t, w, func(r *harness) {
		w.before = pulledAt(theCut)
		r.want("A1", "confirmed")
		assert.Equal(t, strings.Count(s.all(), theCut), 0)
		w.before = nil
		w.after = func(c transport.Conn, written string) {
			if strings.Contains(written, "D0") {
				_ = c.Close()
				synctest.Wait() // its reader has noticed
			}
		}
		r.wantFrom(r.p, orderOfLines(200), "doubt")
		assert.True(t, r.wantState(printer.Unreachable).Err != "", "nothing says why")
		w.after = nil
		r.want("A3", "confirmed")
		synctest.Wait()
		assert.Equal(t, strings.Count(s.all(), theCut), 2)
	})
}

func TestACutThatIsNotTakenDelaysItsTicketFor5Seconds(t *testing.T) {
	var ids atomic.Int32 // of the probe and then two for each ticket
	s := answering(func(c net.Conn, all string) {
		answersIDs(c, all)
		if idReply(all) == nil {
			return
		}
		if ids.Add(1) == 5 {
			time.Sleep(time.Minute)
		}
	})
	withScript(t, s, func(r *harness) {
		r.want("A1", "confirmed")
		r.want("A2", "confirmed").within(r, 5*time.Second, 10*time.Second)
		r.want("A3", "confirmed")
		synctest.Wait()
		assert.Equal(t, strings.Count(s.all(), theCut), 3)
		time.Sleep(time.Minute)
	})
}

func TestTheQuestionBehindATicketWithoutAFenceHasTimeOfItsOwn(t *testing.T) {
	// The first chunk takes nearly all of the ticket's time.
	synctest.Test(t, func(t *testing.T) {
		begun := false
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			switch {
			case behind(all) && strings.Contains(all[len(all)-3:], "\x10\x04"):
				later(time.Second, func() { _, _ = c.Write([]byte{0x12}) })
			case answerStatus(c, all):
			case strings.Contains(all, "D0") && !begun:
				begun = true
				time.Sleep(9500 * time.Millisecond)
			}
		}}
		r := newHarness(t, nil, s, func(_ *printer.DeviceOptions, o *printer.Options) {
			o.Timeout, o.PerKiB = 10*time.Second, time.Microsecond
		})
		r.wantFrom(r.p, orderOfLines(60), "sent")
	})
}

func TestAnAnswerEndsTheWaitForAStatus(t *testing.T) {
	withScript(t, slowStatus(1500*time.Millisecond, func(net.Conn, byte) {}), func(r *harness) {
		r.wantAlone("A1", "confirmed")
		r.want("A2", "confirmed").within(r, 0, 2*time.Second-1)
	})
}

func TestAnErrorThatIsPushedEndsTheWaitWithoutAnAnswer(t *testing.T) {
	// A printer that stops for good pushes that, and hears nothing any more.
	s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		switch {
		case behind(all) && idReply(all) != nil:
			later(1500*time.Millisecond, func() { _, _ = c.Write([]byte("\x18\x20\x00\x0f")) })
		case behind(all) || answerStatus(c, all):
		default:
			answersIDs(c, all)
		}
	}}
	withScript(t, s, func(r *harness) {
		r.want("A1", "doubt").within(r, 0, 10*time.Second)
		r.wantState(printer.Unrecoverable)
	})
}

func TestTheCutOfTheTicketBeforeFollowsThePadding(t *testing.T) {
	// The cut of A1 fails, and another printer takes the place of this one. It waits for the rest of a command, which a
	// cut ahead of the padding would be taken for.
	s, mute := answering(answersIDs), &scriptedPrinter{}
	wire := leadsTo(&tap{Dialer: s, before: pulledAt(theCut)})
	withScript(t, wire, func(r *harness) {
		r.want("A1", "confirmed")
		wire.set(mute)
		_, err := r.d.Probe(r.t.Context())
		assert.NoError(t, err)
		r.want("A2", "sent")
		synctest.Wait()
		assert.Contains(t, mute.all(), string(escpos.Resync(eightyMillimetres)[64:])+theCut)
	})
}

func TestOnlyTheFirstCopyDirectlyBelowAPieceSaysToIgnoreIt(t *testing.T) {
	twoCopies := func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 }
	for name, c := range map[string]struct {
		between, untouched, doubt bool
		want                      int
	}{
		"the copies follow their piece":     {doubt: true, want: 1},
		"another order came in between":     {between: true, doubt: true},
		"another order was not begun":       {untouched: true, doubt: true, want: 1},
		"there is no doubt about the first": {},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, answersAll(), twoCopies, func(r *harness) {
				r.wantAlone("A1", "confirmed")
				long := orderOfLines(200)
				long.Job = 2
				if c.doubt {
					r.v.ResetAfter(3000, 1)
				}
				o := r.printWith(r.t.Context(), r.p, long, nil)
				assert.Equal(t, o.inDoubt, c.doubt, o.err)
				if c.between {
					r.want("A3", "confirmed")
				}
				if c.untouched {
					_, err := r.p.Print(r.t.Context(), orderOf("A3"), func(context.Context) error {
						r.v.Reset()
						return nil
					})
					assert.True(t, ticket.IsUntouched(err), err)
				}
				long.Doubt = c.doubt
				r.wantFrom(r.p, long, "confirmed")
				synctest.Wait()
				all := ""
				for _, x := range r.v.Tickets() {
					all += x.Text
				}
				assert.Equal(t, strings.Count(all, "replaces the piece above"), c.want, all)
			})
		})
	}
}
