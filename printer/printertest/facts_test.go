package printertest

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// all is a printer that can do everything.
var all = Model{IDFence: true, StatusFence: true, RealTime: []byte{1, 2, 3, 4}, ASB: true, Raster: true}

// A cable is a connection to a printer inside a bubble, and what came back on it.
type cable struct {
	net.Conn
	mu  sync.Mutex
	got []byte
	err error // how the connection ended
}

func plug(p *Printer) *cable {
	ours, theirs := net.Pipe()
	c := &cable{Conn: ours}
	go p.ServeConn(theirs)
	go func() {
		b := make([]byte, 512)
		for {
			n, err := ours.Read(b)
			c.mu.Lock()
			c.got, c.err = append(c.got, b[:n]...), err
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	synctest.Wait()
	return c
}

// send writes for at most a second and returns how many bytes the printer took.
func (c *cable) send(s string) int {
	c.SetWriteDeadline(time.Now().Add(time.Second))
	n, _ := c.Write([]byte(s))
	synctest.Wait()
	return n
}

// answers returns what came since the last call.
func (c *cable) answers() string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := string(c.got)
	c.got = nil
	return s
}

func (c *cable) ended() bool {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil && !errors.Is(c.err, os.ErrDeadlineExceeded)
}

// bubble runs do with a printer inside a bubble.
func bubble(t *testing.T, m Model, do func(t *testing.T, p *Printer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := New(m)
		defer p.Close()
		do(t, p)
	})
}

// texts is the paper as lines of text; cuts are dashes.
func texts(p *Printer) string {
	var b strings.Builder
	for _, s := range p.Strips() {
		b.WriteString(s.Text())
		if s.Cut {
			b.WriteString("---\n")
		}
	}
	return b.String()
}

func id(s string) string       { return "\x1d(H\x06\x0000" + s }
func answerTo(s string) string { return "\x37\x22" + s + "\x00" }
func rows(n int) string        { return strings.Repeat("\xff", n) }

func TestAPrinterDoesWhatTheManualsSay(t *testing.T) {
	silent, chinese, impact := Model{Raster: true}, all, all
	chinese.Chinese, impact.Raster = true, false
	const status = "\x10\x04\x01\x10\x04\x02\x10\x04\x03\x10\x04\x04"
	named := Model{Names: map[byte]string{67: "TM-T88V", 69: "CHINA GB18030", 2: "\x02"}}
	for _, c := range []struct {
		name  string
		model Model
		state Condition
		in    string
		back  string
		paper string
	}{
		{"lines end with LF", all, 0, "one\ntwo\r\n\n\x00three\nrest", "", "one\ntwo\nthree\n"},
		{"page 437 is the first", all, 0, "caf\x82\n", "", "café\n"},
		{"page 850", all, 0, "\x1bt\x02\x9b\n", "", "ø\n"},
		{"page 1252 has the euro at 80", all, 0, "\x1bt\x10\x80\n", "", "€\n"},
		{"page 866", all, 0, "\x1bt\x11\x8f\n", "", "П\n"},
		{"page 852", all, 0, "\x1bt\x12\xa6\n", "", "Ž\n"},
		{"page 858 has the euro at D5", all, 0, "\x1bt\x13\xd5\n", "", "€\n"},
		{"another page is shown as numbers", all, 0, "\x1bt\x0d\xd5\n", "", "<D5 of page 13>\n"},
		{"ESC @ sets the page back", all, 0, "\x1bt\x10\x1b@\x80\n", "", "Ç\n"},
		{"a Chinese ROM reads pairs", chinese, 0, "\xb9\xac\xb1\xa3 a\n", "", "宫保 a\n"},
		{"four bytes of GB18030", chinese, 0, "\x81\x30\x84\x36.\n", "", "¥.\n"},
		{"FS . ends the pairs", chinese, 0, "\x1c.\x82\x83\n", "", "éâ\n"},
		{"FS & begins them again", chinese, 0, "\x1c.\x1c&\xb9\xac\n", "", "宫\n"},
		{"ESC @ begins them again", chinese, 0, "\x1c.\x1b@\xb9\xac\n", "", "宫\n"},
		{"a pair takes LF as its second byte", chinese, 0, "\xb9\nx\n", "", "<B9 0A>x\n"},
		{"other ROMs know no pairs", all, 0, "\x1c&\x82\x83\n", "", "éâ\n"},
		{"national characters", all, 0, "\x1bR\x01#\n\x1b@#\n", "", "<'#' of ESC R 1>\n#\n"},

		{"an unknown command is shown", all, 0, "\x1bxA\x07\x1d\x01\x10\x20B\n", "", "<1B 78>A<07><1D 01><10> B\n"},
		{"an impact printer does not know GS v 0", impact, 0, "\x1dv0\x00\x01\x00\x01\x00A\n", "",
			"<1D 76>0<01><01>A\n"},
		{"a picture", all, 0, "\x1dv0\x00\x02\x00\x1e\x00" + rows(60) + "x\n", "", "[picture, 30 of 30 rows]\nx\n"},
		{"a picture too large is text", all, 0, "\x1dv0\x00\x01\x00\x00\x09A\n", "",
			"<1D 76 30 00 01 00 00 09>A\n"},
		{"a piece of a picture comes out as it comes in", all, 0, "\x1dv0\x00\x02\x00\x40\x00" + rows(60), "",
			"[picture, 24 of 64 rows]\n"},
		{"GS ( L prints what it stored", all, 0,
			"\x1d(L\x0c\x000p0\x01\x011\x08\x00\x02\x00ab\x1d(L\x02\x0002x\n", "",
			"[picture, 2 of 2 rows]\nx\n"},
		{"GS 8 L is the same with a longer length", all, 0,
			"\x1d8L\x0c\x00\x00\x000p0\x01\x011\x08\x00\x02\x00ab\x1d(L\x02\x0002x\n", "",
			"[picture, 2 of 2 rows]\nx\n"},
		{"codes", all, 0, "\x1dk\x04AB\x00\x1dkI\x02CD\x1d(k\x04\x001P0E\x1d(k\x03\x001Q0x\n", "",
			"<code AB>\n<code CD>\n<code E>\nx\n"},
		{"logos", all, 0, "\x1cp\x01\x00x\n", "", "<logo>\nx\n"},
		{"parameters are no text", all, 0, "\x1b2\x1b3A\x1bcAA\x1bM\x00\x1bG\x00\x1ba0\x1bB\x03\x02\x1bp\x00AB" +
			"\x1d(A\x02\x00AB\x1b(A\x04\x000123\x1dL\x00\x00\x1dhA\x1dwA\x1dHA\x1dfA\x1bDAB\x00\x1b&\x02AA\x01abx\n",
			"", "x\n"},
		{"ESC @ empties the line", all, 0, "lost\x1b@kept\n", "", "kept\n"},
		{"cuts", all, 0, "a\n\x1dV\x00b\n\x1dVB\x03c\n\x1bmd\n\x1bi", "", "a\n---\nb\n---\nc\n---\nd\n---\n"},
		{"no cut within a line", all, 0, "a\x1dV\x00b\n", "", "a<cut within a line>b\n"},
		{"page mode prints at FF", all, 0, "\x1bLa\nb\x0cc\n", "", "a\nb\nc\n"},
		{"page mode is left without printing", all, 0, "\x1bLa\n\x1b@c\n\x1bLd\n\x1bSe\n", "", "c\ne\n"},
		{"ESC = 0 ignores all but ESC = 1", all, 0, "\x1b=\x00a\n\x10\x04\x01\x1b=\x01b\n", "\x12", "b\n"},
		{"48 columns", all, 0, strings.Repeat("a", 49) + "\n", "", strings.Repeat("a", 48) + "\na\n"},
		{"24 double ones", all, 0, "\x1d!\x10" + strings.Repeat("a", 25) + "\n", "", strings.Repeat("a", 24) + "\na\n"},
		{"64 of font B", all, 0, "\x1b!\x01" + strings.Repeat("a", 65) + "\n", "", strings.Repeat("a", 64) + "\na\n"},
		{"spaced letters", all, 0, "\x1b \x0c" + strings.Repeat("a", 25) + "\n", "",
			strings.Repeat("a", 24) + "\na\n"},
		{"margin and width", all, 0, "\x1dL\xe0\x01abcdefghij\n\x1dW\x24\x00klmn\n", "", "abcdefgh\nij\nklm\nn\n"},
		{"tabs", all, 0, "a\tb\x1b$\x6c\x00c\n", "", "a       bc\n"},

		{"DLE EOT while all is well", all, 0, status, "\x12\x12\x12\x12", ""},
		{"DLE EOT without paper", all, PaperOut, status, "\x1a\x32\x12\x72", ""},
		{"DLE EOT near the end", all, NearEnd, status, "\x12\x12\x12\x1e", ""},
		{"DLE EOT with the cover open", all, CoverOpen, "\x10\x04\x01\x10\x04\x02\x10\x04\x03", "\x1a\x16\x12", ""},
		{"DLE EOT with the cutter jammed", all, CutterJam, "\x10\x04\x01\x10\x04\x02\x10\x04\x03", "\x1a\x52\x1a", ""},
		{"DLE EOT with a broken printer", all, Broken, "\x10\x04\x02\x10\x04\x03", "\x52\x32", ""},
		{"DLE EOT with a hot head", all, HeadHot, "\x10\x04\x02\x10\x04\x03", "\x52\x52", ""},
		{"DLE EOT while switched offline", all, Offline, "\x10\x04\x01\x10\x04\x02", "\x1a\x12", ""},
		{"DLE EOT that is not known", Model{RealTime: []byte{1}}, 0, "\x10\x04\x02\x10\x04\x01x\n", "\x12", "x\n"},
		{"DLE EOT within a command is answered and is its parameter", all, 0,
			"\x1dv0\x00\x03\x00\x02\x00\xff\x10\x04\x01\xff\xffx\n", "\x12", "[picture, 2 of 2 rows]\nx\n"},
		{"DLE EOT splits a command", all, 0, "\x1bE\x10\x04\x01x\n", "\x12", "<04><01>x\n"},
		{"DLE EOT after a single DLE", all, 0, "\x10\x10\x04\x01x\n", "\x12", "<10>x\n"},

		{"an id is echoed", all, 0, "a\n" + id("p0 ~") + "b\n", answerTo("p0 ~"), "a\nb\n"},
		{"an id outside 20 to 7E is not", all, 0, id("p0\x7f~") + "b\n", "", "b\n"},
		{"a printer without GS ( H skips it", silent, 0, "a\n" + id("p001") + "b\n", "", "a\nb\n"},
		{"GS r tells the paper", all, 0, "\x1dr\x01", "\x00", ""},
		{"GS r tells the paper's near end", all, NearEnd, "\x1dr1", "\x03", ""},
		{"a printer without GS r skips it", silent, 0, "\x1dr\x01b\n", "", "b\n"},
		{"nothing in order is answered while offline", all, CoverOpen,
			"a\n" + id("p001") + "\x1dr\x01\x10\x04\x01", "\x1a", ""},
		{"ASB begins with a status", all, NearEnd, "\x1da\xff", "\x10\x00\x03\x0f", ""},
		{"ASB that is not known", silent, 0, "\x1da\xffx\n", "", "x\n"},
		{"names", named, 0, "\x1dIC\x1dIE\x1dI\x02\x1dID", "\x5fTM-T88V\x00\x5fCHINA GB18030\x00\x02", ""},
		{"DLE ENQ 2 recovers and clears", all, CutterJam, "lost\n\x10\x05\x02a\n", "", "a\n"},
		{"DLE ENQ 1 recovers and goes on", all, CutterJam, "kept\n\x10\x05\x01a\n", "", "kept\na\n"},
		{"DLE ENQ does not bring paper", all, PaperOut, "kept\n\x10\x05\x02\x10\x04\x04", "\x72", ""},
		{"DLE DC4 8 clears", all, PaperOut, "lost\n\x10\x14\x08\x01\x03\x14\x01\x06\x02\x08", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, c.model, func(t *testing.T, p *Printer) {
				p.Set(c.state, true)
				l := plug(p)
				l.send(c.in)
				if got := l.answers(); got != c.back {
					t.Errorf("answers % X, want % X", got, c.back)
				}
				if got := texts(p); got != c.paper {
					t.Errorf("paper: %s", cmp.Diff(c.paper, got))
				}
			})
		})
	}
}

func TestStylesAreOnThePaper(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		plug(p).send("\x1d!\x12a\x1b!\xb9b\x1b!\x00\x1dB\x01\x1br\x01\x1b{\x01c\x1b@\x1bE\x01d\x1b-\x01\x1ba\x01e\n" +
			"\x1ba\x01\x1b*\x21\x03\x00123456789f\n\x1bd\x02\x1bJ\x07")
		want := []Line{
			{Runs: []Run{
				{Text: "d", Style: Style{Wide: 1, High: 1, Bold: true}},
				{Text: "e", Style: Style{Wide: 1, High: 1, Bold: true, Underlined: true}},
			}},
			{Align: 1, Runs: []Run{
				{Columns: 3, Rows: 24, Style: Style{Wide: 1, High: 1, Bold: true, Underlined: true}},
				{Text: "f", Style: Style{Wide: 1, High: 1, Bold: true, Underlined: true}},
			}},
			{Feed: 60}, {Feed: 7},
		}
		if d := cmp.Diff(want, p.Paper()); d != "" {
			t.Error(d)
		}
	})
	bubble(t, all, func(t *testing.T, p *Printer) {
		plug(p).send("\x1d!\x12a\x1b!\xb9b\x1b!\x00\x1dB\x01\x1br\x01\x1b{\x01c\n")
		want := []Line{{Runs: []Run{
			{Text: "a", Style: Style{Wide: 2, High: 3}},
			{Text: "b", Style: Style{Wide: 2, High: 2, FontB: true, Bold: true, Underlined: true}},
			{Text: "c", Style: Style{Wide: 1, High: 1, Inverted: true, Red: true, Upside: true}},
		}}}
		if d := cmp.Diff(want, p.Paper()); d != "" {
			t.Error(d)
		}
	})
}

func TestAnUnfinishedCommandTakesTheNextClientsBytes(t *testing.T) {
	chinese := all
	chinese.Chinese = true
	for _, c := range []struct {
		name, begin string
		lacks       int // bytes
	}{
		{"GS v 0", "\x1dv0\x00\x01\x00\x08\x00abc", 5},
		{"the head of GS v 0", "\x1dv0\x00\x00", 3},
		{"GS ( L", "\x1d(L\x0c\x000p0\x01\x011\x08\x00", 4},
		{"GS 8 L", "\x1d8L\x05\x00\x00\x000p", 3},
		{"GS ( k", "\x1d(k\x08\x001P0", 5},
		{"GS ( H", "\x1d(H\x06\x0000", 4},
		{"ESC *", "\x1b*\x21\x02\x00ab", 4},
		{"GS k by its length", "\x1dkI\x06ab", 4},
		{"ESC ! without its parameter", "\x1b!", 1},
		{"ESC p", "\x1bp\x00", 2},
		{"ESC &", "\x1b&\x02AB\x01ab\x01", 2},
		{"the first byte of a pair", "\xb9", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, chinese, func(t *testing.T, p *Printer) {
				till := plug(p)
				till.send(c.begin)
				till.Close()
				l := plug(p)
				// The hello is swallowed except for its end, as far as the command lacks bytes.
				swallowed := strings.Repeat("0", c.lacks)
				l.send(swallowed + "\n\x1b@\x1c." + id("next") + "whole\n")
				if got, want := l.answers(), answerTo("next"); !strings.HasSuffix(got, want) {
					t.Errorf("answers % X, want % X", got, want)
				}
				if got := texts(p); !strings.HasSuffix(got, "whole\n") || strings.Contains(got, "0\n") {
					t.Errorf("on paper: %q", got)
				}
			})
			bubble(t, chinese, func(t *testing.T, p *Printer) {
				plug(p).send(c.begin)
				p.PowerCycle()
				plug(p).send("whole\n")
				if got := texts(p); got != "whole\n" {
					t.Errorf("after a power cycle on paper: %q", got)
				}
			})
		})
	}
}

func TestGSkAndTabStopsEndWithNUL(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		l := plug(p)
		l.send("\x1dk\x04abc" + id("p001") + "\x1bD" + id("p002"))
		if got := l.answers(); got != "" {
			t.Errorf("answers % X", got)
		}
		l.send("\x00\x00\x00" + id("p003"))
		if got := l.answers(); got != answerTo("p003") {
			t.Errorf("answers % X", got)
		}
	})
}
