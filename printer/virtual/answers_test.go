package virtual_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// A conversation is a client that listens.
type conversation struct {
	t *testing.T
	c transport.Conn
}

// connect connects to p in a bubble.
func connect(t *testing.T, p *virtual.Printer) conversation {
	t.Helper()
	c, err := p.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return conversation{t, c}
}

func (c conversation) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.c, s); err != nil {
		c.t.Fatalf("say %q: %v", s, err)
	}
}

// receive returns what the printer says within a second.
func (c conversation) receive() string {
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
func (c conversation) ask(s, want string) {
	c.t.Helper()
	c.send(s)
	if got := c.receive(); got != want {
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

func TestStatusBytesAreThoseOfTheManuals(t *testing.T) {
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
			c := connect(t, p)
			c.ask("\x1da\xff", "\x10\x00\x00\x0f")
			want := ""
			if tt.c != 0 {
				want = tt.asb
			}
			p.Set(tt.c, true)
			if got := c.receive(); got != want {
				t.Errorf("it pushed % X, want % X", got, want)
			}
			c.ask(statuses, tt.realTime)
			p.Set(tt.c, false)
			if got := c.receive(); (got != "") != (tt.c != 0) {
				t.Errorf("it pushed % X when it was ready again", got)
			}
			c.ask(statuses, "\x12\x12\x12\x12")
		})
	}
}

func TestAStoppedPrinterAnswersRealTimeCommandsOnly(t *testing.T) {
	for _, name := range []string{"paper_out", "cover_open", "cutter_jam", "unrecoverable", "overheated", "offline"} {
		stop, err := virtual.ParseCondition(name)
		if err != nil {
			t.Fatal(err)
		}
		o := virtual.Options{Can: virtual.Everything, Condition: stop}
		bubble(t, name, o, func(t *testing.T, p *virtual.Printer) {
			c := connect(t, p)
			c.ask("\x1b@one\n\x1dr\x01\x1d(H\x06\x0000abcd\x1dV\x42\x00\x1d(H\x06\x0000abce", "")
			c.send("\x10\x04\x01")
			if got := c.receive(); got != "\x1a" {
				t.Errorf("real time: % X", got)
			}
			if p.TicketCount() != 0 {
				t.Error("it printed")
			}
			p.Set(stop, false)
			if got := c.receive(); got != "\x00\x37\x22abcd\x00\x37\x22abce\x00" {
				t.Errorf("it said % X when it was ready again", got)
			}
			if got := p.Tickets(); len(got) != 1 || got[0].Text != "one\n" || p.Problems() != nil {
				t.Errorf("got %+v, %q", got, p.Problems())
			}
		})
	}
}

func TestEachCapabilityAnswersItsOwnQuery(t *testing.T) {
	const fence, paper, who, push, now = "\x1d(H\x06\x0000abcd", "\x1dr1", "\x1dIC", "\x1da\x0e", "\x10\x04\x01"
	for _, tt := range []struct {
		name string
		can  virtual.Capability
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
			connect(t, p).ask(fence+paper+who+push+now, tt.want)
		})
	}
}

func TestInitializeSwitchesASBOff(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.ASB}, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		c.ask("\x1da\x0e\x1b@", "\x10\x00\x00\x0f")
		p.Set(virtual.CoverOpen, true)
		if got := c.receive(); got != "" {
			t.Errorf("it pushed % X", got)
		}
		p.Set(virtual.CoverOpen, false)
		c.ask("\x1da\x04", "\x10\x00\x00\x0f") // errors only
		p.Set(virtual.PaperOut, true)
		if got := c.receive(); got != "" {
			t.Errorf("it pushed % X to who did not ask for it", got)
		}
		p.Refill()
		c.ask("\x1da\x00", "")
	})
}

func TestEachCloneAnswersInItsWrongWay(t *testing.T) {
	const fence = "\x1d(H\x06\x0000abcd"
	all := virtual.Options{Can: virtual.Everything}
	with := func(c virtual.Clone) virtual.Options { o := all; o.Clone = c; return o }
	bubble(t, "WithAnUnknownID", with(virtual.Clone{Answer: virtual.WrongID}), func(t *testing.T, p *virtual.Printer) {
		connect(t, p).ask(fence, "\x37\x22~~~~\x00")
	})
	bubble(t, "WithGarbage", with(virtual.Clone{Answer: virtual.Garbage}), func(t *testing.T, p *virtual.Printer) {
		connect(t, p).ask("\x10\x04\x01", string(virtual.Garbage(nil)))
	})
	bubble(t, "Late", with(virtual.Clone{Late: 5 * time.Second}), func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		c.ask(fence, "")
		time.Sleep(4 * time.Second)
		if got := c.receive(); got != "\x37\x22abcd\x00" {
			t.Errorf("late: % X", got)
		}
	})
}

func TestPrintingContinuesAfterARefill(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		p.PaperFor(2)
		c.ask("1\n2\n3\n\x1dV\x42\x00\x1dr\x01", "")
		if p.Conditions() != virtual.PaperOut || p.TicketCount() != 0 {
			t.Errorf("%s, %d tickets", p.Conditions(), p.TicketCount())
		}
		p.Refill()
		if got := c.receive(); got != "\x00" {
			t.Errorf("it said % X", got)
		}
		if got := p.Tickets(); len(got) != 1 || got[0].Text != "1\n2\n3\n" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAJammedCutterCutsOnceItIsCleared(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		p.JamAtCut()
		c.ask("1\n\x1d(H\x06\x0000abcd\x1dV\x42\x00\x1d(H\x06\x0000abce", "\x37\x22abcd\x00")
		c.ask("\x10\x04\x03", "\x1a")
		p.Set(virtual.CutterJam, false)
		if got := c.receive(); got != "\x37\x22abce\x00" || p.TicketCount() != 1 {
			t.Errorf("it said % X, %d tickets", got, p.TicketCount())
		}
	})
}

func TestConditionNamesParse(t *testing.T) {
	all, err := virtual.ParseCondition(strings.Join(virtual.ConditionNames(), ", "))
	if err != nil || all.String() != strings.Join(virtual.ConditionNames(), ",") {
		t.Errorf("%s, %v", all, err)
	}
	if _, err := virtual.ParseCondition("on_fire"); err == nil || !strings.Contains(err.Error(), "cover_open") {
		t.Errorf("a condition that is none: %v", err)
	}
}

func TestTheIdentityFollowsTheProfile(t *testing.T) {
	for model, want := range map[string]string{
		"epson-tm-u220b":  "\x5fEPSON\x00\x5fTM-U220B\x00",
		"generic-80mm":    "\x5fEPSON\x00\x5fTM-T88III\x00",
		"citizen-ct-s310": "\x5fCITIZEN\x00\x5fCT-S310\x00",
	} {
		p, ok := profile.Lookup(model)
		if !ok {
			t.Fatalf("no model %s", model)
		}
		bubble(t, model, virtual.OptionsFor(p), func(t *testing.T, p *virtual.Printer) {
			connect(t, p).ask("\x1dI\x42\x1dI\x43\x1dI\x02", want)
		})
	}
}
