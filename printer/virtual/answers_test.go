package virtual_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
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
	assert.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return conversation{t, c}
}

func (c conversation) send(s string) {
	c.t.Helper()
	_, err := io.WriteString(c.c, s)
	assert.NoError(c.t, err)
}

// receive returns the printer's bytes within a second.
func (c conversation) receive() string {
	c.t.Helper()
	_ = c.c.SetReadDeadline(time.Now().Add(time.Second))
	var b bytes.Buffer
	_, err := io.Copy(&b, c.c)
	assert.True(c.t, err == nil || errors.Is(err, os.ErrDeadlineExceeded), err, b.String())
	return b.String()
}

// ask says s and wants to hear want.
func (c conversation) ask(s, want string) {
	c.t.Helper()
	c.send(s)
	assert.Equal(c.t, c.receive(), want, s)
}

func bubble(t *testing.T, name string, o virtual.Options, f func(t *testing.T, p *virtual.Printer)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, virtual.New(o)) })
	})
}

// A talk is a conversation with a printer that answers everything unless Can says otherwise.
type talk struct {
	o    virtual.Options
	turn []turn
}

// A turn is an act of a person or a fault, the client's bytes then, and the answer.
type turn struct {
	do         func(*virtual.Printer)
	send, want string
}

func TestAConversationGoesLikeThis(t *testing.T) {
	const fence, paper, who, push, now = "\x1d(H\x06\x0000abcd", "\x1dr1", "\x1dIC", "\x1da\x0e", "\x10\x04\x01"
	const echo, all = "\x37\x22abcd\x00", fence + paper + who + push + now
	set := func(c virtual.Condition, on bool) func(*virtual.Printer) {
		return func(p *virtual.Printer) { p.Set(c, on) }
	}
	talks := map[string]talk{
		"nothing":       {virtual.Options{}, []turn{{nil, all, ""}}},
		"real time":     {virtual.Options{Can: virtual.RealTime}, []turn{{nil, all, "\x12"}}},
		"status":        {virtual.Options{Can: virtual.StatusQuery}, []turn{{nil, all, "\x00"}}},
		"ids":           {virtual.Options{Can: virtual.ProcessID}, []turn{{nil, all, echo}}},
		"identity":      {virtual.Options{Can: virtual.Identify}, []turn{{nil, all, "\x5fTM-T88V\x00"}}},
		"pushed status": {virtual.Options{Can: virtual.ASB}, []turn{{nil, all, "\x10\x00\x00\x0f"}}},
		"ESC @ ends the pushed status": {virtual.Options{Can: virtual.ASB}, []turn{
			{nil, push + "\x1b@", "\x10\x00\x00\x0f"}, {set(virtual.CoverOpen, true), "", ""},
			{set(virtual.CoverOpen, false), "\x1da\x04", "\x10\x00\x00\x0f"}, // errors only
			{set(virtual.PaperOut, true), "", ""}, {(*virtual.Printer).Refill, "\x1da\x00", ""},
		}},
		"wrong ids": {virtual.Options{Can: virtual.ProcessID, Clone: virtual.Clone{Answer: virtual.WrongID}},
			[]turn{{nil, fence, "\x37\x22~~~~\x00"}}},
		"garbage": {virtual.Options{Can: virtual.RealTime, Clone: virtual.Clone{Answer: virtual.Garbage}},
			[]turn{{nil, now, string(virtual.Garbage(nil))}}},
		"late": {virtual.Options{Can: virtual.ProcessID, Clone: virtual.Clone{Late: 1500 * time.Millisecond}},
			[]turn{{nil, fence, ""}, {nil, "", echo}}},
		"the roll ends": {virtual.Options{Can: virtual.Everything}, []turn{
			{func(p *virtual.Printer) { p.PaperFor(2) }, "1\n2\n3\n" + paper, ""},
			{nil, "\x10\x04\x04", "\x72"}, {(*virtual.Printer).Refill, "", "\x00"},
		}},
		"the cutter jams": {virtual.Options{Can: virtual.Everything}, []turn{
			{(*virtual.Printer).JamAtCut, "1\n" + fence + "\x1dV\x42\x00\x1d(H\x06\x0000abce", echo},
			{nil, "\x10\x04\x03", "\x1a"}, {set(virtual.CutterJam, false), "", "\x37\x22abce\x00"},
		}},
	}
	const ready, statuses = "\x10\x00\x00\x0f", "\x10\x04\x01\x10\x04\x02\x10\x04\x03\x10\x04\x04"
	for _, c := range []struct {
		is            virtual.Condition
		realTime, asb string // the answers to DLE EOT 1 to 4, and what is pushed
	}{
		{virtual.PaperLow, "\x12\x12\x12\x1e", "\x10\x00\x03\x0f"},
		{virtual.PaperOut, "\x1a\x32\x12\x72", "\x18\x00\x0c\x0f"},
		{virtual.CoverOpen, "\x1a\x16\x12\x12", "\x38\x00\x00\x0f"},
		{virtual.CutterJam, "\x1a\x52\x1a\x12", "\x18\x08\x00\x0f"},
		{virtual.Unrecoverable, "\x1a\x52\x32\x12", "\x18\x20\x00\x0f"},
		{virtual.Overheated, "\x1a\x52\x52\x12", "\x18\x40\x00\x0f"},
		{virtual.Offline, "\x1a\x12\x12\x12", "\x18\x00\x00\x0f"},
		{virtual.PaperLow | virtual.CoverOpen, "\x1a\x16\x12\x1e", "\x38\x00\x03\x0f"},
	} {
		fenced, later := "", "\x37\x22abcd\x00"
		if c.is == virtual.PaperLow { // it prints on
			fenced, later = later, fenced
		}
		talks[c.is.String()] = talk{virtual.Options{Can: virtual.Everything}, []turn{
			{nil, "\x1da\xff" + statuses, "\x12\x12\x12\x12" + ready}, {set(c.is, true), "", c.asb},
			{nil, statuses, c.realTime}, {nil, "one\n" + fence, fenced}, {set(c.is, false), "", ready + later},
		}}
	}

	for name, c := range talks {
		bubble(t, name, c.o, func(t *testing.T, p *virtual.Printer) {
			client := connect(t, p)
			for _, turn := range c.turn {
				if turn.do != nil {
					turn.do(p)
				}
				client.ask(turn.send, turn.want)
			}
			assert.True(t, p.Problems() == nil, p.Problems())
		})
	}
}

func TestTheIdentityFollowsTheProfile(t *testing.T) {
	for model, want := range map[string]string{
		"epson-tm-u220b":  "\x5fEPSON\x00\x5fTM-U220B\x00",
		"generic-80mm":    "\x5fEPSON\x00\x5fTM-T88III\x00",
		"citizen-ct-s310": "\x5fCITIZEN\x00\x5fCT-S310\x00",
	} {
		p, _ := profile.Lookup(model)
		bubble(t, model, virtual.OptionsFor(p), func(t *testing.T, p *virtual.Printer) {
			connect(t, p).ask("\x1dI\x42\x1dI\x43\x1dI\x02", want)
		})
	}
}
