package raster

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"ticketrail/printer/layout"
)

// alphabet has letters of every kind, and characters that change their neighbours.
const alphabet = "  aZ9?([<éÅ\u0301\u0327\u0e31אבגּشلاבֹلإپ\u200cگ١٢٫中語宮すガﾗ김뷁กำक्षि" +
	"🌶👍🏽\u200d\ufe0f\u20e3🇩█─\u202e\u2067\n\x00\ufffd㎏½…"

func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune(alphabet)), 0, 30, -1),
		rapid.StringN(0, 20, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) }),
	)
}

// checkImage verifies what must hold for every image.
func checkImage(t interface{ Fatalf(string, ...any) }, m Image, width, height int) {
	if m.Width != width || m.Height != height || len(m.Bits) != (width+7)/8*height {
		t.Fatalf("the image is %d×%d in %d bytes, not %d×%d", m.Width, m.Height, len(m.Bits), width, height)
	}
	if over := width % 8; over > 0 {
		for y := range height {
			if r := m.row(y); r[len(r)-1]&(0xff>>over) != 0 {
				t.Fatalf("row %d has ink beyond the image", y)
			}
		}
	}
}

func TestTheInkOfASpanStaysInItsColumns(t *testing.T) {
	d := drawer(t, Installed()...)
	rapid.Check(t, func(t *rapid.T) {
		columns, dots := rapid.IntRange(20, 64).Draw(t, "columns"),
			rapid.SampledFrom([]int{384, 512, 576}).Draw(t, "dots")
		before, after := rapid.IntRange(0, 12).Draw(t, "before"), rapid.IntRange(0, 12).Draw(t, "after")
		s := layout.Span{Text: anyText().Draw(t, "text"), Style: layout.Style{
			Bold: rapid.Bool().Draw(t, "bold"), Invert: rapid.Bool().Draw(t, "invert"),
			Width: rapid.IntRange(0, 3).Draw(t, "width"), Height: rapid.IntRange(0, 3).Draw(t, "height"),
		}}
		if rapid.Bool().Draw(t, "printable") {
			s.Text = d.Printable(s.Text)
		}
		blank := func(n int) layout.Span { return layout.Span{Text: strings.Repeat(" ", n)} }
		m := d.Line(layout.Line{Spans: []layout.Span{blank(before), s, blank(after)}}, columns, dots)
		c := cellFor(dots / columns)
		checkImage(t, m, columns*c.w, max(1, s.Height)*c.h)
		from := min(before*c.w, m.Width)
		to := min(from+layout.Width(s.Text)*max(1, s.Width)*c.w, m.Width)
		for y := range m.Height {
			for x := range m.Width {
				if m.black(x, y) && (x < from || x >= to) {
					t.Fatalf("dot %d,%d is black; the span goes from %d to %d", x, y, from, to)
				}
			}
		}
		if before+layout.Width(s.Text)*max(1, s.Width) > columns {
			return // some of it is beyond the paper
		}
		// Its position on the line must not change how it is drawn.
		alone := d.Line(layout.Line{Spans: []layout.Span{s}}, columns, dots)
		for y := range m.Height {
			for x := from; x < to; x++ {
				if m.black(x, y) != alone.black(x-from, y) {
					t.Fatalf("dot %d,%d is not what it is when the span stands alone", x, y)
				}
			}
		}
	})
}

func TestPrintableTextIsDrawn(t *testing.T) {
	for _, d := range []*Drawer{drawer(t), drawer(t, Installed()...)} {
		rapid.Check(t, func(t *rapid.T) { printable(t, d, anyText().Draw(t, "text")) })
	}
}

// printable verifies what must hold for every result of Printable.
func printable(t interface{ Fatalf(string, ...any) }, d *Drawer, text string) {
	s := d.Printable(text)
	if again := d.Printable(s); again != s {
		t.Fatalf("%q becomes %q, and that %q", text, s, again)
	}
	if !utf8.ValidString(s) || !norm.NFC.IsNormalString(s) {
		t.Fatalf("%q becomes %q, which is not in form NFC", text, s)
	}
	if got, had := strings.Count(s, "?"), strings.Count(norm.NFC.String(text), "?"); got != had {
		t.Fatalf("%q becomes %q, which has %d question marks for %d", text, s, got, had)
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			t.Fatalf("%q becomes %q, which holds the control character %U", text, s, r)
		}
	}
	columns := 0
	for _, u := range d.units(s, layout.FirstStrong, 10_000, false) {
		columns += u.columns
		if u.font == noFont {
			t.Fatalf("%q becomes %q, of which no font has %q", text, s, u.text)
		}
	}
	if want := layout.Width(s); columns != want {
		t.Fatalf("%q becomes %q, which takes %d columns and is drawn in %d", text, s, want, columns)
	}
}

func FuzzLine(f *testing.F) {
	for s := range strings.FieldsSeq(alphabet) {
		f.Add(s, 48, 576, 1, 1, uint8(0))
	}
	f.Add("خلإ", 42, 512, 2, 2, uint8(3))
	f.Add("a", 0, -1, 99, -1, uint8(1))
	f.Add(strings.Repeat("a\u0301", 200), 48, 576, 8, 8, uint8(7))
	d, with := drawer(f), drawer(f, Installed()...)
	f.Fuzz(func(t *testing.T, text string, columns, dots, wide, high int, style uint8) {
		columns, dots = columns%200, dots%2000
		st := layout.Style{Width: wide, Height: high, Bold: style&1 != 0, Invert: style&2 != 0}
		for _, d := range []*Drawer{d, with} {
			m := d.Line(layout.Line{Spans: []layout.Span{{Text: text, Style: st}, {Text: "x"}}}, columns, dots)
			if columns < 1 || dots < columns {
				checkImage(t, m, 0, 0)
				continue
			}
			c := cellFor(dots / columns)
			checkImage(t, m, columns*c.w, scaleFactor(high)*c.h)
			printable(t, d, text)
		}
	})
}

func TestADrawerIsSafeForConcurrentUse(t *testing.T) {
	d, lines := drawer(t, Installed()...), strings.Fields(alphabet)
	want := make([]string, len(lines))
	for i, s := range lines {
		want[i] = string(d.Line(layout.Line{Spans: []layout.Span{{Text: s}}}, 48, 576).Bits)
	}
	fresh := drawer(t, Installed()...)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, s := range lines {
				fresh.Printable(s)
				if got := fresh.Line(layout.Line{Spans: []layout.Span{{Text: s}}}, 48,
					576); string(got.Bits) != want[i] {
					t.Errorf("%q is drawn differently by concurrent calls", s)
				}
			}
		})
	}
	wg.Wait()
}
