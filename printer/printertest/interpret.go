package printertest

import (
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// An interpreter is where the printer stands in the stream and what is set. It belongs to the printer,
// not to a connection: a command that one client leaves unfinished takes the next client's bytes as its
// parameters. Only a power cycle begins it anew.
type interpreter struct {
	cmd   []byte // a command that is not complete
	left  int    // bytes of GS v 0 that are still to come
	row   []byte
	rows  [][]byte
	pic   *Picture
	store []*Picture // of GS ( L, until it is printed
	code  string     // of GS ( k, until it is printed

	line Line
	x    int // dots of the line that are used
	page *[]Line

	style         Style
	table, intl   byte
	twoByte       bool
	pitch, space  int
	align         byte
	margin, width int // dots; width 0: to the end of the paper
	asb           byte
	disabled      bool // by ESC =
}

// reset is the state after power-on and ESC @.
func (p *Printer) reset() interpreter {
	return interpreter{style: Style{Wide: 1, High: 1}, twoByte: p.model.Chinese, pitch: lineDots}
}

func (in *interpreter) room(dots int) int {
	if dots -= in.margin; in.width > 0 {
		return min(in.width, dots)
	}
	return dots
}

// interpret takes the next byte of the stream. The caller holds mu.
func (p *Printer) interpret(b byte) {
	in := &p.in
	if in.left > 0 {
		p.dots(b)
		return
	}
	in.cmd = append(in.cmd, b)
	switch n := p.length(in.cmd); {
	case n == 0:
		p.unknown()
	case len(in.cmd) >= n:
		c := in.cmd
		in.cmd = nil
		if !in.disabled || string(c[:min(len(c), 2)]) == "\x1b=" {
			p.execute(c)
		}
	}
}

// unknown shows the bytes of a command that the printer does not know. After a single DLE the stream
// goes on; of the others the second byte is part of the command.
func (p *Printer) unknown() {
	c := p.in.cmd
	p.in.cmd = nil
	n := 2
	if c[0] == dle {
		n = 1
	}
	p.mark("% X", c[:n])
	for _, b := range c[n:] {
		p.interpret(b)
	}
}

// execute does one complete command or prints one character.
func (p *Printer) execute(c []byte) {
	in := &p.in
	if len(c) == 1 {
		p.single(c[0])
		return
	}
	arg := int(c[len(c)-1])
	on := arg&1 != 0
	switch name := string(c[:2]); name {
	case "\x1b@":
		*in = p.reset()
	case "\x1b!":
		in.style.FontB, in.style.Bold, in.style.Underlined = on, arg&8 != 0, arg&0x80 != 0
		in.style.High, in.style.Wide = 1+arg>>4&1, 1+arg>>5&1
	case "\x1d!":
		in.style.Wide, in.style.High = 1+arg>>4&7, 1+arg&7
	case "\x1bM":
		in.style.FontB = on
	case "\x1bE", "\x1bG":
		in.style.Bold = on
	case "\x1b-":
		in.style.Underlined = arg&3 != 0
	case "\x1b{":
		in.style.Upside = on
	case "\x1dB":
		in.style.Inverted = on
	case "\x1br":
		in.style.Red = on
	case "\x1bt":
		in.table = c[2]
	case "\x1bR":
		in.intl = c[2]
	case "\x1c&", "\x1c.":
		in.twoByte = p.model.Chinese && name == "\x1c&"
	case "\x1b2", "\x1b3":
		if in.pitch = lineDots; name == "\x1b3" {
			in.pitch = arg
		}
	case "\x1b ":
		in.space = arg
	case "\x1ba":
		if len(in.line.Runs) == 0 { // the manuals: only at the beginning of a line
			in.align = c[2] & 3
		}
	case "\x1b$":
		p.moveTo(number(c[2:4]))
	case "\x1b\\":
		p.moveTo(in.x + number(c[2:4]))
	case "\x1dL":
		in.margin = number(c[2:4])
	case "\x1dW":
		in.width = number(c[2:4])
	case "\x1bd":
		p.feedDots(arg * in.pitch)
	case "\x1bJ":
		p.feedDots(arg)
	case "\x1dV":
		if len(c) == 3 { // without the feed of functions 65 and 66
			arg = 0
		}
		p.cut(arg)
	case "\x1bi", "\x1bm":
		p.cut(0)
	case "\x1bL":
		if in.page == nil {
			in.page = new([]Line)
		}
	case "\x1bS":
		in.page, in.line, in.x = nil, Line{}, 0
	case "\x1b\x0c":
		p.printPage(false)
	case "\x1b=":
		in.disabled = !on
	default:
		p.executeMore(c)
	}
}

// executeMore does pictures, codes and answers.
func (p *Printer) executeMore(c []byte) {
	in := &p.in
	switch name := string(c[:2]); {
	case in.twoByte && c[0] >= 0x81:
		p.decodeTwoByte(c)
	case name == "\x1dv":
		p.startDots(c)
	case name == "\x1b*":
		n := number(c[3:5])
		in.line.Runs = append(in.line.Runs, Run{Style: in.style, Columns: n, Rows: 8 * columnBytes(c[2])})
		in.x += n
	case name == "\x1cp", name == "\x1d/":
		p.mark("logo")
		p.feed(false)
	case name == "\x1dk":
		if c[2] > 6 { // function B tells its length, function A ends with NUL
			c = append(c[1:], 0)
		}
		p.mark("code %s", c[3:len(c)-1])
		p.feed(false)
	case name == "\x1da" && p.model.ASB:
		in.asb = c[2]
		p.sendASB()
	case name == "\x1dr" && p.model.StatusFence:
		var b byte
		if c[2]%'0' == 1 {
			b = p.conditions.has(NearEnd, 0x03) | p.conditions.has(PaperOut, 0x0C)
		}
		p.answerFence([]byte{b})
	case name == "\x1dI":
		if s, ok := p.model.Names[c[2]]; ok && c[2] >= 65 {
			p.answer([]byte("\x5f" + s + "\x00"))
		} else if ok {
			p.answer([]byte(s))
		}
	case name == "\x1d(" && c[2] == 'H':
		if p.model.IDFence && len(c) == 11 && string(c[5:7]) == "00" && printable(c[7:]) {
			p.answerID(c[7:11])
		}
	case name == "\x1d(" && c[2] == 'k' && len(c) > 6:
		p.twoDimensional(c[6], c[7:])
	case name == "\x1d(" && c[2] == 'L' && p.model.Raster:
		p.graphics(c[5:])
	case name == "\x1d8" && c[2] == 'L' && p.model.Raster:
		p.graphics(c[7:])
	}
}

func printable(id []byte) bool {
	for _, d := range id {
		if d < 0x20 || d > 0x7E {
			return false
		}
	}
	return true
}

// printPage ends or repeats the page of page mode.
func (p *Printer) printPage(end bool) {
	in := &p.in
	if in.page == nil {
		return
	}
	if len(in.line.Runs) > 0 {
		p.feed(false)
	}
	lines := in.page
	in.page = nil
	for _, l := range *lines {
		p.put(l, lineDots)
	}
	if !end {
		in.page = lines
	}
}

// moveTo moves the next character to x dots from the margin, as blanks.
func (p *Printer) moveTo(x int) {
	if in := &p.in; x > in.x && x <= in.room(p.model.Dots) {
		one := p.model.Dots / p.model.Columns
		p.char(strings.Repeat(" ", (x-in.x)/one), 0, Style{Wide: 1, High: 1})
		in.x = x
	}
}

// single does one-byte codes and characters.
func (p *Printer) single(b byte) {
	in := &p.in
	switch {
	case b == 0, b == '\r': // CR does nothing while automatic line feed is off
	case b == '\n':
		p.feed(false)
	case b == '\t':
		one := 8 * p.model.Dots / p.model.Columns
		p.moveTo((in.x/one + 1) * one)
	case b == '\f':
		p.printPage(true)
	case b == 0x18: // CAN
		if in.page != nil {
			*in.page, in.line, in.x = nil, Line{}, 0
		}
	case b < 0x20:
		p.mark("%02X", b)
	case b < 0x80 && in.intl != 0 && strings.IndexByte("#$@[\\]^`{|}~", b) >= 0:
		p.mark("%q of ESC R %d", b, in.intl)
	case b < 0x80:
		p.char(string(rune(b)), 1, in.style)
	case tables[in.table] == nil:
		p.mark("%02X of page %d", b, in.table)
	default:
		p.char(string(tables[in.table].DecodeByte(b)), 1, in.style)
	}
}

// tables are the pages of ESC t that are decoded. Characters of the others are shown as numbers.
var tables = map[byte]*charmap.Charmap{
	0: charmap.CodePage437, 2: charmap.CodePage850, 16: charmap.Windows1252, 17: charmap.CodePage866,
	18: charmap.CodePage852, 19: charmap.CodePage858,
}

func (p *Printer) decodeTwoByte(c []byte) {
	s, err := simplifiedchinese.GB18030.NewDecoder().Bytes(c)
	if err != nil || strings.ContainsRune(string(s), '\uFFFD') {
		p.mark("% X", c)
		return
	}
	p.char(string(s), 2, p.in.style)
}
