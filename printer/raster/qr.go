package raster

import (
	"fmt"

	"rsc.io/qr"
)

// Scanners need four white modules around a QR code, and a phone needs at least two dots a module.
const (
	quietZone     = 4
	minModuleDots = 2
)

// QR draws a QR code of text with its quiet zone. It is as large as fits into half of dots, or into
// all of it if it would be too fine otherwise. Error correction is level M (15 %), because paper
// gets splashed in a kitchen, and level L only if the code does not fit otherwise. After an error
// no code is printed; the ticket carries the same text as a line.
func QR(text string, dots int) (Image, error) {
	for _, room := range []int{dots / 2, dots} {
		for _, level := range []qr.Level{qr.M, qr.L} {
			code, err := qr.Encode(text, level)
			if err != nil {
				continue
			}
			if scale := room / (code.Size + 2*quietZone); scale >= minModuleDots {
				return paint(code, scale), nil
			}
		}
	}
	return Image{}, fmt.Errorf("QR code: %d bytes do not fit into %d dots; shorten the text", len(text), dots)
}

// paint draws the modules of a code, scale dots each, with its quiet zone.
func paint(code *qr.Code, scale int) Image {
	side := (code.Size + 2*quietZone) * scale
	img := newImage(side, side)

	for y := range side {
		for x := range side {
			if code.Black(x/scale-quietZone, y/scale-quietZone) {
				img.set(x, y)
			}
		}
	}
	return img
}
