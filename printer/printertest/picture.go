package printertest

// bandRows is how many rows of a picture are printed at a time, as they come in.
const bandRows = 24

// The largest picture of GS v 0 as the manual of the TM-T81 has it: 256 bytes by 2303 rows. The head of
// a larger one is not executed and what follows is text.
const maxWidth, maxRows = 256, 2303

func (p *Printer) startDots(c []byte) {
	in := &p.in
	width, rows := number(c[4:6]), number(c[6:8])
	if width == 0 || width > maxWidth || rows == 0 || rows > maxRows {
		p.mark("% X", c)
		return
	}
	if len(in.line.Runs) > 0 {
		p.feed(false)
	}
	in.left, in.pic = width*rows, &Picture{Width: width, Want: rows}
}

// dots takes a byte of GS v 0.
func (p *Printer) dots(b byte) {
	in := &p.in
	in.left--
	if in.row = append(in.row, b); len(in.row) == in.pic.Width {
		in.rows, in.row = append(in.rows, in.row), nil
	}
	if in.left == 0 || len(in.rows) == bandRows {
		p.putRows(in.pic, in.rows)
		in.rows = nil
	}
}

// twoDimensional does function fn of GS ( k: 80 stores the data, 81 prints the code.
func (p *Printer) twoDimensional(fn byte, data []byte) {
	switch {
	case fn == 80 && len(data) > 0:
		p.in.code = string(data[1:])
	case fn == 81:
		p.mark("code %s", p.in.code)
		p.feed(false)
	}
}

// graphics does GS ( L: 112 stores a picture, 50 prints what is stored, 69 prints a logo.
func (p *Printer) graphics(c []byte) {
	in := &p.in
	if len(c) < 2 {
		return
	}
	switch fn := c[1]; {
	case fn == 112 && len(c) >= 10:
		width, rows, data := number(c[6:8]), number(c[8:10]), c[10:]
		pic := &Picture{Width: (width + 7) / 8, Want: rows}
		for pic.Width > 0 && len(data) >= pic.Width && len(pic.Rows) < rows {
			pic.Rows = append(pic.Rows, data[:pic.Width])
			data = data[pic.Width:]
		}
		in.store = append(in.store, pic)
	case fn == 2 || fn == 50:
		for _, s := range in.store {
			p.putRows(&Picture{Width: s.Width, Want: s.Want}, s.Rows)
		}
		in.store = nil
	case fn == 69 || fn == 85:
		p.mark("logo")
		p.feed(false)
	}
}
