package escpos

import "slices"

// Kind says what a printer's reply is.
type Kind uint8

const (
	UnknownReply    Kind = iota // nothing a printer says; Data
	RealTimeReply               // to DLE EOT; Byte
	AutoStatusReply             // pushed, see [AutoStatus]; ASB
	StatusReply                 // one byte, to GS r or GS I 1 to 3; Byte
	ProcessIDReply              // everything before GS ( H with this ID is printed
	NoPaperReply                // what some boards say to GS ( H instead, out of paper
	OfflineReply                // that the printer went offline, where somebody asked to be told so
	BlockReply                  // another block, to GS I; Byte is its header, Data what it says
	XON                         // the buffer has room again
	XOFF                        // the buffer is full
)

// A Reply is one thing a printer said. Its Kind says which of the fields are set.
type Reply struct {
	Kind Kind
	Byte byte
	ASB  [4]byte
	ID   [4]byte
	Data []byte // the caller's own
}

// A Parser tells replies apart by their fixed bits, however the wire splits and joins
// them. The zero value is ready; each connection needs its own. It is fed whatever comes
// in, and it remembers a few hundred bytes at most.
//
//	0..1 ..10  real-time status          0..0 ....  status, or the rest of an automatic one
//	0..1 ..00  automatic status, 1 of 4  37 3D 5F 35 3B  a block, up to NUL
//	11, 13     XON, XOFF
//
// A real-time reply and XON or XOFF may come in the midst of anything, a block in the
// midst of an automatic status. In a block only control characters can be told from its
// text, so only those are taken for what they look like there.
// (Fixed bits: Citizen CT-S310 manual 5.3.)
type Parser struct {
	asb        []byte  // an automatic status under way
	inBlock    bool    // inBlock a block
	discarding bool    // inBlock a block that is none: it is read to its end and left out
	header     byte    // of the block
	data       []byte  // of the block
	tail       [6]byte // the last of it, also of one that is read to its end
	// asbInBlock says that the automatic status began inside the block, and comes to its end first.
	asbInBlock bool
}

// maxBlock is what a block may hold. The longest a printer sends are its names, at most 80.
const maxBlock = 255

const (
	xon  = 0x11
	xoff = 0x13

	blockStatus  = 0x37 // what has become of something asked with GS ( H
	idEcho       = 0x22
	noPaper      = 0x33
	offlineCause = 0x23
)

// Feed takes what was read and returns the replies that are complete with it. The replies
// are the same however the bytes are divided among calls.
func (p *Parser) Feed(b []byte) []Reply {
	var out []Reply
	for _, c := range b {
		out = p.feed(out, c)
	}
	return out
}

func (p *Parser) feed(out []Reply, c byte) []Reply {
	switch {
	case c == xon:
		return append(out, Reply{Kind: XON})
	case c == xoff:
		return append(out, Reply{Kind: XOFF})
	case p.inBlock && !p.asbInBlock:
		return p.continueBlock(out, c)
	case isRealTime(c):
		return append(out, Reply{Kind: RealTimeReply, Byte: c})
	case len(p.asb) > 0:
		return p.continueASB(out, c)
	case isAutomatic(c):
		p.asb = append(p.asb, c)
		return out
	case isHeader(c):
		p.openBlock(c)
		return out
	case isPlain(c):
		return append(out, Reply{Kind: StatusReply, Byte: c})
	}
	return append(out, Reply{Data: []byte{c}})
}

func isRealTime(c byte) bool  { return c&0x93 == 0x12 }
func isAutomatic(c byte) bool { return c&0x93 == 0x10 }
func isPlain(c byte) bool     { return c&0x90 == 0 }

func isHeader(c byte) bool {
	return c == blockStatus || c == 0x3d || c == 0x5f || c == 0x35 || c == 0x3b
}

// continueASB takes the rest of an automatic status.
func (p *Parser) continueASB(out []Reply, c byte) []Reply {
	switch {
	case isPlain(c):
		p.asb = append(p.asb, c)
		if len(p.asb) == 4 {
			out = append(out, Reply{Kind: AutoStatusReply, ASB: [4]byte(p.asb)})
			p.asb, p.asbInBlock = p.asb[:0], false
		}
		return out
	case isHeader(c) && !p.asbInBlock:
		p.openBlock(c)
		return out
	}
	// The rest of this one will not come: it is given up, and c looked at anew.
	out = append(out, Reply{Data: append([]byte(nil), p.asb...)})
	p.asb, p.asbInBlock = p.asb[:0], false
	return p.feed(out, c)
}

func (p *Parser) openBlock(c byte) {
	p.inBlock, p.discarding, p.header, p.data = true, false, c, p.data[:0]
	p.tail = [6]byte{5: c}
}

// block takes a byte of a block's text.
func (p *Parser) continueBlock(out []Reply, c byte) []Reply {
	switch {
	case c == 0:
		return p.closeBlock(out)
	case c < 0x20 && isRealTime(c):
		return append(out, Reply{Kind: RealTimeReply, Byte: c})
	case c < 0x20 && isAutomatic(c) && len(p.asb) == 0:
		p.asb, p.asbInBlock = append(p.asb, c), true
		return out
	case c < 0x20:
		return append(out, Reply{Data: []byte{c}})
	}
	copy(p.tail[:], p.tail[1:])
	p.tail[5] = c
	switch {
	case p.discarding:
		return out
	case c == blockStatus && p.isStatusBlock(noPaper, offlineCause):
		out = p.closeBlock(out) // its NUL was forgotten: an id of ours has no 37h in it
		p.openBlock(c)
		return out
	}
	p.data = append(p.data, c)
	if len(p.data) == 1 && p.isStatusBlock(noPaper) {
		out = append(out, Reply{Kind: NoPaperReply}) // what may follow says no more
	}
	if len(p.data) > maxBlock || len(p.data) > 5 && p.isStatusBlock(idEcho, noPaper) {
		// Not read as replies: a zero among them would pass for one that says all is well.
		out = append(out, Reply{Data: append([]byte{p.header}, p.data...)})
		p.discarding, p.data = true, nil
	}
	return out
}

// is says whether the block is a status block that begins with one of these.
func (p *Parser) isStatusBlock(first ...byte) bool {
	return p.header == blockStatus && len(p.data) > 0 && slices.Contains(first, p.data[0])
}

func (p *Parser) closeBlock(out []Reply) []Reply {
	defer func() { p.inBlock, p.data = false, p.data[:0] }()
	data := append([]byte(nil), p.data...)
	switch {
	case p.isStatusBlock(idEcho) && len(data) == 5:
		return append(out, Reply{Kind: ProcessIDReply, ID: [4]byte(data[1:])})
	case p.discarding: // said to be junk
	case p.isStatusBlock(noPaper): // said already
	case p.isStatusBlock(offlineCause):
		out = append(out, Reply{Kind: OfflineReply, Data: data[1:]})
	default:
		out = append(out, Reply{Kind: BlockReply, Byte: p.header, Data: data})
	}
	// A byte of noise may have passed for the head of a block that is none, and that an echo then
	// ends. What is read into it is harmless: only who knows the id believes it.
	if p.tail[0] == blockStatus && p.tail[1] == idEcho {
		out = append(out, Reply{Kind: ProcessIDReply, ID: [4]byte(p.tail[2:])})
	}
	return out
}
