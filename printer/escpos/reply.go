package escpos

import "slices"

// Kind is the kind of a printer's reply.
type Kind uint8

const (
	UnknownReply    Kind = iota // no valid reply; Data holds the bytes
	RealTimeReply               // answer to DLE EOT, in Byte
	AutoStatusReply             // automatic status, see [AutoStatus]; in ASB
	StatusReply                 // answer of one byte to GS r or GS I 1 to 3, in Byte
	ProcessIDReply              // everything before the GS ( H with this ID is printed
	NoPaperReply                // sent by some printers instead of the ID if they are out of paper
	BlockReply                  // another block, such as the answer to GS I; Byte is its header, Data its text
	FlowControl                 // XON or XOFF, in Byte: the buffer has room again, or is full
)

// A Reply is one message from a printer. Its Kind says which fields are set.
type Reply struct {
	Kind Kind
	Byte byte
	ASB  [4]byte
	ID   [4]byte
	Data []byte // owned by the caller
}

// A Parser separates replies by their fixed bits, however the connection splits and joins them. The
// zero value is ready for use. Each connection needs its own. Any input is allowed, and at most a
// few hundred bytes are kept.
//
//	0..1 ..10  real-time status          0..0 ....  status, or the rest of an automatic one
//	0..1 ..00  automatic status, 1 of 4  37 3D 5F 35 3B  a block, up to NUL
//	11, 13     XON, XOFF
//
// A real-time reply and XON or XOFF may come in the middle of any other reply, a block in the
// middle of an automatic status. In a block, only control characters can be told from text, so only
// they are taken for other replies. (Fixed bits: Citizen CT-S310 manual 5.3.)
type Parser struct {
	asb   []byte // the bytes so far of an automatic status
	block []byte // the bytes so far of a block, its header first; empty outside of one
	// ignored: it is no block of a printer. It is read to its end, and only its last bytes are kept.
	ignored bool
	// asbInBlock says that the automatic status began inside the block, which goes on after it.
	asbInBlock bool
}

// maxBlock is the most bytes a block may hold. The longest that printers send are their names, at
// most 80.
const maxBlock = 255

const (
	xon  = 0x11
	xoff = 0x13

	blockStatus = 0x37 // header of the answer to a GS ( H
	idEcho      = 0x22
	noPaper     = 0x33
	idBlock     = 6 // bytes of the answer to a GS ( H with the id, without the NUL
)

// Feed reads b and returns the replies that are complete. The replies are the same however the
// bytes are divided among calls.
func (p *Parser) Feed(b []byte) []Reply {
	var out []Reply
	for _, c := range b {
		out = p.feed(out, c)
	}
	return out
}

func (p *Parser) feed(out []Reply, c byte) []Reply {
	switch {
	case c == xon, c == xoff:
		return append(out, Reply{Kind: FlowControl, Byte: c})
	case len(p.block) > 0 && !p.asbInBlock:
		return p.continueBlock(out, c)
	case isRealTime(c):
		return append(out, Reply{Kind: RealTimeReply, Byte: c})
	case len(p.asb) > 0:
		return p.continueASB(out, c)
	case isAutomatic(c):
		p.asb = append(p.asb, c)
		return out
	case isHeader(c):
		p.block = append(p.block, c)
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

// continueASB reads the next byte of an automatic status.
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
		p.block = append(p.block, c)
		return out
	}

	// A byte that cannot be part of it: the rest of this status was lost. Report its bytes
	// and read c as the start of a reply.
	out = append(out, Reply{Data: append([]byte(nil), p.asb...)})
	p.asb, p.asbInBlock = p.asb[:0], false
	return p.feed(out, c)
}

// continueBlock reads a byte of a block's text.
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

	if c == blockStatus && p.isStatusBlock(noPaper) {
		out = p.closeBlock(out) // c begins a new block, and the NUL between them is missing: no id of ours has a 37h
	}
	p.block = append(p.block, c)

	switch {
	case p.ignored:
		p.block = append(p.block[:0], p.block[len(p.block)-idBlock:]...)
	case len(p.block) == 2 && p.isStatusBlock(noPaper):
		out = append(out, Reply{Kind: NoPaperReply}) // the rest of the block adds nothing
	case len(p.block) > 1+maxBlock || len(p.block) > idBlock && p.isStatusBlock(idEcho, noPaper):
		// It is no block of a printer. It is skipped up to its NUL, which would pass for a status without errors.
		out = append(out, Reply{Data: slices.Clone(p.block)})
		p.ignored = true
	}
	return out
}

// isStatusBlock reports whether the block is a status block whose text begins with one of these
// bytes.
func (p *Parser) isStatusBlock(first ...byte) bool {
	return !p.ignored && len(p.block) > 1 && p.block[0] == blockStatus && slices.Contains(first, p.block[1])
}

// closeBlock ends the block and reports it.
func (p *Parser) closeBlock(out []Reply) []Reply {
	defer func() { p.block, p.ignored = p.block[:0], false }()

	switch {
	case p.ignored, p.isStatusBlock(noPaper): // reported already
	case len(p.block) != idBlock || !p.isStatusBlock(idEcho):
		out = append(out, Reply{Kind: BlockReply, Byte: p.block[0], Data: slices.Clone(p.block[1:])})
	}

	// An ID is usually the whole block. But a byte of line noise may look like the header of a block, which then
	// swallows an ID and ends with it. Reporting such an ID is safe: the caller accepts only the ID it sent.
	if before := len(p.block) - idBlock; before >= 0 && p.block[before] == blockStatus && p.block[before+1] == idEcho {
		out = append(out, Reply{Kind: ProcessIDReply, ID: [4]byte(p.block[before+2:])})
	}
	return out
}
