package printer_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

var mishaps = []mishap{
	{name: "nothing", cause: func(*kitchen) {}},
	{name: "paper low", cause: set(virtual.PaperLow)},

	{name: "hangs before", needs: status, cause: (*kitchen).hang, mend: (*kitchen).cycle},
	{name: "hangs in its head", needs: status, cause: at(head, (*kitchen).hang), mend: (*kitchen).cycle},
	{name: "hangs in its picture", needs: status, cause: at(drawingIt, (*kitchen).hang), mend: (*kitchen).cycle},
	{name: "hangs while it prints", needs: status, cause: after(3, (*kitchen).hang), mend: (*kitchen).cycle},
	{name: "power cycle before", cause: (*kitchen).cycle},
	{name: "power cycle in its head", cause: at(head, (*kitchen).cycle)},
	{name: "power cycle in its picture", cause: at(drawingIt, (*kitchen).cycle)},
	{name: "power cycle while it prints", needs: fence, cause: after(3, (*kitchen).cycle)},

	// The rest of the ticket brings the printer back to the beginning of a command, so it answers.
	{name: "loses a letter", needs: nothing, cause: at(head, lose(1))},
	{name: "loses 1 byte of the picture", needs: nothing, cause: at(drawingIt, lose(1))},
	{name: "loses 1000 bytes of the picture", needs: nothing, cause: at(drawingIt, lose(1000))},
	// Here the end of the ticket and the fence become dots.
	{name: "loses the rest of the picture", needs: fence, cause: at(drawingIt, (*kitchen).losePicture)},
	{name: "loses the rest of the picture, slowly", change: slowly, needs: fence,
		cause: at(drawingIt, (*kitchen).losePicture)},

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
	{name: "another's pair lacks a byte", change: func(o *virtual.Options) { o.Kanji = true }, cause: left("\xb9")},
	{name: "another's answers are due", change: slowly, cause: func(k *kitchen) {
		k.till(strings.Repeat("till\n", 20)+"\x1d(H\x06\x0000till\x1dr\x01", 0)
	}},

	{name: "closes when idle for 1 s", change: crawling, weaker: ticket.Sent,
		cause: func(k *kitchen) { k.CloseAfterIdle(time.Second) }},
	{name: "cuts off one answer", cause: func(k *kitchen) { k.cutOff(1) }},
	{name: "cuts off all answers", weaker: ticket.Sent, cause: func(k *kitchen) { k.cutOff(-1) }},
	{name: "resets clients at once", cause: early(0, reset), mend: stay},
	{name: "resets clients after 10 ms", cause: early(10, reset), mend: stay},
	{name: "closes clients after 10 ms", cause: early(10, closeOrderly), mend: stay},
	{name: "resets clients after 40 ms", cause: early(40, reset), mend: stay},
	{name: "swallows for 40 ms", needs: status, cause: early(40, swallow), mend: stay},
	{name: "reset in its head", cause: at(head, (*kitchen).drop)},
	{name: "reset in its picture", cause: at(drawingIt, (*kitchen).drop)},

	{name: "wrong ids", weaker: ticket.Processed,
		cause: spoil(virtual.WrongID), mend: spoil(nil)},
	{name: "no fence", cause: spoil(onlyRealTime), mend: spoil(nil)},
	{name: "garbage", cause: spoil(virtual.Garbage), mend: spoil(nil)},

	{name: "stolen in its picture", cause: at(drawingIt, steal("till\n\n\n\n", 0))},
	{name: "stolen for 2 s in its picture", needs: nothing,
		cause: at(drawingIt, steal("till\n\n\n\n", 2*time.Second))},
	{name: "stolen for 2 s in its head", needs: nothing,
		cause: at(head, steal(picture(50, 24, 200), 2*time.Second))},
	{name: "a till has the port for 1 s", cause: func(k *kitchen) { k.till("till\n", time.Second) }},
	{name: "a till has the port, others are reset",
		change: func(o *virtual.Options) { o.Clients = 1 },
		cause:  func(k *kitchen) { k.till("till\n", time.Second) }},
	{name: "a till takes the port in its picture",
		cause: at(drawingIt, func(k *kitchen) { k.Reset(); k.till("till\n", time.Second) })},

	{name: "no paper before", cause: set(virtual.PaperOut), mend: clear(virtual.PaperOut)},
	{name: "no paper in its picture", cause: at(drawingIt, set(virtual.PaperOut)), mend: clear(virtual.PaperOut)},
	{name: "no paper while it prints", cause: after(3, set(virtual.PaperOut)), mend: clear(virtual.PaperOut)},
	{name: "open in its head", cause: at(head, set(virtual.CoverOpen)), mend: clear(virtual.CoverOpen)},
	{name: "jam in its picture", cause: at(drawingIt, set(virtual.CutterJam)), mend: clear(virtual.CutterJam)},
	{name: "broken until a power cycle", needs: fence, cause: at(drawingIt, set(virtual.Unrecoverable)),
		mend: (*kitchen).cycle},
}

// A mishap is what happens around the second of three tickets.
type mishap struct {
	name   string
	change func(*virtual.Options)
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

// abilities are the kinds of printers that outcomes depend on.
var abilities = []ability{
	{"id fence", ticket.Confirmed, fence, virtual.RealTime | virtual.StatusQuery | virtual.ProcessID},
	{"status fence", ticket.Processed, fence, virtual.RealTime | virtual.StatusQuery},
	{"status only", ticket.Sent, status, virtual.RealTime},
	{"silent", ticket.Sent, silent, 0},
}

type ability struct {
	name  string
	best  ticket.Proof
	tells tells
	can   virtual.Capability
}

// tells is how much a printer tells.
type tells int

const (
	silent tells = iota
	status
	fence
	nothing // more than any printer tells
)

// A kitchen is a printer and the way to it.
type kitchen struct {
	*virtual.Printer
	t       *testing.T
	door    *door
	dialer  transport.Dialer
	picture int  // bytes that a ticket has for its picture
	later   bool // the mishap waits for a place in the ticket
	begun   sync.Once
	mend    func(*kitchen)
	mended  chan time.Time

	mu    sync.Mutex
	spoil func(right []byte) []byte
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

// idle waits until everything is on paper.
func (k *kitchen) idle() {
	if err := k.WaitIdle(k.t.Context()); err != nil {
		k.t.Error(err)
	}
}

// dial connects another program, which tries again while a printer that serves one client refuses it.
func (k *kitchen) dial() transport.Conn {
	for {
		c, err := k.dialer.Dial(k.t.Context())
		if err == nil || k.t.Context().Err() != nil {
			return c
		}
	}
}

// till is another program that sends b and stays connected for d.
func (k *kitchen) till(b string, d time.Duration) {
	c := k.dial()
	_, _ = io.WriteString(c, b)
	time.AfterFunc(d, func() { _ = c.Close() })
}

// answer is what the printer says instead of the right answer.
func (k *kitchen) answer(right []byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.spoil == nil {
		return right
	}
	return k.spoil(right)
}

func spoil(f func([]byte) []byte) func(*kitchen) {
	return func(k *kitchen) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.spoil = f
	}
}

// onlyRealTime keeps the answers to DLE EOT, of which bits 1 and 4 are set.
func onlyRealTime(right []byte) []byte {
	if len(right) == 1 && right[0]&0x12 == 0x12 {
		return right
	}
	return nil
}

// cutOff resets the connection instead of the answer behind the next tickets; -1: behind all.
func (k *kitchen) cutOff(tickets int) {
	behind := false
	var arm func()
	arm = func() {
		k.After("| job ", 0, func() {
			k.mu.Lock()
			behind = true
			k.mu.Unlock()
			if tickets--; tickets != 0 {
				arm()
			}
		})
	}
	arm()
	spoil(func(right []byte) []byte {
		if !behind || onlyRealTime(right) != nil {
			return right
		}
		behind = false
		time.AfterFunc(10*time.Millisecond, k.Reset) // when all that was sent is acknowledged
		return nil
	})(k)
}

func slowly(o *virtual.Options)   { o.LinesPerSecond = 20 }
func crawling(o *virtual.Options) { o.LinesPerSecond = 10 }

// at makes do happen at a place in the second ticket, after when n lines of it are on paper.
func at(p place, do func(*kitchen)) func(*kitchen) {
	return func(k *kitchen) {
		k.later = true
		happen := func() { do(k); k.begin() }
		k.After("Fish 2", 0, func() {
			if p == head {
				happen()
				return
			}
			k.After("\x1dv0", intoPicture, happen)
		})
	}
}

// A place in a ticket: in its second line, or in the first piece of the picture that is its third.
type place int

const (
	head place = iota
	drawingIt
)

const intoPicture = 100 // bytes

func after(n int, do func(*kitchen)) func(*kitchen) {
	return func(k *kitchen) {
		k.later = true
		k.AfterLines(n, func() { do(k); k.begin() })
	}
}

func set(c virtual.Condition) func(*kitchen)   { return func(k *kitchen) { k.Set(c, true) } }
func clear(c virtual.Condition) func(*kitchen) { return func(k *kitchen) { k.Set(c, false) } }

// losePicture loses the bytes from here to the end of the picture, as many as a ticket has for it.
func (k *kitchen) losePicture() { k.Lose(k.picture - intoPicture) }

func lose(n int) func(*kitchen) { return func(k *kitchen) { k.Lose(n) } }

// left runs another program that sends b and leaves, until the printer has taken that.
func left(b string) func(*kitchen) {
	return func(k *kitchen) {
		c := k.dial()
		_, _ = io.WriteString(c, b)
		_ = c.Finish(k.t.Context())
		_ = c.Close()
		k.idle()
	}
}

func (k *kitchen) hang()  { k.Freeze() }
func (k *kitchen) cycle() { k.PowerCycle() }
func (k *kitchen) drop()  { k.Reset() }

// steal lets another program have the port between two bytes: the client is not read for d, or is reset.
func steal(b string, d time.Duration) func(*kitchen) {
	return func(k *kitchen) {
		k.Interrupt(b)
		if d == 0 {
			k.Reset()
			return
		}
		k.Stall()
		time.AfterFunc(d, func() { k.Repair() })
	}
}

func picture(width, rows, sent int) string {
	head := []byte{0x1D, 'v', '0', 0, byte(width), 0, byte(rows), byte(rows >> 8)}
	return string(head) + strings.Repeat("\xff", sent)
}

// A door ends clients before the printer sees them.
type door struct {
	net.Listener
	mu    sync.Mutex
	early func(c net.Conn) // nil: they come in
}

func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		d.mu.Lock()
		early := d.early
		d.mu.Unlock()
		if err != nil || early == nil {
			return c, err
		}
		go early(c)
	}
}

func (d *door) end(early func(net.Conn)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.early = early
}

// early ends each new client after ms.
func early(ms time.Duration, how func(c net.Conn, d time.Duration)) func(*kitchen) {
	return func(k *kitchen) { k.door.end(func(c net.Conn) { how(c, ms*time.Millisecond); _ = c.Close() }) }
}

func stay(k *kitchen) { k.door.end(nil) }

// reset, closeOrderly and swallow are how a door ends a client: nothing is read, or everything and thrown away.
func reset(c net.Conn, d time.Duration) {
	time.Sleep(d)
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
}

func closeOrderly(_ net.Conn, d time.Duration) { time.Sleep(d) }

func swallow(c net.Conn, d time.Duration) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	_, _ = io.Copy(io.Discard, c)
}
