package virtual_test

import (
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"

	"ticketrail/printer/virtual"
)

// dots makes an image of a drawing in which x is black.
func dots(drawing ...string) virtual.Image {
	wide := (len(drawing[0]) + 7) / 8
	i := virtual.Image{Width: wide * 8, Height: len(drawing), Bits: make([]byte, wide*len(drawing))}
	for y, row := range drawing {
		for x := range row {
			if row[x] == 'x' {
				i.Bits[y*wide+x/8] |= 0x80 >> (x % 8)
			}
		}
	}
	return i
}

// drawn are the lines in the frame of a ticket with these images.
func drawn(images ...virtual.Image) (out []string) {
	var t virtual.Ticket
	for n, i := range images {
		i.Line = n
		t.Lines, t.Images = append(t.Lines, virtual.Line{}), append(t.Images, i)
	}
	lines := strings.Split(strings.TrimSpace(t.Draw("", false)), "\n")
	for _, l := range lines[1 : len(lines)-1] {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(l, "│ "), " │"))
	}
	return out
}

func TestImagesAreDrawnWithHalfBlocksWithoutTheirEdges(t *testing.T) {
	letter := []string{"......", "..xx..", ".x..x.", ".x.xx.", "..x...", "......"}
	inverted := func(rows []string) (out []string) {
		for _, r := range rows {
			out = append(out, strings.NewReplacer("x", ".", ".", "x").Replace(r+strings.Repeat(".", 90)))
		}
		return out
	}
	wide, high := make([]string, 6), []string{}
	for n, r := range letter {
		wide[n] = r + strings.Repeat(".", 80) + r
		for range 4 {
			high = append(high, strings.NewReplacer(".", "..", "x", "xx").Replace(r))
		}
	}
	for name, x := range map[string]struct {
		images []virtual.Image
		want   []string
	}{
		"white": {[]virtual.Image{dots(letter...)}, []string{"▄▀▀▄", "▀▄▀▀"}},
		"black": {[]virtual.Image{dots(inverted(letter)...)}, []string{"█▀▀█", " █▀ ", "█▄██"}},
		"bands": {[]virtual.Image{dots(letter[:3]...), dots(letter[3:]...)}, []string{"▄▀▀▄", "▀▄▀▀"}},
		"short": {[]virtual.Image{dots(letter[:3]...), dots("x.x"), dots("x.x")}, []string{" ▄▀▀▄", "▀ ▀  ", "▀ ▀  "}},
		"lines": {[]virtual.Image{dots(letter[:3]...), dots(letter...)}, []string{"▄▀▀▄", "▄▀▀▄", "▀▄▀▀"}},
		"parts": {[]virtual.Image{dots(wide...)}, []string{"▄▀▀▄   ▄▀▀▄", "▀▄▀▀   ▀▄▀▀"}},
		"high":  {[]virtual.Image{dots(high...)}, []string{"  ████  ", "██    ██", "██  ████", "  ██    "}},
		"stem":  {[]virtual.Image{dots("x..", "x.x", "xx.")}, []string{"█ ▄", "▀▀ "}},
		"widths": {[]virtual.Image{dots(letter[:3]...), dots(".........", "...xx....", "........x")},
			[]string{"▄▀▀▄  ", "▀▀   ▄"}},
		"nothing": {[]virtual.Image{dots("........")}, nil},
	} {
		if diff := cmp.Diff(x.want, drawn(x.images...)); diff != "" {
			t.Errorf("%s: %s\n%s", name, diff, strings.Join(drawn(x.images...), "\n"))
		}
	}
}

func TestImagesWithTextBetweenThemAreTwo(t *testing.T) {
	first, second := dots("xx.", "..x"), dots(".xx", "x..")
	second.Line = 2
	got := virtual.Ticket{Images: []virtual.Image{first, second}, Lines: []virtual.Line{nil, {{Text: "text"}}, nil}}
	want := "┌──────┐\n│ ▀▀▄  │\n│ text │\n│ ▄▀▀  │\n└──────┘\n"
	if diff := cmp.Diff(want, strings.ReplaceAll(got.Draw("", false), "╌", "─")); diff != "" {
		t.Error(diff)
	}
}

func TestAThinStrokeStaysWhenAnImageIsScaledDown(t *testing.T) {
	stroke := strings.Repeat("x"+strings.Repeat(".", 11), 18) // drawn in a third of its width
	inverted := strings.NewReplacer("x", ".", ".", "x").Replace(stroke)
	for name, x := range map[string]struct {
		rows []string
		want string
	}{
		"black": {[]string{stroke}, strings.TrimSpace(strings.Repeat("▀   ", 18))},
		"white": {[]string{inverted, strings.Repeat("x", len(stroke))},
			strings.TrimSuffix(strings.Repeat("▄███", 18), "███")},
	} {
		if diff := cmp.Diff([]string{x.want}, drawn(dots(x.rows...))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheDrawingOfAnImageIsAtMost80ColumnsWide(t *testing.T) {
	solid, striped := strings.Repeat("x.", 2000), strings.Repeat(strings.Repeat("x.", 40)+strings.Repeat(".", 80), 20)
	for _, rows := range [][]string{{solid, strings.Repeat(".x", 2000)}, {striped, strings.Repeat(".", len(striped))}} {
		for _, l := range drawn(dots(rows...)) {
			if w := displaywidth.String(l); w > 76 {
				t.Errorf("a line is %d columns wide", w)
			}
		}
	}
}
