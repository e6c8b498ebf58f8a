package printer_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/virtual"
	"ticketrail/queue/queuetest"
)

func TestADamagedOrFailingStoreDelaysNoTicket(t *testing.T) {
	for name, damage := range map[string]func(s *queuetest.Store){
		"CannotRead":  func(s *queuetest.Store) { s.InjectRead(true) },
		"CannotWrite": func(s *queuetest.Store) { s.Inject(queuetest.Failed) },
		"NoJSON":      func(s *queuetest.Store) { s.Set("grill", "{") },
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, answersAll(), nil, func(r *harness) {
				damage(r.mem)
				r.want("A1", "confirmed")
				r.want("A2", "confirmed")
				assert.True(t, !strings.Contains(name, "Cannot") || r.logged("level=WARN") != 0, name)
			})
		})
	}
}

func TestTheStatusSaysSinceWhenAndWhatToDo(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.want("A1", "confirmed")
		r.v.Set(virtual.PaperOut, true)
		for range 5 {
			r.want("A2", "not ready")
			time.Sleep(10 * time.Second)
		}
		s := r.wantState(printer.PaperOut)
		assert.True(t, strings.Contains(s.Advice, "paper") && !s.Fine && time.Since(s.Since) >= 40*time.Second, s)
		r.v.Set(virtual.PaperOut, false)
		r.want("A2", "confirmed")
		r.v.Set(virtual.PaperLow, true)
		r.want("A3", "confirmed")
		s = r.wantState(printer.Ready)
		assert.True(t, s.Fine && strings.Contains(s.Advice, "roll") && slices.Contains(s.Conditions, "paper_low"), s)
	})
}

func TestWatchPollsAnIdlePrinterAndNeverDelaysATicket(t *testing.T) {
	poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute }
	withHarness(t, answersAll(), poll, func(r *harness) {
		go r.d.Watch(r.t.Context())
		time.Sleep(10 * time.Second) // probed before the first ticket
		s := r.wantState(printer.Ready)
		assert.True(t, s.BestProof == "confirmed" && !r.d.Connected(), s)
		r.v.Set(virtual.CoverOpen, true)
		time.Sleep(5 * time.Minute)
		r.wantState(printer.CoverOpen)
		r.v.Set(virtual.CoverOpen, false)
		time.Sleep(5 * time.Minute)
		r.wantState(printer.Ready)
		_ = r.v.Refuse(true)
		time.Sleep(5 * time.Minute)
		r.wantState(printer.Unreachable)
		_ = r.v.Refuse(false)
		time.Sleep(5 * time.Minute)
		r.wantState(printer.Ready)
		assert.Equal(t, r.v.TicketCount(), 0)
		// A poll that hangs is cancelled by a ticket.
		r.v.Stall()
		time.Sleep(4*time.Minute + 51*time.Second)
		r.v.Repair()
		r.want("A1", "confirmed").within(r, 0, time.Second)
	})
}

func TestASilentPrinterIsProbedAgainSoonAndThenMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute, good := virtual.New(virtual.Options{Kanji: true}), virtual.New(answersAll())
		wire := leadsTo(mute)
		poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 30 * time.Second }
		r := newHarness(t, good, wire, poll)
		go r.d.Watch(r.t.Context())
		r.want("A1", "sent")
		time.Sleep(10 * time.Hour)
		// A ticket, and probes after about 1, 2, 4, … and then every 64 minutes.
		n := mute.ClientCount()
		assert.True(t, n >= 13 && n <= 17, n)
		wire.set(good)
		time.Sleep(70 * time.Minute)
		r.want("A2", "confirmed")
		r.d.Retire()
	})
}

func TestASilentPrinterThatAnswersBeforeATicketIsProbedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute, good := virtual.New(virtual.Options{Kanji: true}), virtual.New(answersAll())
		wire := leadsTo(mute)
		r := newHarness(t, good, wire, nil)
		r.wantAlone("A1", "sent")
		wire.set(good)
		r.want("A2", "confirmed")
	})
}

func TestAfterAProbeThatBreaksOffTheNextOneComesLater(t *testing.T) {
	// One that breaks off takes about as long as one that finds nothing.
	withHarness(t, virtual.Options{Can: virtual.RealTime, Kanji: true}, nil, func(r *harness) {
		r.want("A1", "sent")
		time.Sleep(61 * time.Second)
		r.v.Stall()
		r.want("A2", "not ready")
		r.v.Repair()
		for sleep, probes := range []int{1, 2} {
			time.Sleep(time.Duration(100-70*sleep) * time.Second)
			r.want("A2", "sent")
			assert.Equal(t, r.mem.Writes(), probes)
		}
	})
}

func TestAPrinterThatClosesForAQuestionPrintsWithout(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.v.CloseAfter(4, -1)
		for range 3 {
			r.want("A1", "clean")
		}
		for _, name := range []string{"A1", "A2"} {
			r.v.CloseAfter(4, 1) // the connection of the question
			r.want(name, "sent")
		}
		r.wantPaper("A1 A2")
		r.wantState(printer.Silent)
	})
}

func TestAStoredCapabilityCountsIfAProbeCanHaveFoundItWithThisConfiguration(t *testing.T) {
	for stored, counts := range map[string]bool{
		`"fence":"process_id","real_time":[1,2,3,4],"profile":"slim","confirm":"auto"`: true,
		`"fence":"process_id","real_time":[1,4]`:                                       true, // an older version's
		`"fence":"process_id","real_time":[1],"answers_cut_off":true`:                  true, // an older version's
		`"fence":"status","real_time":[]`:                                              true,
		`"fence":"","real_time":[2],"probed":"2000-01-01T00:00:00Z"`:                   true,
		`"fence":"process_id","real_time":[1],"profile":"wide"`:                        false,
		`"fence":"process_id","real_time":[1],"confirm":"status"`:                      false,
		`"fence":"process_id","real_time":[0]`:                                         false,
		`"fence":"process_id","real_time":[5]`:                                         false,
		`"fence":"process_id","real_time":[1,1]`:                                       false,
		`"fence":"process_id","real_time":[2,1]`:                                       false,
		`"fence":"","real_time":[]`:                                                    false,
	} {
		slim := func(d *printer.DeviceOptions, _ *printer.Options) { d.Profile = "slim" }
		withHarness(t, answersAll(), slim, func(r *harness) {
			r.mem.Set("grill", "{"+stored+"}")
			assert.Equal(t, r.print("A1").err, nil)
			probed := r.mem.Writes() > 0
			assert.True(t, probed != counts, stored, probed)
		})
	}
}

func TestAPrinterWithAFenceIsProbedAgainOnlyByAPersonAndOnANewConnection(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.want("A1", "confirmed")
		time.Sleep(48 * time.Hour)
		r.want("A2", "confirmed")
		assert.True(t, r.mem.Writes() == 1 && r.v.ClientCount() == 2, r.mem.Writes(), r.v.ClientCount())
		_, err := r.d.Probe(r.t.Context())
		assert.Equal(t, r.v.ClientCount(), 3, err)
	})
}

func TestOnlyTheFirstTicketOfASilentPrinterWaitsForItsFirstAnswerAndNothingIsStored(t *testing.T) {
	withHarness(t, virtual.Options{Kanji: true}, nil, func(r *harness) {
		r.want("A1", "sent").within(r, 20*time.Second, 30*time.Second)
		time.Sleep(time.Hour) // it is probed again
		r.want("A2", "sent").within(r, 0, 2*time.Second)
		assert.True(t, r.mem.Writes() == 0, r.mem.Value("grill"))
	})
}

func TestWithPollsNoTicketWaitsForTheProbeAfterAnHour(t *testing.T) {
	poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = time.Minute }
	withHarness(t, virtual.Options{Kanji: true}, poll, func(r *harness) {
		r.want("A1", "sent")
		time.Sleep(2 * time.Hour)
		r.want("A2", "sent").within(r, 0, 200*time.Millisecond)
	})
}

func TestProbesThatWereInterruptedAreNoSilence(t *testing.T) {
	// A poll ends whenever a ticket comes.
	withScript(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		later(100*time.Millisecond, func() {
			if id := idReply(all); !answerStatus(c, all) && id != nil {
				_, _ = c.Write(id)
			}
		})
	}}, func(r *harness) {
		for range 5 {
			ctx, cancel := context.WithTimeout(r.t.Context(), 250*time.Millisecond)
			o := r.printWith(ctx, r.p, orderOf("A1"), nil)
			assert.Equal(t, o.kind(), "clean", o.err)
			cancel()
			assert.Equal(t, r.d.Status().State, printer.Unknown)
		}
		r.want("A1", "confirmed")
	})
}

// dropper answers everything and drops the connection at the first fence, if drop says so.
func dropper(drop *bool) *scriptedPrinter {
	return answering(func(c net.Conn, all string) {
		if idReply(all) != nil && *drop { // in this order: the test sets drop while a cut is read
			_ = c.Close()
		}
		answersIDs(c, all)
	})
}

func TestOnlyProbesThatAreDroppedInARowMeanThatItAnswersNothing(t *testing.T) {
	drop := true
	withScript(t, dropper(&drop), func(r *harness) {
		for range 2 {
			r.want("A1", "clean")
			r.wantState(printer.Unreachable)
			assert.True(t, !r.d.Connected(), "the connection was not closed")
		}
		drop = false
		r.want("A1", "confirmed")
		drop = true
		s, err := r.d.Probe(r.t.Context())
		assert.True(t, err != nil && s.BestProof == "confirmed", err, s)
		drop = false
		r.want("A1", "confirmed")
	})
}

func TestALateAnswerDuringTheProbeIsNotTakenForAnotherOne(t *testing.T) {
	// An answer to DLE EOT does not name its question. The drawer's bit of n = 1 is the cover's of n = 2.
	const ms = time.Millisecond
	for name, delays := range map[string]map[int]time.Duration{
		"only n = 1 is answered, late":                        {1: 300 * ms},
		"n = 4 is answered after its time":                    {1: 75 * ms, 2: 50 * ms, 3: 25 * ms, 4: 250 * ms},
		"n = 4 is answered after its time, the others slowly": {1: 100 * ms, 2: 100 * ms, 3: 100 * ms, 4: 250 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			withScript(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
				if id := idReply(all); id != nil {
					_, _ = c.Write(id)
					return
				}
				for n := range 4 {
					d := delays[n+1]
					if d == 0 || !last(all, "\x10\x04"+string(rune(n+1))) {
						continue
					}
					b := byte(0x12)
					if n == 0 {
						b = 0x16
					}
					later(d, func() { _, _ = c.Write([]byte{b}) })
				}
			}}, func(r *harness) {
				r.want("A1", "confirmed")
				r.wantState(printer.Ready)
			})
		})
	}
}

// pusher answers GS r, and GS a 14 with push.
func pusher(push string) *scriptedPrinter {
	asked := countGSr()
	return answering(func(c net.Conn, all string) {
		if last(all, "\x1da\x0e") {
			_, _ = c.Write([]byte(push))
		}
		_, _ = c.Write(make([]byte, asked(c, all)))
	})
}

func TestAutomaticStatusIsUsedInTheRightFormatOnly(t *testing.T) {
	for push, used := range map[string]bool{
		"":                         false,
		"\x10\x00\x00\x0f":         true,
		"\x00":                     false,
		"\x10\x00\x00\x0f\x00":     false,
		"\x10\x00\x00\x0f\x00\x00": false,
	} {
		s := pusher(push)
		withScript(t, s, func(r *harness) {
			r.want("A1", "processed")
			assert.Contains(t, r.mem.Value("grill"), fmt.Sprintf(`"automatic_status":%t`, used))
			assert.Equal(t, strings.Contains(s.all(), "\x1da\x00"), !used, "switched off", push)
			hangUp(r.d)
			assert.True(t, !used || strings.HasSuffix(s.all(), "\x1da\x00"), "the next client gets the status unasked")
		})
	}
}

func TestOnlyAConnectionThatEndsOnAWorkingPrinterIsThatOfAPrintServer(t *testing.T) {
	for name, status := range map[string]func(c net.Conn, n byte){
		"it stays": func(c net.Conn, _ byte) { _, _ = c.Write([]byte{0x12}) },
		"the cover opened": func(c net.Conn, n byte) {
			_, _ = c.Write([]byte{map[bool]byte{true: 0x16, false: 0x12}[n == 2]})
			if n == 4 {
				_ = c.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withScript(t, slowStatus(0, status), func(r *harness) {
				o := r.want("A1", "doubt")
				assert.True(t, !strings.Contains(o.err.Error(), "print server"), o.err)
			})
		})
	}
}
