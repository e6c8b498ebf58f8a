package escpos

// Commands that ask a printer something. None of them prints, so none counts as a byte of a ticket.
// A low-cost printer that does not know a command may take the end of it for text; the ESC @ with
// which every ticket begins discards that.
const (
	dle = 0x10
	eot = 0x04
)

// RealTime is DLE EOT n, which asks for status. The printer answers at once, ahead of everything it
// still has to print, even if it is offline. n is 1 (printer), 2 (cause of offline), 3 (cause of
// error) or 4 (paper); see [FromRealTime]. The answer does not contain n, so ask one question at a
// time. Epson allows eight unanswered ones.
func RealTime(n byte) []byte { return []byte{dle, eot, n} }

// PaperStatus is GS r 1, which asks for the paper status. It is answered in order, after everything
// sent before it was processed, and not at all while the printer is offline. So an answer says that
// the bytes before it were processed. See [FromPaper].
func PaperStatus() []byte { return []byte{gs, 'r', 1} }

// ProcessID is GS ( H, function 48: return id when everything sent before has been printed. Every
// byte of id must be between 20h and 7Eh.
func ProcessID(id [4]byte) []byte {
	return []byte{gs, '(', 'H', 6, 0, 48, 48, id[0], id[1], id[2], id[3]}
}

// AskIdentity is GS I n, which asks for a text: n is 66 for the maker, 67 for the model. It is answered with a
// [BlockReply] in order, and not while the printer is offline. Clones return other makers' names.
func AskIdentity(n byte) []byte { return []byte{gs, 'I', n} }

// AutoStatus is GS a: send four bytes of status now and at every change ([FromASB]), or stop
// sending them. ESC @ stops them too. It asks for the changes that a kitchen can act on: online and
// offline, errors, paper.
func AutoStatus(on bool) []byte { return []byte{gs, 'a', byteIf(on, 0x0e)} }

// Reset is ESC @, with which every ticket begins. It discards a line that was received but not
// printed.
func Reset() []byte { return []byte{esc, '@'} }

// SelectPrinter is ESC = 1. A till that shows prices on a display behind the printer selects the display with
// ESC = 2. If it breaks off there, the printer ignores everything but this and DLE EOT. (Epson ESC/POS command
// reference, "ESC =: Select peripheral device".)
func SelectPrinter() []byte { return []byte{esc, '=', 1} }
