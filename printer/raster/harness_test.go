package raster

import (
	"bytes"
	"encoding/binary"
	"flag"
	"image"
	"image/color"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"golang.org/x/image/font/gofont/goregular"

	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
)

var update = flag.Bool("update", false, "write the golden files anew")

// drawer returns a Drawer with these fonts.
func drawer(t testing.TB, fonts ...string) *Drawer {
	t.Helper()
	d, err := New(fonts...)
	assert.NoError(t, err)
	return d
}

// drawn draws text in a style at 12 dots a column.
func drawn(d *Drawer, text string, st layout.Style) Image {
	return d.Line(layout.Line{Spans: []layout.Span{{Text: text, Style: st}}}, 48, 576)
}

// printed draws each line of a text.
func printed(d *Drawer, columns, dots int, style layout.Style, text string) []Image {
	var mm []Image
	for l := range strings.SplitSeq(text, "\n") {
		mm = append(mm, d.Line(layout.Line{Spans: []layout.Span{{Text: l, Style: style}}}, columns, dots))
	}
	return mm
}

// write makes a file in a folder of its own and returns its path.
func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	assert.NoError(t, os.WriteFile(path, b, 0o644))
	return path
}

// foreign are characters of other scripts, each with the Latin letter whose glyph it has in the fonts made here.
var foreign = map[rune]rune{
	'宫': 'A', '保': 'B', '鸡': 'C', '灣': 'D', '骨': 'E', '雞': 'F', 'ラ': 'G', 'す': 'H', 'の': 'K', '。': '.',
	'ก': 'g', 'ำ': 'e', 'ผ': 'p', 'ั': '\'', 'क': 'k', '्': ',', 'ष': 's', 'ि': 'i',
	'ب': 'b', 'ش': 'w', 'ل': 'l', 'ا': 'i', '\u200c': ' ', 'ญ': ' ',
}

// madeFont makes a font file: Go's font with the characters of foreign. It may get more tables, or others.
func madeFont(t testing.TB, more ...opentype.Table) string {
	t.Helper()
	latin, err := opentype.NewLoader(bytes.NewReader(goregular.TTF))
	assert.NoError(t, err)
	glyphs, err := font.NewFont(latin)
	assert.NoError(t, err)

	characters := maps.Clone(foreign)
	for r := ' '; r <= '~'; r++ {
		characters[r] = r
	}
	var groups []byte
	for _, r := range slices.Sorted(maps.Keys(characters)) {
		gid, _ := glyphs.NominalGlyph(characters[r])
		groups = appendAll(groups, uint32(r), uint32(r), uint32(gid))
	}
	// The header of a table with one subtable, of Unicode in format 12.
	cmap := appendAll(nil, uint16(0), uint16(1), uint16(3), uint16(10), uint32(12),
		uint16(12), uint16(0), uint32(16+len(groups)), uint32(0), uint32(len(groups)/12), groups)

	tables := append(more, opentype.Table{Tag: opentype.MustNewTag("cmap"), Content: cmap})
	for _, tag := range latin.Tables() {
		if slices.ContainsFunc(tables, func(t opentype.Table) bool { return t.Tag == tag }) {
			continue
		}
		content, err := latin.RawTable(tag)
		assert.NoError(t, err)
		tables = append(tables, opentype.Table{Tag: tag, Content: content})
	}
	return write(t, "made.ttf", opentype.WriteTTF(tables))
}

// appendAll appends numbers of fixed size, big-endian, and bytes.
func appendAll(b []byte, values ...any) []byte {
	for _, v := range values {
		b, _ = binary.Append(b, binary.BigEndian, v)
	}
	return b
}

// checkImage verifies the rules for every image.
func checkImage(t assert.T, m Image, width, height int) {
	assert.True(t, m.Width == width && m.Height == height, m.Width, m.Height, width, height)
	assert.Equal(t, len(m.Bits), (width+7)/8*height)
	if over := width % 8; over > 0 {
		for y := range height {
			row := m.row(y)
			assert.Equal(t, row[len(row)-1]&(0xff>>over), 0, "ink beyond the image", y)
		}
	}
}

// golden compares lines with an image that a person has checked.
func golden(t *testing.T, name string, lines []Image) {
	t.Helper()
	assert.Picture(t, filepath.Join("testdata", name+".png"), picture(lines), *update)
}

// picture stacks lines as they come out of a printer, two dots apart.
func picture(lines []Image) *image.Paletted {
	w, h := 0, 0
	for _, m := range lines {
		w, h = max(w, m.Width), h+m.Height+2
	}
	p := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.Black, color.Gray{200}})
	for i := range p.Pix {
		p.Pix[i] = 2
	}

	top := 0
	for _, m := range lines {
		for y := range m.Height {
			for x := range m.Width {
				p.SetColorIndex(x, top+y, 0)
				if m.black(x, y) {
					p.SetColorIndex(x, top+y, 1)
				}
			}
		}
		top += m.Height + 2
	}
	return p
}
