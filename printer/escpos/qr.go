package escpos

import (
	"rsc.io/qr"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// maxQRBytes is how many bytes a QR code of version 10 holds with error correction M. The modules
// of a larger one are too small for a phone's camera above a hot pass.
const maxQRBytes = 213

// qr prints a code in the middle of the paper if the printer can. If it cannot, the caption, which
// is a line like any other, carries the same text.
func (e *encoder) qr(text string) {
	text = layout.Clean(text) // real-time commands would be executed inside the command too
	if len(text) > maxQRBytes {
		return
	}

	switch e.p.QR {
	case profile.NativeQR:
		e.nativeQR(text)
	case profile.RasterQR:
		if e.drawer == nil {
			return
		}
		if img, err := raster.QR(text, e.p.Dots); err == nil {
			e.image(img, max(e.p.Dots-img.Width, 0)/2/8)
		}
	}
}

// nativeQR lets the printer draw the code.
func (e *encoder) nativeQR(text string) {
	code, err := qr.Encode(text, qr.M) // how many modules it has
	if err != nil {
		return
	}

	const quiet = 8 // white modules, both sides together
	size := min(max(e.p.Dots/2/(code.Size+quiet), 3), 8)
	n := len(text) + 3

	// The printer draws the modules and no white around them. Without a blank line above and below,
	// a phone reads adjacent text as part of the code.
	e.style(plain)
	e.out = append(e.out, '\n')

	e.command(esc, 'a', 1)
	e.command(gs, '(', 'k', 4, 0, '1', 'A', '2', 0) // model 2
	e.command(gs, '(', 'k', 3, 0, '1', 'C', byte(size))
	e.command(gs, '(', 'k', 3, 0, '1', 'E', '1') // error correction M
	e.command(gs, '(', 'k', byte(n), byte(n>>8), '1', 'P', '0')

	e.out = append(e.out, text...)
	e.command(gs, '(', 'k', 3, 0, '1', 'Q', '0') // print
	e.command(esc, 'a', 0)
	e.out = append(e.out, '\n')
}
