package escpos

import (
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// maxQRBytes is how many bytes a QR code of version 10 holds with error correction M. A
// larger one has modules too small for a phone above a hot pass.
const maxQRBytes = 213

// qrModules is how wide the code for n bytes is (ISO/IEC 18004, byte mode, correction M).
func qrModules(n int) int {
	for i, most := range [...]int{14, 26, 42, 62, 84, 106, 122, 152, 180, maxQRBytes} {
		if n <= most {
			return 21 + 4*i
		}
	}
	return 0
}

// qr prints a code in the middle of the paper, where the printer can; its caption, which
// is a line like any other, says the same where it cannot.
func (e *encoder) qr(text string) {
	text = layout.Clean(text) // control characters would be obeyed inside the command too
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

func (e *encoder) nativeQR(text string) {
	const quiet = 8 // qrModules of white, both sides together
	size := min(max(e.p.Dots/2/(qrModules(len(text))+quiet), 3), 8)
	n := len(text) + 3
	// The printer draws the modules and nothing around them: without white above and below,
	// the letters there are part of the code for a telephone.
	e.style(style{})
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
