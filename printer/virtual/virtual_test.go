package virtual_test

import (
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
	"ticketrail/printer/virtual"
)

// send prints b on p through a pipe and returns the paper. It runs in a bubble.
func send(t *testing.T, p *virtual.Printer, b string) []virtual.Ticket {
	t.Helper()
	c, err := p.Dial(t.Context())
	assert.NoError(t, err)
	defer c.Close()
	write(t, c, b)
	assert.NoError(t, c.Finish(t.Context()))
	return p.Tickets()
}

func TestACutEndsATicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := virtual.New(virtual.Options{})
		got := send(t, p, "\x1b@\x1c.\x1bt\x00\x1bE\x01Order 7\x1bE\x00\n\x1dB\x01** VOID **\x1dB\x00\n"+
			"\x1d!\x112 Burger\n\x1d!\x00\x1br\x01red\x1br\x00\n\x1bd\x04\x1dV\x42\x00")
		assert.Equal(t, len(got), 1)
		var spans []layout.Span
		for _, l := range got[0].Lines {
			spans = append(spans, l.Spans...)
		}
		want := []layout.Span{
			{Text: "Order 7", Style: layout.Style{Bold: true, Width: 1, Height: 1}},
			{Text: "** VOID **", Style: layout.Style{Invert: true, Width: 1, Height: 1}},
			{Text: "2 Burger", Style: layout.Style{Width: 2, Height: 2}},
			{Text: "red", Style: layout.Style{Red: true, Width: 1, Height: 1}},
		}
		assert.Equal(t, cmp.Diff(want, spans), "")
		assert.Equal(t, got[0].Text, "Order 7\n** VOID **\n2 Burger\nred\n")
		assert.Equal(t, got[0].End, virtual.Cut)
		assert.True(t, p.Problems() == nil, p.Problems())
	})
}

func TestLettersFollowTheCodePage(t *testing.T) {
	for _, tt := range []struct {
		name, bytes, want string
		o                 virtual.Options
	}{
		{"CP437IsWhereItStarts", "\x1b@caf\x82\n", "café\n", virtual.Options{}},
		{"CP858HasTheEuro", "\x1b@\x1bt\x13\xd5 5\n", "€ 5\n", virtual.Options{}},
		{"WPC1252", "\x1b@\x1bt\x10Cr\xe8me \x80\n", "Crème €\n", virtual.Options{}},
		{"AStartForgetsThePage", "\x1bt\x10\xe9\n\x1b@\x82\n", "é\né\n", virtual.Options{}},
		{"AChineseROMTakesAccentsForHalves", "\x1b@\xc4\xe3\n", "你\n", virtual.Options{Kanji: true}},
		{"AndOnRequest", "\x1b@\x1c.caf\x82\x1c&\xc4\xe3\x1c.\n", "café你\n", virtual.Options{Kanji: true}},
		{"UntilItIsToldNotTo", "\x1b@\x1c.caf\x82\n", "café\n", virtual.Options{Kanji: true}},
		{"ItsOwnNumbers", "\x1bt\x07\xe9\n", "é\n", virtual.Options{CodePages: map[byte]string{7: "WPC1252"}}},
	} {
		bubble(t, tt.name, tt.o, func(t *testing.T, p *virtual.Printer) {
			got := send(t, p, tt.bytes)
			assert.True(t, len(got) == 1 && got[0].Text == tt.want && got[0].Problems == nil, got, tt.want)
		})
	}
}

func TestTwoClientsAreServedOneAfterTheOther(t *testing.T) {
	bubble(t, "", virtual.Options{}, func(t *testing.T, p *virtual.Printer) {
		first, second := connect(t, p), connect(t, p)
		first.send("one\n\x1dV\x00")
		second.stuck("two")
		_ = first.c.Close()
		second.send("two\n\x1dV\x00")
		assert.NoError(t, p.Wait(t.Context(), 2))
		got := p.Tickets()
		assert.Equal(t, got[0].Text+got[1].Text, "one\ntwo\n")
	})
}

func TestOverTCPRefuseClosesAndReopensTheSameAddress(t *testing.T) {
	p := virtual.New(virtual.Options{Can: virtual.Everything})
	address, _ := onTCP(t, p)
	for range 3 {
		exchange(t, dialTCP(t, address), "\x10\x04\x01", "\x12")
		assert.NoError(t, p.Refuse(true))
		_, err := net.Dial("tcp", address)
		assert.True(t, errors.Is(err, syscall.ECONNREFUSED), err)
		p.Reset()
		assert.NoError(t, p.Refuse(false))
	}
}

func TestATicketIsDrawnAsWideAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bytes = "\x1dB\x01** VOID ** 1x\x1dB\x00\n\x1d!\x111 Br\x81l\x82e\x1d!\x00\n\x1dV\x00"
		got := send(t, virtual.New(virtual.Options{}), bytes)
		want := "grill\n" +
			"┌────────────────┐\n" +
			"█** VOID ** 1x   █\n" +
			"║1 Brülée        ║\n" +
			"└────────────────┘\n"
		assert.Equal(t, got[0].Draw("grill"), want)
	})
}

func FuzzAnyBytesDecodeWithoutPanicOrControlCharacters(f *testing.F) {
	f.Add([]byte("\x1b@\x1d!\x11text\n\x1dV\x42\x00"), byte(0))
	f.Add([]byte("\x1dv0\x00\x01\x00\x02\x00ab\xc4\xe3\x1b*\x21\x01\x00abc"), byte(1))
	f.Add([]byte("\x1cC\x01\x1c&\x90\x65\xb1\x1c.\x1bt\x01\x95\x1d(k\x05\x001P0ab\x1d(k\x03\x001Q0"), byte(2))
	f.Add(
		[]byte("\x1d(L\x0b\x000p0\x01\x011\x08\x00\x01\x00a\x1d(L\x02\x0002\x1b(A\x03\x00a\x01\x02\x1dkA\x021"),
		byte(3),
	)
	f.Add([]byte("\x1c.\x1bd\xfe"), byte(30)) // it feeds for longer than a client waits
	f.Fuzz(func(t *testing.T, b []byte, kind byte) {
		synctest.Test(t, func(t *testing.T) {
			p := virtual.New(virtual.Options{
				Kanji: kind&1 != 0, Columns: 42, Dots: 512,
				Can: virtual.Everything, Remembers: kind&0x80 != 0,
				LinesPerSecond: math.Inf(1), // or it would still print when the test ends
			})
			c := connect(t, p)
			c.send(string(b[:len(b)/2]))
			_ = c.c.Close()
			for _, ticket := range send(t, p, string(b[len(b)/2:])) {
				text := strings.ReplaceAll(ticket.Text, "\n", "")
				assert.True(t, !strings.ContainsFunc(text, unicode.IsControl), text)
				ticket.Picture()
			}
		})
	})
}

// write sends text.
func write(t testing.TB, to io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(to, text)
	assert.NoError(t, err)
}
