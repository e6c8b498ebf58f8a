package raster

import (
	"bytes"
	"os"
	"testing"

	"ticketrail/printer/layout"
)

const notoCJK = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"

// installed skips a test whose font is not on this box.
func installed(t *testing.T, font string) {
	t.Helper()
	if _, err := os.Stat(font); err != nil {
		missing(t, "%v; apt-get install fonts-noto-core fonts-unifont fonts-droid-fallback", err)
	}
}

// drawn draws text in a style at 12 dots a column.
func drawn(d *Drawer, text string, st layout.Style) Image {
	return d.Line(layout.Line{Spans: []layout.Span{{Text: text, Style: st}}}, 48, 576)
}

func TestLargeEastAsianTextIsDrawnFromAnOutline(t *testing.T) {
	droid := noto["droid"][0]
	installed(t, droid)
	own, with := drawer(t), drawer(t, noto["unifont"][0], droid)
	same := func(text string, st layout.Style) bool {
		return bytes.Equal(drawn(own, text, st).Bits, drawn(with, text, st).Bits)
	}
	for _, st := range []layout.Style{{Height: 2}, {Width: 2}, {Width: 2, Height: 2, Bold: true}} {
		if same("宫", st) || same("ラ", st) || same("す", st) {
			t.Errorf("at %dx%d the dots of the built-in font are enlarged", st.Width, st.Height)
		}
		if !same("soup é 。", st) {
			t.Errorf("at %dx%d other text is not drawn with the built-in font", st.Width, st.Height)
		}
	}
	if !same("宫保", layout.Style{}) {
		t.Error("at normal size it is not drawn with the built-in font")
	}
}

func TestTheRestOfLargeEastAsianTextIsDrawnWithTheBuiltInFont(t *testing.T) {
	droid := noto["droid"][0]
	installed(t, droid)
	own, with, st := drawer(t), drawer(t, droid), layout.Style{Height: 2}
	for _, rest := range []string{"s é 2x", "한"} { // Droid has no Korean
		a, b := drawn(own, "宫"+rest, st), drawn(with, "宫"+rest, st)
		for y := range a.Height {
			if !bytes.Equal(a.row(y)[3:], b.row(y)[3:]) { // 24 dots: behind the first character
				t.Errorf("%q is drawn with the other font", rest)
				break
			}
		}
	}
}

func TestBoldGrowsWithTheWidthOfText(t *testing.T) {
	droid := noto["droid"][0]
	installed(t, droid)
	d := drawer(t, droid)
	plain, bold := drawn(d, "宫", layout.Style{Width: 3}), drawn(d, "宫", layout.Style{Width: 3, Bold: true})
	for y := range plain.Height {
		for x := range 60 {
			if plain.black(x, y) && !bold.black(x+3, y) {
				t.Fatalf("a stroke at %d, %d is less than three dots wider", x, y)
			}
		}
	}
}

func TestUnifontIsNoOutlineForLargeText(t *testing.T) {
	unifont := noto["unifont"][0]
	installed(t, unifont)
	own, with := drawer(t), drawer(t, unifont)
	if !bytes.Equal(drawn(own, "宫保", layout.Style{Height: 2}).Bits, drawn(with, "宫保", layout.Style{Height: 2}).Bits) {
		t.Error("it is used")
	}
}

func TestTextFromAFontFileIsDrawnInItsSizeAndNotEnlarged(t *testing.T) {
	thai := noto["thai"][0]
	installed(t, thai)
	d := drawer(t, thai)
	small, large := drawn(d, "ผัดไทย", layout.Style{}), drawn(d, "ผัดไทย", layout.Style{Width: 2, Height: 2})
	finer := 0
	for y := range large.Height {
		for x := range min(large.Width, small.Width) {
			if large.black(x, y) != small.black(x/2, y/2) {
				finer++
			}
		}
	}
	if finer == 0 {
		t.Error("each dot is four of the same")
	}
}

func TestAFontWithRegionalShapesIsToldTheRegion(t *testing.T) {
	if _, err := os.Stat(notoCJK); err != nil {
		t.Skip("the only font with these shapes that Debian has is 56 MB: apt-get install fonts-noto-cjk")
	}
	d, st := drawer(t, notoCJK), layout.Style{Height: 2}
	first := func(text string) string { // the dots of the first character
		m, s := drawn(d, text, st), ""
		for y := range m.Height {
			s += string(m.row(y)[:3])
		}
		return s
	}
	chinese, taiwanese, japanese := first("骨鸡"), first("骨雞灣"), first("骨の")
	if chinese == taiwanese || chinese == japanese || taiwanese == japanese {
		t.Error("two regions write it alike")
	}
}
