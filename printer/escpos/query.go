package escpos

// What is asked of a printer. None of it prints, so none of it is a ticket byte; but a
// clone that does not know a question may take its tail for text. ESC @, with which every
// ticket begins, throws that away again.

const (
	dle = 0x10
	eot = 0x04
)

// RealTime is DLE EOT n: how are you? The printer answers at once, past everything it
// still has to print, also while it is offline. n is 1 (printer), 2 (why offline), 3
// (which error) or 4 (paper); see [FromRealTime]. The answer does not say n: ask one at a
// time. Epson allows eight to be unanswered.
func RealTime(n byte) []byte { return []byte{dle, eot, n} }

// PaperStatus is GS r 1: is there paper? It is answered in turn, behind everything sent
// before it, and not at all while the printer is offline: an answer says that what was
// sent before was worked off. See [FromPaper].
func PaperStatus() []byte { return []byte{gs, 'r', 1} }

// ProcessID is GS ( H, function 48: say id when everything sent before this has been
// printed. Every byte of id is between 20h and 7Eh.
func ProcessID(id [4]byte) []byte {
	return []byte{gs, '(', 'H', 6, 0, 48, 48, id[0], id[1], id[2], id[3]}
}

// AutoStatus is GS a: push four bytes of status now and at every change ([FromASB]), or
// stop doing so. ESC @ stops it too. On, it asks for the changes a kitchen can do
// something about: online or offline, errors, paper.
func AutoStatus(on bool) []byte { return []byte{gs, 'a', flagByte(on, 0x0e)} }

// Reset is ESC @, with which every ticket begins: it throws away a line that was not printed.
func Reset() []byte { return []byte{esc, '@'} }
