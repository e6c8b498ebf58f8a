package virtual_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// A talk is a client that listens.
type talk struct {
	t *testing.T
	c transport.Conn
}

// call connects to p in a bubble.
func call(t *testing.T, p *virtual.Printer) talk {
	t.Helper()
	c, err := p.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return talk{t, c}
}

func (c talk) say(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.c, s); err != nil {
		c.t.Fatalf("say %q: %v", s, err)
	}
}

// hear returns what the printer says within a second.
func (c talk) hear() string {
	c.t.Helper()
	_ = c.c.SetReadDeadline(time.Now().Add(time.Second))
	var b bytes.Buffer
	_, err := io.Copy(&b, c.c)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("hear: %v after %q", err, b.String())
	}
	return b.String()
}

// ask says s and wants to hear want.
func (c talk) ask(s, want string) {
	c.t.Helper()
	c.say(s)
	if got := c.hear(); got != want {
		c.t.Errorf("to % X it said % X, want % X", s, got, want)
	}
}

func bubble(t *testing.T, name string, o virtual.Options, f func(t *testing.T, p *virtual.Printer)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, virtual.New(o)) })
	})
}

const statuses = "\x10\x04\x01\x10\x04\x02\x10\x04\x03\x10\x04\x04"

func TestEachConditionIsToldAsTheManualsSay(t *testing.T) {
	for _, tt := range []struct {
		c        virtual.Condition
		realTime string // DLE EOT 1 to 4
		asb      string
	}{
		{0, "\x12\x12\x12\x12", "\x10\x00\x00\x0f"},
		{virtual.PaperLow, "\x12\x12\x12\x1e", "\x10\x00\x03\x0f"},
		{virtual.PaperOut, "\x1a\x32\x12\x72", "\x18\x00\x0c\x0f"},
		{virtual.CoverOpen, "\x1a\x16\x12\x12", "\x38\x00\x00\x0f"},
		{virtual.CutterJam, "\x1a\x52\x1a\x12", "\x18\x08\x00\x0f"},
		{virtual.Unrecoverable, "\x1a\x52\x32\x12", "\x18\x20\x00\x0f"},
		{virtual.Overheated, "\x1a\x52\x52\x12", "\x18\x40\x00\x0f"},
		{virtual.Offline, "\x1a\x12\x12\x12", "\x18\x00\x00\x0f"},
		{virtual.PaperLow | virtual.CoverOpen, "\x1a\x16\x12\x1e", "\x38\x00\x03\x0f"},
	} {
		bubble(t, tt.c.String(), virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
			c := call(t, p)
			c.ask("\x1da\xff", "\x10\x00\x00\x0f")
			want := ""
			if tt.c != 0 {
				want = tt.asb
			}
			p.Set(tt.c, true)
			if got := c.hear(); got != want {
				t.Errorf("it pushed % X, want % X", got, want)
			}
			c.ask(statuses, tt.realTime)
			p.Set(tt.c, false)
			if got := c.hear(); (got != "") != (tt.c != 0) {
				t.Errorf("it pushed % X when it was ready again", got)
			}
			c.ask(statuses, "\x12\x12\x12\x12")
		})
	}
}

func TestWhileItIsStoppedOnlyRealTimeIsAnsweredAndThenEverythingIs(t *testing.T) {
	for _, name := range []string{"paper_out", "cover_open", "cutter_jam", "unrecoverable", "overheated", "offline"} {
		stop, err := virtual.ParseCondition(name)
		if err != nil {
			t.Fatal(err)
		}
		bubble(t, name, virtual.Options{Can: virtual.Everything, Condition: stop}, func(t *testing.T, p *virtual.Printer) {
			c := call(t, p)
			c.ask("\x1b@one\n\x1dr\x01\x1d(H\x06\x0000abcd\x1dV\x42\x00\x1d(H\x06\x0000abce", "")
			c.say("\x10\x04\x01")
			if got := c.hear(); got != "\x1a" {
				t.Errorf("real time: % X", got)
			}
			if p.Out() != 0 {
				t.Error("it printed")
			}
			p.Set(stop, false)
			if got := c.hear(); got != "\x00\x37\x22abcd\x00\x37\x22abce\x00" {
				t.Errorf("it said % X when it was ready again", got)
			}
			if got := p.Tickets(); len(got) != 1 || got[0].Text != "one\n" || p.Problems() != nil {
				t.Errorf("got %+v, %q", got, p.Problems())
			}
		})
	}
}

func TestQueriesAreAnsweredOnlyByWhoCan(t *testing.T) {
	const fence, paper, who, push, now = "\x1d(H\x06\x0000abcd", "\x1dr1", "\x1dIC", "\x1da\x0e", "\x10\x04\x01"
	for _, tt := range []struct {
		name string
		can  virtual.Ability
		want string
	}{
		{"Nothing", 0, ""},
		{"RealTimeOnly", virtual.RealTime, "\x12"},
		{"StatusOnly", virtual.StatusQuery, "\x00"},
		{"ProcessIDOnly", virtual.ProcessID, "\x37\x22abcd\x00"},
		{"IdentityOnly", virtual.Identify, "\x5fTM-T88V\x00"},
		{"PushedStatusOnly", virtual.ASB, "\x10\x00\x00\x0f"},
	} {
		bubble(t, tt.name, virtual.Options{Can: tt.can}, func(t *testing.T, p *virtual.Printer) {
			call(t, p).ask(fence+paper+who+push+now, tt.want)
		})
	}
}

func TestAResetSwitchesPushedStatusOff(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.ASB}, func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		c.ask("\x1da\x0e\x1b@", "\x10\x00\x00\x0f")
		p.Set(virtual.CoverOpen, true)
		if got := c.hear(); got != "" {
			t.Errorf("it pushed % X", got)
		}
		p.Set(virtual.CoverOpen, false)
		c.ask("\x1da\x04", "\x10\x00\x00\x0f") // errors only
		p.Set(virtual.PaperOut, true)
		if got := c.hear(); got != "" {
			t.Errorf("it pushed % X to who did not ask for it", got)
		}
		p.Refill()
		c.ask("\x1da\x00", "")
	})
}

func TestWhoAsksIsToldWhenItGoesOfflineAndWhy(t *testing.T) {
	for ask, want := range map[string]string{"0": "", "1": "\x37\x23\x00", "\x01": "\x37\x23\x00", "2": "\x37\x23\x42\x00"} {
		bubble(t, fmt.Sprintf("%q", ask), virtual.Options{Can: virtual.ProcessID}, func(t *testing.T, p *virtual.Printer) {
			c := call(t, p)
			c.ask("\x1d(H\x03\x0010"+ask, "")
			p.Set(virtual.PaperLow, true)
			p.Set(virtual.PaperOut, true)
			p.Set(virtual.CoverOpen, true)
			if got := c.hear(); got != want {
				t.Errorf("it said % X, want % X", got, want)
			}
		})
	}
}

func TestClonesAnswerWrongly(t *testing.T) {
	const fence = "\x1d(H\x06\x0000abcd"
	all := virtual.Options{Can: virtual.Everything}
	with := func(c virtual.Clone) virtual.Options { o := all; o.Clone = c; return o }
	bubble(t, "WithAnIDNobodySent", with(virtual.Clone{Answer: virtual.WrongID}), func(t *testing.T, p *virtual.Printer) {
		call(t, p).ask(fence, "\x37\x22~~~~\x00")
	})
	bubble(t, "WithGarbage", with(virtual.Clone{Answer: virtual.Babble}), func(t *testing.T, p *virtual.Printer) {
		call(t, p).ask("\x10\x04\x01", string(virtual.Babble(nil)))
	})
	bubble(t, "Late", with(virtual.Clone{Late: 5 * time.Second}), func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		c.ask(fence, "")
		time.Sleep(4 * time.Second)
		if got := c.hear(); got != "\x37\x22abcd\x00" {
			t.Errorf("late: % X", got)
		}
	})
	bubble(t, "BeforeAnythingIsPrinted", with(virtual.Clone{Hasty: true}), func(t *testing.T, p *virtual.Printer) {
		p.Set(virtual.CoverOpen, true)
		call(t, p).ask("text\n"+fence+"\x1dr\x01", "\x37\x22abcd\x00\x00")
	})
	bubble(t, "ThatThePaperIsOut", with(virtual.Clone{NoPaper: true}), func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		p.PaperFor(2)
		c.ask("1\n2\n3\n"+fence, "\x37\x33abcd\x00")
		c.ask("\x1d(H\x06\x0000abce", "\x37\x33abce\x00")
		p.Refill()
		if got := c.hear(); got != "\x37\x22abcd\x00\x37\x22abce\x00" {
			t.Errorf("with new paper: % X", got)
		}
	})
}

func TestThePaperEndsInTheMiddleAndThenPrintingGoesOn(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		p.PaperFor(2)
		c.ask("1\n2\n3\n\x1dV\x42\x00\x1dr\x01", "")
		if p.Conditions() != virtual.PaperOut || p.Out() != 0 {
			t.Errorf("%s, %d tickets", p.Conditions(), p.Out())
		}
		p.Refill()
		if got := c.hear(); got != "\x00" {
			t.Errorf("it said % X", got)
		}
		if got := p.Tickets(); len(got) != 1 || got[0].Text != "1\n2\n3\n" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestABladeThatSticksCutsWhenItIsFree(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		p.JamAtCut()
		c.ask("1\n\x1d(H\x06\x0000abcd\x1dV\x42\x00\x1d(H\x06\x0000abce", "\x37\x22abcd\x00")
		c.ask("\x10\x04\x03", "\x1a")
		p.Set(virtual.CutterJam, false)
		if got := c.hear(); got != "\x37\x22abce\x00" || p.Out() != 1 {
			t.Errorf("it said % X, %d tickets", got, p.Out())
		}
	})
}

func TestASlowPrinterTakesWhatItsBufferHolds(t *testing.T) {
	o := virtual.Options{Can: virtual.Everything, ReceiveBuffer: 10, LinesPerSecond: 1}
	bubble(t, "", o, func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		start := time.Now()
		c.say("1\n2\n3\n") // fits: nothing is waited for
		c.say("\x10\x04\x01")
		if time.Since(start) != 0 {
			t.Errorf("taking it took %s", time.Since(start))
		}
		if got := c.hear(); got != "\x12" {
			t.Errorf("while it prints it said % X", got)
		}
		c.say("4567890123\n\x1dV\x00")
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("a full buffer took %s to take more, want 3 s", d)
		}
		if err := p.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("the ticket took %s, want 4 s", d)
		}
	})
}

func TestWhatAFullBufferDoesNotReadIsNotAnswered(t *testing.T) {
	o := virtual.Options{Can: virtual.Everything, ReceiveBuffer: 4, Condition: virtual.PaperOut}
	bubble(t, "", o, func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		c.say("1\n2\n")
		_ = c.c.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := io.WriteString(c.c, "\x10\x04\x01"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a full printer read on: %v", err)
		}
	})
}

func TestAPowerCycleLosesTheBufferAndTheConnections(t *testing.T) {
	o := virtual.Options{Can: virtual.Everything, LinesPerSecond: 0.5}
	bubble(t, "", o, func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		c.say("1\n2\n3\n4\n\x1dV\x00\x1d(H\x06\x0000abcd")
		time.Sleep(3 * time.Second)
		p.PowerCycle()
		if _, err := c.c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v, want a reset", err)
		}
		if got := p.Tickets(); len(got) != 1 || got[0].Text != "1\n2\n" || got[0].End != virtual.Broken {
			t.Errorf("got %+v", got)
		}
		c = call(t, p)
		c.ask("5\n\x1d(H\x06\x0000abcd", "")
		time.Sleep(time.Second)
		if got := c.hear(); got != "\x37\x22abcd\x00" {
			t.Errorf("afterwards: % X", got)
		}
	})
}

func TestAPrinterWithoutPowerHangsAndThenResets(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		c.say("1\n")
		p.PowerOff()
		_ = c.c.SetWriteDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(c.c, "2\n"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v, want nothing for a minute", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial: %v, want nothing for a minute", err)
		}
		p.PowerOn()
		if _, err := c.c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v, want a reset", err)
		}
		call(t, p).ask("\x10\x04\x01", "\x12")
	})
}

func TestAConnectionThatVanishedGoesOnWhenTheCableIsBack(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := call(t, p)
		c.say("1\n")
		p.Vanish(true)
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c.c, "2\n\x1dr\x01")
			wrote <- err
		}()
		if got := c.hear(); got != "" {
			t.Errorf("without a cable it said % X", got)
		}
		p.Vanish(false)
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if got := c.hear(); got != "\x00" {
			t.Errorf("with the cable back it said % X", got)
		}
	})
}

func TestAResetReachesEveryClient(t *testing.T) {
	bubble(t, "", virtual.Options{}, func(t *testing.T, p *virtual.Printer) {
		one, two := call(t, p), call(t, p)
		one.say("1\n")
		p.Reset()
		for _, c := range []talk{one, two} {
			if _, err := c.c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("read: %v, want a reset", err)
			}
		}
		synctest.Wait()
		if got := p.Tickets(); len(got) != 1 || got[0].End != virtual.Broken {
			t.Errorf("got %+v", got)
		}
	})
}

func TestOneClientTooManyIsRefusedOrHangs(t *testing.T) {
	bubble(t, "Refused", virtual.Options{Clients: 2}, func(t *testing.T, p *virtual.Printer) {
		one := call(t, p)
		call(t, p)
		if _, err := p.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the third: %v", err)
		}
		_ = one.c.Close()
		synctest.Wait()
		call(t, p)
	})
	bubble(t, "Hangs", virtual.Options{Clients: 1, Hang: true, Can: virtual.RealTime}, func(t *testing.T, p *virtual.Printer) {
		one := call(t, p)
		time.AfterFunc(time.Minute, func() { _ = one.c.Close() })
		start := time.Now()
		call(t, p).ask("\x10\x04\x01", "\x12")
		if d := time.Since(start).Truncate(time.Minute); d != time.Minute {
			t.Errorf("the second waited %s", d)
		}
	})
}

func TestASeatThatIsGivenUpLateKeepsTheNextOneWaiting(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.RealTime}, func(t *testing.T, p *virtual.Printer) {
		p.CloseLate(30 * time.Second)
		if got := send(t, p, "1\n"); len(got) != 1 {
			t.Errorf("%d tickets", len(got))
		}
		start := time.Now()
		two := call(t, p)
		two.say("\x10\x04\x01")
		if d := time.Since(start); d < 29*time.Second || d > 30*time.Second {
			t.Errorf("the next one waited %s", d)
		}
		two.ask("", "\x12")
	})
}

func TestConditionsHaveNames(t *testing.T) {
	all, err := virtual.ParseCondition(strings.Join(virtual.ConditionNames(), ", "))
	if err != nil || all.String() != strings.Join(virtual.ConditionNames(), ",") {
		t.Errorf("%s, %v", all, err)
	}
	if _, err := virtual.ParseCondition("on_fire"); err == nil || !strings.Contains(err.Error(), "cover_open") {
		t.Errorf("a condition that is none: %v", err)
	}
}

func TestEachModelSaysWhatItIs(t *testing.T) {
	for model, want := range map[string]string{
		"epson-tm-u220b":  "\x5fEPSON\x00\x5fTM-U220B\x00\x5f\x00\x02",
		"generic-80mm":    "\x5fEPSON\x00\x5fTM-T88III\x00\x5f\x00\x02",
		"citizen-ct-s310": "\x5fCITIZEN\x00\x5fCT-S310\x00\x5f\x00\x02",
	} {
		p, ok := profile.Lookup(model)
		if !ok {
			t.Fatalf("no model %s", model)
		}
		p.TwoByte = profile.NoTwoByte
		bubble(t, model, virtual.Like(p), func(t *testing.T, p *virtual.Printer) {
			call(t, p).ask("\x1dI\x42\x1dI\x43\x1dI\x45\x1dI\x02", want)
		})
	}
	p, _ := profile.Lookup("generic-80mm")
	p.TwoByte, p.Confirm = profile.GB18030, profile.ByStatus
	bubble(t, "chinese", virtual.Like(p), func(t *testing.T, p *virtual.Printer) {
		call(t, p).ask("\x1dI\x45\x1d(H\x06\x0000abcd\x1dr\x01", "\x5fCHINA GB18030\x00\x00")
	})
}

func TestNothingIsLeftOfAStoppedPrinterWithAFullBuffer(t *testing.T) {
	// The bubble panics if a goroutine is left.
	for _, o := range []virtual.Options{{}, {LinesPerSecond: 0.001}, {ReceiveBuffer: 100}, {Condition: virtual.PaperOut}, {Clone: virtual.Clone{Late: time.Hour}}} {
		o.Can = virtual.Everything
		bubble(t, fmt.Sprintf("%+v", o), o, func(t *testing.T, p *virtual.Printer) {
			c := call(t, p)
			c.say("1\n2\n\x1dr\x01\x10\x04\x01")
			p.CloseLate(time.Hour)
			_ = c.c.Close()
		})
	}
}
