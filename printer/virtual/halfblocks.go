package virtual

import (
	"slices"
	"strings"
)

const (
	picturesWidth = 76 // columns of a terminal; with the frame of [Ticket.Draw] they are 80
	pictureRows   = 7  // lines of a terminal for one line of the ticket
	farApart      = 36 // dots without ink between two parts of a picture: three columns
	between       = "   "
)

// pictures draws the images with half blocks, each a dot or several: the lines of a terminal for each
// line of the ticket that is an image. A sender sends a high image in bands; their lines are with
// the first.
func (t Ticket) pictures() map[int][]string {
	out := map[int][]string{}
	for i := 0; i < len(t.Images); {
		whole := t.Images[i]
		band := whole.Height
		out[whole.Line] = nil
		for last := band; ; {
			if i++; i == len(t.Images) {
				break
			}
			// All bands of an image are equally high, except for the last.
			next := t.Images[i]
			if next.Line != t.Images[i-1].Line+1 || next.Width != whole.Width || last != band || next.Height > band {
				break
			}
			whole.Bits = slices.Concat(whole.Bits, next.Bits)
			whole.Height += next.Height
			last = next.Height
			out[next.Line] = nil
		}
		out[whole.Line] = whole.halfBlocks()
	}
	return out
}

// halfBlocks draws the image without its white or black edges, scaled down until it fits. Parts that
// stand far apart, such as the fields of a header, are drawn beside or below each other, so that
// the space between them does not make them too small to read.
func (i Image) halfBlocks() (lines []string) {
	top, bottom := 0, i.Height
	for top < bottom && i.ink(0, top, i.Width, top+1) == 0 {
		top++
	}
	for bottom > top && i.ink(0, bottom-1, i.Width, bottom) == 0 {
		bottom--
	}
	inverted := 2*i.ink(0, top, i.Width, bottom) > i.Width*(bottom-top)
	blank := func(x int) bool {
		n := i.ink(x, top, x+1, bottom)
		return n == 0 || inverted && n == bottom-top
	}
	var row []string
	for x := 0; x < i.Width; {
		if blank(x) {
			x++
			continue
		}
		end := x + 1 // behind the last dot of the part
		for next := end; next < i.Width && next-end < farApart; next++ {
			if !blank(next) {
				end = next + 1
			}
		}
		part := i.part(x, top, end, bottom)
		x = end
		if len(row) > 0 && len([]rune(row[0]))+len(between)+len([]rune(part[0])) > picturesWidth {
			lines, row = append(lines, row...), nil
		}
		for n := range part {
			if len(row) < len(part) {
				row = append(row, part[n])
			} else {
				row[n] += between + part[n]
			}
		}
	}
	return append(lines, row...)
}

// part draws a part of the image; its lines are equally long.
func (i Image) part(left, top, right, bottom int) (lines []string) {
	w, h := right-left, bottom-top
	// A letter of double height has twice as many dots in a column as it has in the font. So a dot
	// of the picture may be twice as high as wide.
	y := max((h+2*pictureRows-1)/(2*pictureRows), 1)
	x := max((w+picturesWidth-1)/picturesWidth, (y+1)/2)
	inverted := 2*i.ink(left, top, right, bottom) > w*h
	black := func(u, v int) bool {
		x0, y0, x1, y1 := left+u*x, top+v*y, min(left+(u+1)*x, right), min(top+(v+1)*y, bottom)
		ink, dots := i.ink(x0, y0, x1, y1), (x1-x0)*(y1-y0)
		if inverted { // a third is enough for a stroke, black or white, so that a thin one stays
			return ink > 0 && 3*(dots-ink) < dots
		}
		return ink > 0 && 3*ink >= dots
	}
	for v := 0; v*y < h; v += 2 {
		var b strings.Builder
		for u := 0; u*x < w; u++ {
			switch upper, lower := black(u, v), black(u, v+1); {
			case upper && lower:
				b.WriteRune('█')
			case upper:
				b.WriteRune('▀')
			case lower:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}

// ink is the number of black dots from x0, y0 up to x1, y1.
func (i Image) ink(x0, y0, x1, y1 int) (n int) {
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			if i.Black(x, y) {
				n++
			}
		}
	}
	return n
}
