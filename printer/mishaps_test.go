package printer_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/printer/printertest"
	"ticketrail/queue/ticket"
)

// abilities are the kinds of printers that outcomes depend on.
var abilities = []ability{
	{"id fence", ticket.Confirmed, fence,
		printertest.Model{IDFence: true, StatusFence: true, RealTime: []byte{1, 2, 3, 4}, Raster: true}},
	{"status fence", ticket.Processed, fence,
		printertest.Model{StatusFence: true, RealTime: []byte{1, 2, 3, 4}, Raster: true}},
	{"status only", ticket.Sent, status, printertest.Model{RealTime: []byte{1, 2, 3, 4}, Raster: true}},
	{"silent", ticket.Sent, silent, printertest.Model{Raster: true}},
}

type ability struct {
	name  string
	best  ticket.Proof
	tells tells
	model printertest.Model
}

// tells is how much a printer tells.
type tells int

const (
	silent tells = iota
	status
	fence
	nothing // more than any printer tells
)

// A mishap is what happens around the second of three tickets.
type mishap struct {
	name  string
	model func(*printertest.Model)
	// cause comes before the second ticket. mend comes 2 s after it, as a person or the other
	// program ends what is wrong.
	cause func(k *kitchen)
	mend  func(k *kitchen)
	// needs is what a printer must tell for the mishap to be noticed. With one that tells less, the second
	// ticket may be lost, and the third if the mishap goes on: until mend, or with stays for good.
	needs tells
	stays bool
	// weaker is how a ticket may end instead of the best that the printer can say: sent if the answers
	// behind tickets never arrive.
	weaker ticket.Proof
}

// A kitchen is a printer and the port that it is at.
type kitchen struct {
	*printertest.Printer
	t       *testing.T
	port    string
	picture int  // bytes that a ticket has for its picture
	later   bool // the mishap waits for a place in the ticket
	begun   sync.Once
	mend    func(*kitchen)
	mended  chan time.Time
}

// begin starts the time after which the mishap is mended.
func (k *kitchen) begin() {
	k.begun.Do(func() {
		time.AfterFunc(2*time.Second, func() {
			if k.mend != nil {
				k.mend(k)
			}
			k.mended <- time.Now()
		})
	})
}

// dial connects another program, which tries again while a printer that serves one client refuses it.
func (k *kitchen) dial() net.Conn {
	for {
		c, err := net.Dial("tcp", k.port)
		if err == nil || k.t.Context().Err() != nil {
			return c
		}
	}
}

// other runs another program that sends b and leaves, until the printer has taken that.
func (k *kitchen) other(b string) {
	c := k.dial()
	c.Write([]byte(b))
	c.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, c) // until the printer has read the end
	c.Close()
	k.Wait()
}

// till is another program that sends b and stays connected for d.
func (k *kitchen) till(b string, d time.Duration) {
	c := k.dial()
	c.Write([]byte(b))
	time.AfterFunc(d, func() { c.Close() })
}

func picture(width, rows, sent int) string {
	head := []byte{0x1D, 'v', '0', 0, byte(width), 0, byte(rows), byte(rows >> 8)}
	return string(head) + strings.Repeat("\xff", sent)
}

var mishaps = []mishap{
	{name: "nothing", cause: func(*kitchen) {}},
	{name: "paper low", cause: set(printertest.NearEnd)},

	{name: "hangs before", needs: status, cause: (*kitchen).hang, mend: (*kitchen).cycle},
	{name: "hangs in its head", needs: status, cause: at(head, (*kitchen).hang), mend: (*kitchen).cycle},
	{name: "hangs in its picture", needs: status, cause: at(drawing, (*kitchen).hang), mend: (*kitchen).cycle},
	{name: "hangs while it prints", needs: status, cause: after(3, (*kitchen).hang), mend: (*kitchen).cycle},
	{name: "power cycle before", cause: (*kitchen).cycle},
	{name: "power cycle in its head", cause: at(head, (*kitchen).cycle)},
	{name: "power cycle in its picture", cause: at(drawing, (*kitchen).cycle)},
	{name: "power cycle while it prints", needs: fence, cause: after(3, (*kitchen).cycle)},

	// The rest of the ticket brings the printer back to the beginning of a command, so it answers.
	{name: "loses a letter", needs: nothing, cause: at(head, lose(1))},
	{name: "loses 1 byte of the picture", needs: nothing, cause: at(drawing, lose(1))},
	{name: "loses 1000 bytes of the picture", needs: nothing, cause: at(drawing, lose(1000))},
	// Here the end of the ticket and the fence become dots.
	{name: "loses the rest of the picture", needs: fence, cause: at(drawing, (*kitchen).losePicture)},
	{name: "loses the rest of the picture, slowly", model: slow, needs: fence,
		cause: at(drawing, (*kitchen).losePicture)},

	{name: "another's picture lacks 300", cause: left(picture(30, 20, 300))},
	{name: "another's picture lacks 1000", cause: left(picture(50, 24, 200))},
	{name: "another's picture lacks 27000", needs: fence, stays: true,
		cause: left(picture(72, 400, 1800))},
	{name: "another's GS ( L lacks 50000", needs: fence, stays: true,
		cause: left("\x1d(L\x50\xc3" + strings.Repeat("0", 20))},
	{name: "another's GS k lacks its NUL", cause: left("\x1dk\x04123")},
	{name: "another's ESC !", cause: left("till\n\x1b!")},
	{name: "another's line lacks its LF", cause: left("\x1d!\x77till")},
	{name: "another's page mode", cause: left("\x1bLtill\n")},
	{name: "another left the display selected", cause: left("\x1b=\x02till")},
	{name: "another's pair lacks a byte", model: func(m *printertest.Model) { m.Chinese = true }, cause: left("\xb9")},
	{name: "another's answers are due", model: slow, cause: func(k *kitchen) {
		k.till(strings.Repeat("till\n", 20)+"\x1d(H\x06\x0000till\x1dr\x01", 0)
	}},

	{name: "closes when idle for 1 s", model: crawling, weaker: ticket.Sent,
		cause: func(k *kitchen) { k.CloseAfterIdle(time.Second) }},
	{name: "cuts off one answer", cause: func(k *kitchen) { k.CutOffAnswers(1) }},
	{name: "cuts off all answers", weaker: ticket.Sent, cause: func(k *kitchen) { k.CutOffAnswers(-1) }},
	{name: "resets clients at once", cause: early(0, printertest.Reset), mend: stay},
	{name: "resets clients after 10 ms", cause: early(10, printertest.Reset), mend: stay},
	{name: "closes clients after 10 ms", cause: early(10, printertest.Finish), mend: stay},
	{name: "resets clients after 40 ms", cause: early(40, printertest.Reset), mend: stay},
	{name: "swallows for 40 ms", needs: status, cause: early(40, printertest.Swallow), mend: stay},
	{name: "reset in its head", cause: at(head, func(k *kitchen) { k.Steal(nil, 0) })},
	{name: "reset in its picture", cause: at(drawing, func(k *kitchen) { k.Steal(nil, 0) })},

	{name: "wrong ids", weaker: ticket.Processed,
		cause: func(k *kitchen) { k.WrongIDs(true) }, mend: func(k *kitchen) { k.WrongIDs(false) }},
	{name: "no fence", cause: func(k *kitchen) { k.NoFence(true) }, mend: func(k *kitchen) { k.NoFence(false) }},
	{name: "garbage", cause: func(k *kitchen) { k.Garbage(1) }, mend: func(k *kitchen) { k.Garbage(0) }},

	{name: "stolen in its picture", cause: at(drawing, func(k *kitchen) { k.Steal([]byte("till\n\n\n\n"), 0) })},
	{name: "stolen for 2 s in its picture", needs: nothing,
		cause: at(drawing, func(k *kitchen) { k.Steal([]byte("till\n\n\n\n"), 2*time.Second) })},
	{name: "stolen for 2 s in its head", needs: nothing,
		cause: at(head, func(k *kitchen) { k.Steal([]byte(picture(50, 24, 200)), 2*time.Second) })},
	{name: "a till has the port for 1 s", cause: func(k *kitchen) { k.till("till\n", time.Second) }},
	{name: "a till has the port, others are reset",
		model: func(m *printertest.Model) { m.Others = printertest.Refuse },
		cause: func(k *kitchen) { k.till("till\n", time.Second) }},
	{name: "a till takes the port in its picture",
		model: func(m *printertest.Model) { m.Others = printertest.Evict },
		cause: at(drawing, func(k *kitchen) { k.till("till\n", time.Second) })},

	{name: "no paper before", cause: set(printertest.PaperOut), mend: clear(printertest.PaperOut)},
	{name: "no paper in its picture", cause: at(drawing, set(printertest.PaperOut)), mend: clear(printertest.PaperOut)},
	{name: "no paper while it prints", cause: after(3, set(printertest.PaperOut)), mend: clear(printertest.PaperOut)},
	{name: "open in its head", cause: at(head, set(printertest.CoverOpen)), mend: clear(printertest.CoverOpen)},
	{name: "jam in its picture", cause: at(drawing, set(printertest.CutterJam)), mend: clear(printertest.CutterJam)},
	{name: "broken until a power cycle", needs: fence, cause: at(drawing, set(printertest.Broken)),
		mend: func(k *kitchen) { k.Set(printertest.Broken, false); k.PowerCycle() }},
}

func slow(m *printertest.Model)     { m.LinesPerSecond = 20 }
func crawling(m *printertest.Model) { m.LinesPerSecond = 10 }

// at makes do happen at a place in the second ticket, after when n lines of it are on paper.
func at(p place, do func(*kitchen)) func(*kitchen) {
	return func(k *kitchen) {
		k.later = true
		happen := func() { do(k); k.begin() }
		k.AfterText("Fish 2", 0, func() {
			if p == head {
				happen()
				return
			}
			k.AfterText("\x1dv0", intoPicture, happen)
		})
	}
}

// A place in a ticket: in its second line, or in the first piece of the picture that is its third.
type place int

const (
	head place = iota
	drawing
)

const intoPicture = 100 // bytes
func after(n int, do func(*kitchen)) func(*kitchen) {
	return func(k *kitchen) {
		k.later = true
		k.AfterLines(n, func() { do(k); k.begin() })
	}
}

func set(c printertest.Condition) func(*kitchen)   { return func(k *kitchen) { k.Set(c, true) } }
func clear(c printertest.Condition) func(*kitchen) { return func(k *kitchen) { k.Set(c, false) } }

// losePicture loses the bytes from here to the end of the picture, as many as a ticket has for it.
func (k *kitchen) losePicture() { k.Lose(0, k.picture-intoPicture) }

func lose(n int) func(*kitchen) { return func(k *kitchen) { k.Lose(0, n) } }

func left(b string) func(*kitchen) { return func(k *kitchen) { k.other(b) } }

func (k *kitchen) hang()  { k.Hang() }
func (k *kitchen) cycle() { k.PowerCycle() }

func early(ms time.Duration, how printertest.Drop) func(*kitchen) {
	return func(k *kitchen) { k.DropEarly(ms*time.Millisecond, how) }
}

func stay(k *kitchen) { k.DropEarly(0, printertest.Stay) }
