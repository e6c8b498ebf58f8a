package escpos

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"ticketrail/printer/profile"
)

// A reading is what a strict printer makes of a stream. It was written from the manufacturers'
// manuals, not from the encoder, and refuses whatever is not on its list.
type reading struct {
	ops     []string // one for each command or run of text
	lines   []readLine
	bands   []readBand
	qrs     []string
	cuts    int
	longest int // bytes of the longest command
}

type readLine struct {
	text    string
	columns int  // columns the text took
	black   bool // all of the line is white on black
	red     bool // part of the line is red
	height  int
}

// A readBand is an image: rows of wide bytes.
type readBand struct {
	wide, rows int
	bits       []byte
}

// A reader is a printer of one model in the middle of a stream.
type reader struct {
	reading
	p      profile.Profile
	b      []byte // bytes not read yet
	at     int    // bytes read
	table  *charmap.Charmap
	two    bool // reads two bytes per character
	jis    bool
	width  int
	height int
	invert bool
	red    bool
	centre bool
	begun  bool
	qr     string   // stored
	image  readBand // stored, for GS ( L
	text   strings.Builder
	line   readLine
}

func read(b []byte, p profile.Profile) (reading, error) {
	// Some printers execute these wherever they are, inside other commands too.
	for _, realtime := range []string{"\x10\x04", "\x10\x05", "\x10\x14"} {
		if bytes.Contains(b, []byte(realtime)) {
			return reading{}, fmt.Errorf("the stream holds the realtime command % X", realtime)
		}
	}
	r := reader{p: p, b: b, width: 1, height: 1, line: readLine{black: true, height: 1}}
	for len(r.b) > 0 {
		if err := r.next(); err != nil {
			return r.reading, fmt.Errorf("byte %d: %w", r.at, err)
		}
	}
	r.flush()
	switch {
	case r.line.columns > 0:
		return r.reading, errors.New("the last line has no line feed")
	case r.two || r.centre || r.qr != "" || r.image.rows > 0:
		return r.reading, errors.New("the stream ends inside an unfinished command or mode")
	}
	return r.reading, nil
}

func (r *reader) flush() {
	if r.text.Len() > 0 {
		r.ops = append(r.ops, fmt.Sprintf("text %q", r.text.String()))
		r.text.Reset()
	}
}

func (r *reader) op(format string, args ...any) {
	r.flush()
	r.ops = append(r.ops, fmt.Sprintf(format, args...))
}

// take returns the next n bytes.
func (r *reader) take(n int) ([]byte, error) {
	if n > len(r.b) {
		return nil, fmt.Errorf("the stream ends inside a command: % X", r.b)
	}
	b := r.b[:n]
	r.b, r.at = r.b[n:], r.at+n
	return b, nil
}

func (r *reader) letter(c rune, columns int) {
	r.text.WriteRune(c)
	r.line.text += string(c)
	r.line.columns += columns * r.width
	r.line.black = r.line.black && r.invert
	r.line.red = r.line.red || r.red
	r.line.height = max(r.line.height, r.height)
}

func (r *reader) next() error {
	c := r.b[0]
	switch {
	case !r.begun && !bytes.HasPrefix(r.b, []byte{0x1b, '@'}):
		return errors.New("the stream does not begin with a reset")
	case r.cuts > 0:
		return errors.New("something follows the cut")
	case c == '\n':
		r.op("LF")
		r.lines = append(r.lines, r.line)
		r.line = readLine{black: true, height: 1}
		_, err := r.take(1)
		return err
	case c >= 0x20 && c <= 0x7e:
		if r.two {
			return fmt.Errorf("the letter %c among two-byte ones", c)
		}
		r.letter(rune(c), 1)
		_, err := r.take(1)
		return err
	case c >= 0x80 && r.two:
		return r.twoByteLetter()
	case c >= 0x80:
		return r.pageLetter(c)
	}
	if r.two && !bytes.HasPrefix(r.b, []byte{0x1c, '.'}) {
		return errors.New("a command among two-byte letters")
	}
	before := r.at
	err := r.command()
	r.longest = max(r.longest, r.at-before)
	return err
}

func (r *reader) pageLetter(c byte) error {
	if r.table == nil {
		return fmt.Errorf("%02X before a code page was selected", c)
	}
	l := r.table.DecodeByte(c)
	if l < 0xa1 || l == 0xad || l == 0xfffd || l >= 0x590 && l < 0x700 {
		return fmt.Errorf("%02X is not a character of its page, or a right-to-left one: %U", c, l)
	}
	r.letter(l, 1)
	_, err := r.take(1)
	return err
}

func (r *reader) twoByteLetter() error {
	b, err := r.take(2)
	if err != nil {
		return err
	}
	codes := map[profile.TwoByte]encoding.Encoding{
		profile.GB18030: simplifiedchinese.GBK, profile.Big5: traditionalchinese.Big5, profile.KSX1001: korean.EUCKR,
		profile.ShiftJIS: japanese.ShiftJIS,
	}
	code := codes[r.p.TwoByte]
	if code == nil || r.p.TwoByte == profile.ShiftJIS && !r.jis {
		return fmt.Errorf("two-byte characters on a printer that has none, or in an unknown encoding")
	}
	s, err := code.NewDecoder().Bytes(b)
	l, n := utf8.DecodeRune(s)
	if err != nil || l == utf8.RuneError || n != len(s) || b[1] < 0x40 || b[1] == 0x7f || b[1] == 0xff {
		return fmt.Errorf("% X is not a character", b)
	}
	r.letter(l, 2)
	return nil
}
