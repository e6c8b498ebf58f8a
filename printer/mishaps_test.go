package printer_test

import (
	"strings"
	"time"

	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// kinds are the printers that were seen and those that were described: the mishap of most is at one ticket.
var kinds = []kind{
	{name: "nothing"},
	{name: "paper low", cause: set(virtual.PaperLow)},

	{name: "hangs before", needs: status, cause: (*kitchen).Freeze, mend: (*kitchen).PowerCycle},
	{name: "hangs in its head", needs: status, cause: at(head, (*kitchen).Freeze), mend: (*kitchen).PowerCycle},
	{name: "hangs in its picture", needs: status, cause: at(drawingIt, (*kitchen).Freeze), mend: (*kitchen).PowerCycle},
	{name: "hangs while it prints", needs: status, cause: after(3, (*kitchen).Freeze), mend: (*kitchen).PowerCycle},
	{name: "power cycle before", cause: (*kitchen).PowerCycle},
	{name: "power cycle in its head", cause: at(head, (*kitchen).PowerCycle)},
	{name: "power cycle in its picture", cause: at(drawingIt, (*kitchen).PowerCycle)},
	{name: "power cycle while it prints", needs: fence, cause: after(3, (*kitchen).PowerCycle)},

	{name: "power cycle twice while it prints", change: roomy, needs: fence, held: 2, stays: true,
		cause: breaksAtLine(3, 2)},
	{name: "power breaks down at each black line", change: roomy, needs: fence, held: tickets, stays: true,
		cause: breaksAtLine(3, -1)},

	// It loses its buffer and keeps its connection.
	{name: "restarts its engine", change: roomy, needs: fence, cause: behindIt((*kitchen).ClearBuffer)},
	{name: "ESC @ clears its buffer", change: roomy, needs: fence, held: tickets, stays: true,
		cause: func(k *kitchen) { k.ClearAtReset(time.Second) }},
	{name: "its cover is opened and closed", change: roomy, needs: fence,
		cause: behindIt(set(virtual.CoverOpen)), mend: clearAll(virtual.CoverOpen)},
	{name: "jams, and a till sends DLE ENQ 2", change: roomy, needs: fence,
		cause: behindIt(set(virtual.CutterJam)), mend: clearAll(virtual.CutterJam)},

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

	{name: "answers with the next bytes", cause: func(k *kitchen) { k.AnswerWithNextBytes(true) }},
	{name: "answers 120 ms a byte", cause: answering120ms},
	{name: "answers 300 ms late", change: func(o *virtual.Options) { o.Clone.Late = 300 * time.Millisecond }},
	{name: "answers everything twice", weaker: ticket.Sent, always: spoil(twice)},
	{name: "answers DLE EOT with no trouble, always", always: spoil(noTrouble),
		cause: after(3, set(virtual.PaperOut)), mend: clear(virtual.PaperOut)},
	{name: "its interface answers, and it loses its power", early: true, items: 700, needs: status, stays: true,
		change: func(o *virtual.Options) { roomy(o); o.Clone.Early = true }, cause: breaksAtLine(3, -1)},
	{name: "a Star printer that emulates ESC/POS", weaker: ticket.Sent, always: spoil(ahead("\x23\x86\x80\x90"))},
	{name: "a till has asked for its model", always: spoil(ahead("_EPSON TM-T88VI\x00"))},
	{name: "behind a serial line", cause: slowLine},
	{name: "a print server takes all of it", change: roomy},
	{name: "pushes its status inside its answers", cause: pushing},
	{name: "unplugged in its head", cause: at(head, unplug(true)), mend: unplug(false)},
	{name: "unplugged in its picture", cause: at(drawingIt, unplug(true)), mend: unplug(false)},

	{name: "a web server at its address", cause: says("HTTP/1.1 400 Bad Request\r\n\r\n"), mend: stay},
	{name: "an SSH daemon at its address", cause: says("SSH-2.0-OpenSSH_9.2p1\r\n"), mend: stay},
	{name: "an echo at its address", cause: says(""), mend: stay},

	{name: "closes when idle for 0.8 s", change: crawling,
		cause: func(k *kitchen) { k.CloseAfterIdle(800 * time.Millisecond) }},
	{name: "cuts off one answer", cause: func(k *kitchen) { k.cutOff(1) }},
	{name: "cuts off all answers", held: tickets, stays: true, cause: func(k *kitchen) { k.cutOff(-1) }},
	{name: "resets clients at once", cause: early(0, reset), mend: stay},
	{name: "resets clients after 10 ms", cause: early(10, reset), mend: stay},
	{name: "closes clients after 10 ms", cause: early(10, closeOrderly), mend: stay},
	{name: "resets clients after 40 ms", cause: early(40, reset), mend: stay},
	{name: "swallows for 40 ms", needs: status, cause: early(40, swallow), mend: stay},
	{name: "has no place until 10 s after a client has left", cause: (*kitchen).rest},
	{name: "silent in its head, then reset", needs: status, cause: at(head, unplug(true)), mend: resetPlugged},
	{name: "silent behind it, then reset", change: slowly, needs: status, cause: behindIt(unplug(true)),
		mend: resetPlugged},
	{name: "address translation forgets it after 0.4 s", change: crawling, needs: status, stays: true,
		cause: (*kitchen).forget},
	{name: "reset in its head", cause: at(head, (*kitchen).Reset)},
	{name: "reset in its picture", cause: at(drawingIt, (*kitchen).Reset)},

	{name: "wrong ids", weaker: ticket.Processed,
		cause: spoil(virtual.WrongID), mend: spoil(nil)},
	{name: "no fence", cause: spoil(onlyRealTime), mend: spoil(nil)},
	{name: "garbage", cause: spoil(virtual.Garbage), mend: spoil(nil)},
	{name: "wrong ids, always", weaker: ticket.Processed, always: spoil(virtual.WrongID)},
	{name: "garbage, always", weaker: ticket.Sent, always: spoil(virtual.Garbage)},

	{name: "stolen in its picture", cause: at(drawingIt, steal("till\n\n\n\n", 0))},
	{name: "stolen for 2 s in its picture", needs: nothing,
		cause: at(drawingIt, steal("till\n\n\n\n", 2*time.Second))},
	{name: "stolen for 2 s in its head", needs: nothing,
		cause: at(head, steal(picture(50, 24, 200), 2*time.Second))},
	{name: "a till's receipt comes in its head", cause: at(head, func(k *kitchen) {
		k.Interrupt("till\n\x1bp\x00\x19\xfa")
	})},
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
		mend: (*kitchen).PowerCycle},
}

// A kind is a printer with its mishap.
type kind struct {
	name   string
	change func(*virtual.Options)
	// always comes before the first ticket, cause before the second. mend comes 2 s after cause, as a person or the
	// other program ends the fault.
	always, cause, mend func(k *kitchen)
	// needs are the answers of a printer without which the mishap is not noticed. With one that tells less, the second
	// ticket may be lost, and the third if the mishap goes on: until mend, or with stays for good.
	needs tells
	stays bool
	// weaker is how a ticket may end instead of the best that the printer can say.
	weaker ticket.Proof
	held   int  // the last ticket that may be held for a person; 0: none may
	early  bool // it answers before it has printed
	items  int  // more of them in a ticket than five
}

// of is the answers that f can give.
func (f kind) of() []capability {
	if f.early {
		return capabilities[:2] // the fences
	}
	return capabilities
}

// capabilities are the kinds of printers that outcomes depend on.
var capabilities = []capability{
	{"id fence", ticket.Confirmed, fence, virtual.RealTime | virtual.StatusQuery | virtual.ProcessID},
	{"status fence", ticket.Processed, fence, virtual.RealTime | virtual.StatusQuery},
	{"status only", ticket.Sent, status, virtual.RealTime},
	{"silent", ticket.Sent, silent, 0},
}

type capability struct {
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
