package raster

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/go-text/typesetting/font/opentype"
	"golang.org/x/image/font/gofont/goregular"

	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
)

func TestLargeEastAsianTextIsDrawnFromAnOutline(t *testing.T) {
	own, with := drawer(t), drawer(t, write(t, "latin.ttf", goregular.TTF), madeFont(t))
	same := func(text string, st layout.Style) bool {
		return bytes.Equal(drawn(own, text, st).Bits, drawn(with, text, st).Bits)
	}
	for _, st := range []layout.Style{{Height: 2}, {Width: 2}, {Width: 2, Height: 2, Bold: true}} {
		assert.True(t, !same("宫", st) && !same("ラ", st) && !same("す", st), st.Width, st.Height)
		assert.True(t, same("soup é 。", st), st.Width, st.Height)
	}
	assert.True(t, same("宫保", layout.Style{}), "at normal size it is not drawn with the built-in font")
}

func TestTheRestOfLargeEastAsianTextIsDrawnWithTheBuiltInFont(t *testing.T) {
	own, with, st := drawer(t), drawer(t, madeFont(t)), layout.Style{Height: 2}
	for _, rest := range []string{"s é 2x", "한"} { // the font has no Korean
		a, b := drawn(own, "宫"+rest, st), drawn(with, "宫"+rest, st)
		for y := range a.Height {
			if !bytes.Equal(a.row(y)[3:], b.row(y)[3:]) { // 24 dots: behind the first character
				t.Errorf("%q is drawn with the other font", rest)
				break
			}
		}
	}
}

func TestUnifontIsNoOutlineForLargeText(t *testing.T) {
	family := appendAll(nil, utf16.Encode([]rune("Unifont")))
	// A table with one name: the family, in English, for Windows.
	names := appendAll(nil, []uint16{0, 1, 18, 3, 1, 0x409, 1, uint16(len(family)), 0}, family)
	unifont := madeFont(t, opentype.Table{Tag: opentype.MustNewTag("name"), Content: names})
	own, with, st := drawer(t), drawer(t, unifont), layout.Style{Height: 2}
	assert.True(t, bytes.Equal(drawn(own, "宫保", st).Bits, drawn(with, "宫保", st).Bits), "it is used")
}

func TestAFontHasNoCharacterOfWhichItsGlyphIsEmpty(t *testing.T) {
	d := drawer(t, madeFont(t))
	assert.True(t, !d.Has('ญ') && d.Has('ก'), "a character without ink is one that it has")
}

func TestBoldGrowsWithTheWidthOfText(t *testing.T) {
	d := drawer(t, madeFont(t))
	plain, bold := drawn(d, "宫", layout.Style{Width: 3}), drawn(d, "宫", layout.Style{Width: 3, Bold: true})
	for y := range plain.Height {
		for x := range 60 {
			assert.True(t, !plain.black(x, y) || bold.black(x+3, y), x, y)
		}
	}
}

func TestTextFromAFontFileMatchesTheGoldenImage(t *testing.T) {
	latin, err := opentype.NewLoader(bytes.NewReader(goregular.TTF))
	assert.NoError(t, err)
	head, err := latin.RawTable(opentype.MustNewTag("head"))
	assert.NoError(t, err)
	binary.BigEndian.PutUint16(head[18:], 900) // units in an em, of which the letters have 2,048
	tall := drawer(t, madeFont(t, opentype.Table{Tag: opentype.MustNewTag("head"), Content: head}))

	text, d := "กำกำ กำ 2x क्षि\nبشلا ab ผัก", drawer(t, madeFont(t))
	mm := printed(d, 42, 512, layout.Style{}, text)
	mm = append(mm, printed(d, 42, 512, layout.Style{Bold: true, Height: 2}, text)...)
	mm = append(mm, printed(d, 42, 512, layout.Style{Width: 2, Height: 2}, text)...)
	mm = append(mm, printed(tall, 42, 512, layout.Style{}, text)...)
	golden(t, "font-made", mm)
}

func TestAFontWithRegionalShapesIsToldTheRegion(t *testing.T) {
	d, st := drawer(t, madeFont(t, regionalShapes("JAN ", "ZHS ", "ZHT "))), layout.Style{Height: 2}
	first := func(text string) string { // the dots of the first character
		m, s := drawn(d, text, st), ""
		for y := range m.Height {
			s += string(m.row(y)[:3])
		}
		return s
	}
	chinese, taiwanese, japanese := first("骨鸡"), first("骨雞灣"), first("骨の")
	assert.True(t, chinese != taiwanese && chinese != japanese && taiwanese != japanese, "two regions write it alike")
}

// regionalShapes is a table of substitutions for Chinese characters: in the first of three languages each glyph becomes
// the next one, in the second the one after that.
func regionalShapes(languages ...string) opentype.Table {
	const scripts, features, lookups = 10, 58, 96
	b := appendAll(nil, []uint16{1, 0, scripts, features, lookups})

	b = appendAll(b, uint16(1), []byte("hani"), []uint16{8, 0, 3})
	for i, language := range languages {
		b = appendAll(b, []byte(language), uint16(22+6*i))
	}
	for i := range languages {
		b = appendAll(b, []uint16{0, uint16(i), 0}) // the feature that the language requires
	}

	b = appendAll(b, uint16(3))
	for i := range languages {
		b = appendAll(b, []byte("locl"), uint16(20+6*i))
	}
	for i := range languages {
		b = appendAll(b, []uint16{0, 1, uint16(i)})
	}

	b = appendAll(b, []uint16{3, 8, 32, 56})
	for i := range languages {
		b = appendAll(b, []uint16{1, 0, 1, 8}, []uint16{1, 6, uint16(i + 1)}, []uint16{2, 1, 1, 500, 0})
	}
	return opentype.Table{Tag: opentype.MustNewTag("GSUB"), Content: b}
}
