package escpos

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// drawnBy prints one image on p and reads it back.
func drawnBy(t *testing.T, p profile.Profile, img raster.Image, left int) (reading, []byte) {
	t.Helper()
	e := encoder{p: p}
	e.start(false)
	assert.True(t, e.image(img, left), "no image")
	r, err := read(e.out, p)
	assert.NoError(t, err)
	var bits []byte
	for _, b := range r.Images {
		bits = append(bits, b.Bits...)
	}
	return r, bits
}

func modelsWithDots() []profile.Profile {
	return slices.DeleteFunc(profile.All(), func(p profile.Profile) bool { return p.Raster == profile.NoRaster })
}

func TestImagesArePrintedAsDrawn(t *testing.T) {
	for _, p := range modelsWithDots() {
		row := p.Dots / 8
		img := raster.Image{Width: row * 8, Height: 130, Bits: make([]byte, row*130)}
		for i := range img.Bits {
			img.Bits[i] = byte(i*7) | 0x80
		}
		r, bits := drawnBy(t, p, img, 0)
		want := bytes.Clone(img.Bits)
		maskRealtime(want)
		for i := range want { // at the edges of bands no byte comes before a row
			if want[i] != img.Bits[i] && bits[i] == img.Bits[i] {
				want[i] = img.Bits[i]
			}
		}
		assert.True(t, bytes.Equal(bits, want), p.Name)
		for i, b := range r.Images {
			assert.Equal(t, b.Width, row*8, p.Name, i)
			assert.True(t, b.Height <= bandRows && (i >= 2 || b.Height >= bandRows-1), p.Name, i, b.Height)
		}
	}
}

func TestALowImageIsAsHighAsALineOfText(t *testing.T) {
	p := model(t, "generic-80mm")
	r, bits := drawnBy(t, p, raster.Image{Width: 80, Height: 2, Bits: []byte{0: 1, 19: 0}}, 0)
	i := r.Images
	assert.True(t, len(i) == 2 && i[0].Height+i[1].Height == minLineRows && i[0].Width == 8 && bits[0] == 1, i)
}

func TestWhiteAtTheRightEdgeIsNotSent(t *testing.T) {
	p := model(t, "generic-80mm")
	img := raster.Image{Width: 80, Height: 40, Bits: make([]byte, 400)}
	img.Bits[203] = 0xff // row 20, fourth byte
	r, _ := drawnBy(t, p, img, 0)
	assert.Equal(t, r.Images[0].Width, 4*8)
	r, bits := drawnBy(t, p, img, 5)
	assert.Equal(t, r.Images[0].Width, 9*8)
	assert.Equal(t, bits[20*9+8], 0xff)
}

func TestARealtimeCommandInAnImageIsMasked(t *testing.T) {
	for _, p := range modelsWithDots() {
		for _, second := range []byte{0x04, 0x05, 0x14} {
			// At the end of one row and the start of the next, wherever that is; and everywhere.
			for wide := 1; wide <= p.Dots/8; wide += 7 {
				img := raster.Image{Width: wide * 8, Height: 100,
					Bits: bytes.Repeat([]byte{0x10, second, 0x10, 0x10, second, second}, wide*100/6+1)[:wide*100]}
				_, bits := drawnBy(t, p, img, 0) // read refuses real-time commands
				for i := range img.Bits {
					inPair := i > 0 && img.Bits[i-1] == 0x10 && img.Bits[i] == second
					assert.True(t, bits[i] == img.Bits[i] || inPair && bits[i] == img.Bits[i]|0x02, img.Bits[i],
						bits[i])
				}
			}
		}
	}
}

func TestTheHeaderOfAnImageHoldsNoRealtimeCommand(t *testing.T) {
	p := model(t, "epson-tm-m30")
	p.Dots = 1000
	for wide := 1; wide <= 125; wide++ {
		for high := minLineRows; high <= 100; high++ {
			img := raster.Image{Width: wide * 8, Height: high, Bits: bytes.Repeat([]byte{0xff}, wide*high)}
			e := encoder{p: p}
			assert.True(t, e.image(img, 0) && !hasRealtime(e.out), wide, high)
			if (wide+high)%20 == 0 {
				_, bits := drawnBy(t, p, img, 0)
				assert.True(t, bytes.Equal(bits, img.Bits), wide, high)
			}
		}
	}
}

func TestAResyncIsNULsForTheLongestCommandAndThenSelectsThePrinter(t *testing.T) {
	for _, p := range profile.All() { // that no command is longer is part of every hostile ticket
		nul, ok := bytes.CutSuffix(Resync(p), SelectPrinter())
		assert.True(t, ok && len(bytes.Trim(nul, "\x00")) == 0 && len(nul) >= 2048, p.Name, len(nul))
		assert.True(t, len(nul) >= bandRows*(p.Dots+7)/8 || p.Raster == profile.NoRaster, p.Name, len(nul))
	}
}

func TestALineThatCannotBeDrawnIsTranscribed(t *testing.T) {
	// A line that did not go through Printable may be wider than any paper.
	p := model(t, "generic-80mm")
	l := layout.Line{Spans: []layout.Span{{Text: "é"}, {Text: strings.Repeat("宫", 60)}}}
	body := EncodeTicket([]layout.Line{l}, Options{Profile: p, Drawer: drawer(t)}).Body
	p.Columns = 0
	r, err := read(body, p)
	assert.NoError(t, err)
	assert.Equal(t, strings.Count(r.lines[0].text, "Gong"), 60)
	assert.True(t, len(r.Images) == 0 && strings.HasPrefix(r.lines[0].text, "é~"), r.Text)
	assert.True(t, l.Spans[1].Text[0] != '~', "the caller's line was changed")
}

func TestAnOverlongTicketIsTranscribedAfterTheImageLimit(t *testing.T) {
	p := model(t, "generic-80mm")
	dish := layout.Line{Spans: []layout.Span{{Text: strings.Repeat("宫", p.Columns/2), Style: layout.Style{Height: 8}}}}
	dishes := slices.Repeat([]layout.Line{dish}, 800)
	body := EncodeTicket(dishes, Options{Profile: p, Drawer: drawer(t)}).Body
	assert.True(t, len(body) <= maxDrawnBytes+1<<20, len(body)>>10)
	images := func(b []byte) int { return bytes.Count(b, []byte("\x1dv0\x00")) }
	one := images(EncodeTicket(dishes[:1], Options{Profile: p, Drawer: drawer(t)}).Body)
	drawn, written := images(body)/one, bytes.Count(body, []byte("Gong"))
	assert.True(t, drawn != 0 && written != 0 && drawn+written/(p.Columns/2) == len(dishes), drawn, written)
}

func TestAQRCodeIsPrintedIfThePrinterCan(t *testing.T) {
	const id = "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a"
	d := drawer(t)
	for _, p := range profile.All() {
		for _, o := range []Options{{Profile: p}, {Profile: p, Drawer: d}} {
			r, err := read(EncodeTicket([]layout.Line{{QR: id, Spans: []layout.Span{{Text: "id"}}}}, o).Body, p)
			assert.NoError(t, err)
			native, drawn := p.QR == profile.NativeQR, p.QR == profile.RasterQR && o.Drawer != nil
			assert.Equal(t, len(r.QRs) == 1 && r.QRs[0].Text == id, native, p.Name, r.Text)
			assert.Equal(t, len(r.Images) > 0, drawn, p.Name, r.Text)
			n := len(r.lines)
			assert.True(t, n != 0 && r.lines[n-1].text == "id" && (n <= 1 || native), p.Name, r.Text)
			// A printer prints no white around its QR codes.
			assert.True(t, !native || r.QRs[0].Line > 0 && strings.Contains(r.Text, "\n▒▒ QR "+id+"\n\n"), r.Text)
		}
	}
}
