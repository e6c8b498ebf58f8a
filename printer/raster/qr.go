package raster

import (
	"fmt"

	"rsc.io/qr"
)

// A QR code needs four white modules around it, and a phone needs two dots a module.
const (
	quietZone     = 4
	minModuleDots = 2
)

// QR draws a QR code of text with its quiet zone: as large as fits into half of dots, or in
// all of it when it would be too fine otherwise. Its error correction is 15 %, for
// paper that is splashed in a kitchen, and less where that is what makes it fit.
func QR(text string, dots int) (Image, error) {
	if text == "" {
		return Image{}, fmt.Errorf("QR code: there is no text")
	}
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

func paint(code *qr.Code, scale int) Image {
	side := (code.Size + 2*quietZone) * scale
	m := newImage(side, side)
	for y := range side {
		for x := range side {
			if code.Black(x/scale-quietZone, y/scale-quietZone) {
				m.set(x, y)
			}
		}
	}
	return m
}
