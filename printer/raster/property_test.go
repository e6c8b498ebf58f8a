package raster

import (
	"flag"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer/layout"
)

// init makes rapid draw the same values on every machine. -rapid.seed=0 draws other ones at each run.
func init() { flag.Set("rapid.seed", "1") }

func TestTheInkOfASpanStaysInItsColumns(t *testing.T) {
	rapid.Check(t, inkStaysInItsColumns(drawer(t, madeFont(t))))
}

func TestACharacterThatAFontHasIsDrawn(t *testing.T) {
	for _, d := range []*Drawer{drawer(t), drawer(t, madeFont(t))} {
		rapid.Check(t, func(t *rapid.T) { checkDrawn(t, d, anyText().Draw(t, "text")) })
	}
}

func TestInstalledFontsKeepTheRulesToo(t *testing.T) {
	slow.Test(t, "/usr/share/fonts/truetype/noto/NotoSansThai-Regular.ttf",
		"/usr/share/fonts/opentype/unifont/unifont.otf", "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf")
	d := drawer(t, Installed()...)
	rapid.Check(t, inkStaysInItsColumns(d))
	rapid.Check(t, func(t *rapid.T) { checkDrawn(t, d, anyText().Draw(t, "text")) })
}

func FuzzLine(f *testing.F) { f.Fuzz(rapid.MakeFuzz(inkStaysInItsColumns(drawer(f, madeFont(f))))) }

func TestNothingIsDrawnOnPaperWithoutRoomForTheColumns(t *testing.T) {
	for _, c := range [][2]int{{0, 576}, {-1, 576}, {48, 47}} {
		l := layout.Line{Spans: []layout.Span{{Text: "x"}}}
		checkImage(t, drawer(t).Line(l, c[0], c[1]), 0, 0)
	}
}

func TestADrawerIsSafeForConcurrentUse(t *testing.T) {
	font, lines := madeFont(t), strings.Fields(alphabet)
	bits := func(d *Drawer, s string) string { return string(drawn(d, s, layout.Style{}).Bits) }
	want := make([]string, len(lines))
	for i, s := range lines {
		want[i] = bits(drawer(t, font), s)
	}

	fresh := drawer(t, font)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, s := range lines {
				assert.Equal(t, bits(fresh, s), want[i], s)
			}
		})
	}
	wg.Wait()
}

// alphabet has letters of every kind, and characters that change their neighbours.
const alphabet = "  aZ9?([<éÅ\u0301\u0327\u0e31אבגּشلاבֹلإپ\u200cگ١٢٫中語宮すガﾗ김뷁กำक्षि" +
	"🌶👍🏽\u200d\ufe0f\u20e3🇩█─\u202e\u2067\n\x00\ufffd㎏½…"

// anyText generates text of the alphabet, of any letters, and of any bytes.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune(alphabet)), 0, 30, -1),
		rapid.StringN(0, 20, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) }),
	)
}

// inkStaysInItsColumns returns the property that a span draws only in its columns, and there the same wherever it is.
func inkStaysInItsColumns(d *Drawer) func(*rapid.T) {
	return func(t *rapid.T) {
		columns := rapid.IntRange(20, 64).Draw(t, "columns")
		dots := rapid.SampledFrom([]int{384, 512, 576}).Draw(t, "dots")
		before, after := rapid.IntRange(0, 12).Draw(t, "before"), rapid.IntRange(0, 12).Draw(t, "after")
		s := layout.Span{Text: anyText().Draw(t, "text"), Style: layout.Style{
			Bold: rapid.Bool().Draw(t, "bold"), Invert: rapid.Bool().Draw(t, "invert"),
			Width: rapid.IntRange(-1, 9).Draw(t, "width"), Height: rapid.IntRange(-1, 9).Draw(t, "height"),
		}}

		blank := func(n int) layout.Span { return layout.Span{Text: strings.Repeat(" ", n)} }
		m := d.Line(layout.Line{Spans: []layout.Span{blank(before), s, blank(after)}}, columns, dots)
		c := cellFor(dots / columns)
		checkImage(t, m, columns*c.w, scaleFactor(s.Height)*c.h)
		width := layout.Width(s.Text) * scaleFactor(s.Width)
		from := min(before*c.w, m.Width)
		to := min(from+width*c.w, m.Width)
		alone := d.Line(layout.Line{Spans: []layout.Span{s}}, columns, dots)
		for y := range m.Height {
			for x := range m.Width {
				switch inside := x >= from && x < to; {
				case !inside && m.black(x, y):
					t.Fatalf("dot %d,%d is black; the span goes from %d to %d", x, y, from, to)
				// Dots beyond the paper may be cut elsewhere when the span stands alone.
				case inside && before+width <= columns && m.black(x, y) != alone.black(x-from, y):
					t.Fatalf("dot %d,%d is not what it is when the span stands alone", x, y)
				}
			}
		}
	}
}

// checkDrawn verifies that the characters of text that a font has are drawn, in the columns that were measured.
func checkDrawn(t assert.T, d *Drawer, text string) {
	had := strings.Map(func(r rune) rune {
		if d.Has(r) {
			return r
		}
		return -1
	}, text)

	columns := 0
	for _, u := range d.units(had, layout.FirstStrong, 10_000, false) {
		columns += u.columns
		assert.True(t, u.font != noFont, u)
	}
	assert.Equal(t, columns, layout.Width(had), had)
}
