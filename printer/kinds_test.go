package printer_test

import (
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

func TestAnAnswerThatComesBeforeThePaperCanHaveMovedProvesNothing(t *testing.T) {
	for can, proof := range map[virtual.Capability]string{
		virtual.Everything:                      "confirmed",
		virtual.Everything &^ virtual.ProcessID: "processed",
	} {
		atOnce := virtual.Options{Can: can, Kanji: true, LinesPerSecond: math.Inf(1)}
		withHarness(t, atOnce, nil, func(r *harness) {
			print := func(lines int, want string) {
				t.Helper()
				r.wantFrom(r.p, order(lines), want)
			}
			print(1, proof) // too short to tell
			print(30, "sent")
			s := r.d.Status()
			assert.True(t, s.State == "ready" && strings.Contains(s.Advice, "not its engine"), s.State, s.Advice)
			r.v.Delay(10 * time.Millisecond)
			print(30, proof)
			r.wantState("ready")
		})
	}
}

func TestABelievableAnswerTakesAQuarterOfThePapersTimeAt500MillimetresASecond(t *testing.T) {
	var late time.Duration
	withScript(t, answering(func(c net.Conn, all string) {
		if id := idReply(all); id != nil {
			later(late, func() { _, _ = c.Write(id) })
		}
	}), func(r *harness) {
		proof := func() string { return r.printWith(r.t.Context(), r.p, order(30), nil).kind() }
		for proof() == "sent" && late < time.Second {
			late += time.Millisecond
		}
		v := virtual.New(answersAll())
		real := newHarness(r.t, v, v, nil)
		assert.NoError(t, real.printWith(r.t.Context(), real.p, order(30), nil).err)
		hangUp(real.d)
		height := 0 // in lines of 24 dots, of which 8 are a millimetre
		for _, line := range v.Tickets()[0].Lines {
			height += line.Height()
		}
		want := time.Duration(height) * 3 * time.Second / 500 / 4
		assert.True(t, late >= want && late <= want+time.Millisecond, height, late, want)
	})
}

func TestNULsKeepASlowLineBusyForTwoSecondsAtMost(t *testing.T) {
	// Another program has left the printer inside the largest image that printers take, behind a device server.
	const largest = "\x1dv0\x00\x48\x00\xff\x1f" // 72 bytes wide, 8,191 rows
	for rate, most := range map[int]int64{960: 1920, 11520: 23040, 0: 640 << 10} {
		withLine(t, kitchenPrinter(100), rate, func(r *harness, p line) {
			r.wantAlone("A1", "confirmed")
			p.till(largest)
			before := p.BytesRead()
			o := r.print("A2")
			switch took := p.BytesRead() - before; {
			case rate > 0 && (o.kind() != "not ready" || took > most+most/50+400 || took < most/2):
				t.Errorf("%d bytes a second: %s, %d bytes sent, want %d", rate, o.kind(), took, most)
			case rate == 0 && o.kind() != "confirmed":
				t.Errorf("at once: %s after %d bytes: %v", o.kind(), took, o.err)
			}
			r.d.Retire()
			time.Sleep(time.Minute) // the bytes on the way arrive
		})
	}
}

func TestAPrinterWhoseLineCannotBeMeasuredGets2048NULs(t *testing.T) {
	// It answers GS ( H and no DLE EOT, and then nothing.
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if !silent.Load() {
				answersIDs(c, all)
			}
		}}
		r := newHarness(t, nil, s, func(d *printer.DeviceOptions, _ *printer.Options) {
			d.Confirm = profile.ByProcessID
		})
		r.wantAlone("A1", "confirmed")
		silent.Store(true)
		before := strings.Count(s.all(), "\x00")
		r.want("A2", "not ready")
		r.wantState(printer.Busy)
		n := strings.Count(s.all(), "\x00") - before
		assert.True(t, n >= 2<<10 && n <= 2<<10+50, n)
	})
}

func TestAPrinterThatNeverAnsweredAFenceGets2048NULsForATicket(t *testing.T) {
	for _, rate := range []int{960, 0} {
		for name, can := range map[string]virtual.Capability{
			"answers its status": virtual.RealTime, "answers nothing": 0,
		} {
			o := kitchenPrinter(100)
			o.Can, o.ReceiveBuffer = can, 64<<10
			withLine(t, o, rate, func(r *harness, p line) {
				for n := range 3 {
					before := p.BytesRead()
					o := r.print("A1")
					assert.True(t, o.kind() == "sent" && (n == 0 || o.took <= 10*time.Second), name, o)
					sent := p.BytesRead() - before
					assert.True(t, sent >= 2<<10 && sent <= 2<<10+600, name, n, sent)
				}
			})
		}
	}
}

func TestWhatIsNoPrinterIsSentNoTicketAndSaidInOneWord(t *testing.T) {
	echo := func(_ *scriptedPrinter, c net.Conn, all string) { _, _ = c.Write([]byte(all)) }
	says := func(text string) func(*scriptedPrinter, net.Conn, string) {
		return func(_ *scriptedPrinter, c net.Conn, all string) {
			if len(all) == 16 {
				_, _ = c.Write([]byte(text))
				_ = c.Close()
			}
		}
	}
	for name, answer := range map[string]func(*scriptedPrinter, net.Conn, string){
		"a web server":              says("HTTP/1.1 400 Bad Request\r\nServer: nginx/1.22.1\r\n\r\n<html>\r\n"),
		"an SSH daemon":             says("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n"),
		"a program that sends text": says("220 mail.example.com ESMTP\r\n"),
		"a program that returns what it is sent": func(s *scriptedPrinter, c net.Conn, all string) {
			if len(all) <= 16 {
				echo(s, c, all)
			} else {
				echo(s, c, all[16:][(len(all)-17)/3*3:]) // DLE EOT by DLE EOT
			}
		},
	} {
		s := &scriptedPrinter{answer: answer}
		withScript(t, s, func(r *harness) {
			got := r.d.Ask(r.t.Context())
			assert.True(t, got.State == "not_a_printer" && len(got.Conditions) == 0, got)
			assert.Contains(t, got.Err, name)
			for range 3 {
				r.want("A1", "not ready")
				r.wantState("not_a_printer")
			}
			n := len(s.all())
			assert.True(t, n <= s.clients()*(16+2*4*3) && !strings.Contains(s.all(), "A1"), name, n)
			s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
				if !answerStatus(c, all) {
					answersIDs(c, all)
				}
			}
			r.want("A1", "confirmed")
			r.wantState("ready")
		})
	}
}

func TestAnEchoIsKnownAlthoughItTookTheFirstQuestionLate(t *testing.T) {
	echoed, full := 0, true
	echo := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		_, _ = c.Write([]byte(all[echoed:]))
		echoed = len(all)
	}}
	late := &tap{Dialer: echo, before: func([]byte) (n int, err error) {
		if full {
			err = os.ErrDeadlineExceeded
		}
		full = false
		return 0, err
	}}
	withScript(t, late, func(r *harness) {
		r.want("A1", "not ready")
		r.wantState(printer.NotAPrinter)
	})
}

func TestWhoIsSilentUntilOurSideEndsIsAPrinterOnlyIfNothingComesThen(t *testing.T) {
	for complaint, want := range map[string]string{"HTTP/1.1 400 Bad Request\r\n": "not ready", "": "sent"} {
		var itsEnd atomic.Pointer[net.Conn]
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, _ string) { itsEnd.Store(&c) }}
		complain := func() { _, _ = (*itsEnd.Load()).Write([]byte(complaint)) }
		withScript(t, &tap{Dialer: s, half: complain}, func(r *harness) {
			if o := r.want("A1", want); want == "sent" {
				r.wantState(printer.Silent)
			} else {
				assert.Contains(t, o.err.Error(), "a web server (HTTP/1.1 400")
			}
		})
	}
}

func TestAPrinterThatSendsBytesOfItsOwnWithEachStatusHasNoGSr(t *testing.T) {
	star := virtual.Clone{Answer: ahead("\x23\x86\x80\x90")}
	withHarness(t, virtual.Options{Can: virtual.RealTime, Clone: star, Kanji: true}, nil, func(r *harness) {
		r.mem.Set("grill", `{"fence":"status","real_time":"AQIDBA=="}`) // as an earlier version has found
		r.want("A1", "sent")
		assert.Equal(t, r.d.Status().BestProof, "sent")
	})
	due, asked := "\x00", countGSr() // one answer to another program is not with each status
	withScript(t, answering(func(c net.Conn, all string) {
		if asked := asked(c, all); asked > 0 {
			_, _ = c.Write(make([]byte, asked))
		} else if last(all, "\x00") {
			_, _ = c.Write([]byte(due))
			due = ""
		}
	}), func(r *harness) { r.want("A1", "processed") })
}

func TestATextThatComesWithATicketLeavesADoubtAndNoFurtherTicketIsSent(t *testing.T) {
	// It answers no question, so the ticket would count as sent.
	var once sync.Once
	s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		if strings.Contains(all, "D0") { // in the first of several chunks: the text is read before the last one
			once.Do(func() { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n")) })
		}
	}}
	withScript(t, s, func(r *harness) {
		r.want("A1", "sent")
		r.wantFrom(r.p, orderOfLines(200), "doubt")
		r.wantState(printer.NotAPrinter)
		r.want("A2", "not ready")
		assert.True(t, !strings.Contains(s.all(), "A2"), "a ticket was sent to it")
	})
}

func TestAPrinterWhoseAnswersComeWithTheNextBytesIsToldWithTheRemedy(t *testing.T) {
	for can, proof := range map[virtual.Capability]string{
		virtual.Everything: "confirmed", statusOnly: "processed", realTimeOnly: "sent",
	} {
		low := virtual.Options{Can: can, Kanji: true, Condition: virtual.PaperLow}
		withHarness(t, low, nil, func(r *harness) {
			r.v.AnswerWithNextBytes(true)
			r.want("A1", proof).within(r, 0, 15*time.Second)
			hangUp(r.d)
			r.v.Set(virtual.PaperLow, false)                // about which the advice is until then
			r.want("A1", proof).within(r, 0, 2*time.Second) // half a second more than without
			s := r.d.Status()
			assert.True(t, s.State == "ready" && strings.Contains(s.Advice, "confirm: none"), s.State, s.Advice)
		})
	}
}

func TestAPrinterThatReadTheQuestionTogetherWithTheByteBehindItIsSentAnother(t *testing.T) {
	// Its answers come with the next bytes, and it was busy when the first of these came.
	const behind = "\x1b=\x01\x1b=\x01"
	busy := false
	withScript(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		if question, came := strings.CutSuffix(all, behind); !busy {
			answerStatus(c, all)
		} else if came {
			answerStatus(c, question)
		}
	}}, func(r *harness) {
		r.want("A1", "sent")
		time.Sleep(30 * time.Second) // it is not probed again yet
		busy = true
		r.want("A2", "sent")
	})
}

func TestANetworkThatPartsFor25SecondsCostsNoBanner(t *testing.T) {
	for place, text := range map[string]string{"before it": "", "in its head": "Fish 02", "behind it": "| job 2 "} {
		withLine(t, kitchenPrinter(50), 0, func(r *harness, p line) {
			part := func() {
				p.Unplug(true)
				time.AfterFunc(25*time.Second, func() { p.Unplug(false) })
			}
			assert.Equal(t, deliver(r.t.Context(), r.p, 1, 0).outcome, "confirmed")
			if text == "" {
				part()
			} else {
				p.After(text, 0, part)
			}
			start := time.Now()
			got := deliver(r.t.Context(), r.p, 2, 0)
			took := time.Since(start)
			assert.True(t, got.attempts == 1 && took >= 20*time.Second, place, got.attempts, took)
			assert.Equal(t, got.outcome, "confirmed", place)
			hangUp(r.d)
			assert.Equal(t, strings.Count(strings.Join(p.pieces(), ""), "#102"), 1, place)
		})
	}
}

func TestASearchSendsNothingThatAnotherDevicePrints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{} // it answers nothing
		id, err := printer.Identify(t.Context(), s, true, true)
		assert.Equal(t, id, printer.Identity{}, err)
		assert.Equal(t, strings.Trim(s.all(), "\x00"), "\x10\x04\x01")
	})
}

func TestADeviceOfWhichMoreThanAnAnswerIsHeardIsNoPrinter(t *testing.T) {
	for says, want := range map[string]bool{
		"\x12": true, "\x13\x12": true, "\xff\xfd\x12": false, "\x12\xff\xfd": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
				if last(all, "\x10\x04\x01") {
					_, _ = c.Write([]byte(says))
				}
			}}
			id, err := printer.Identify(t.Context(), s, true, false)
			assert.Equal(t, id.Printer, want, says, err)
		})
	}
}

// A replaced is the address of a printer that can be replaced by another.
type replaced struct{ transport.Dialer }

func TestTheAdviceOnLateAnswersEndsWithThePrinterThatGaveThem(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.v.AnswerWithNextBytes(true)
		at, o := &replaced{r.v}, r.dev
		o.Dialer, o.Lock = at, nil
		d := printer.NewDevice(o)
		defer d.Retire()
		s, err := d.Probe(r.t.Context())
		assert.True(t, strings.Contains(s.Advice, "confirm: none"), s, err)

		at.Dialer = virtual.New(virtual.Options{Kanji: true}) // which answers nothing
		s, err = d.Probe(r.t.Context())
		assert.True(t, s.State == printer.Silent && s.Advice == "", s, err)
	})
}
