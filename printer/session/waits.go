package session

import "time"

// The times that a conversation with a printer waits.
const (
	// firstAnswer is for the first answer on a connection. The printer may have accepted us while it serves another
	// client, and answers when that one is done. AnswerTimeout is for each further answer; on a network they take
	// milliseconds.
	firstAnswer   = 5 * time.Second
	AnswerTimeout = 2 * time.Second
	// probeFirst is for each answer to DLE EOT on the first try: on a network milliseconds, behind a wireless bridge
	// some tens. probeSlow is for a printer that has answered something.
	probeFirst = 200 * time.Millisecond
	probeSlow  = time.Second
	// lostAfter is how late an answer to DLE EOT may come. Until then no other n is asked, because the late answer
	// would be taken for the new one.
	lostAfter = 5 * time.Second
	// nudgeAfter is how long a question is unanswered before the printer is sent something more, nudgeLate the same
	// on a connection on which that brought the answer before, broughtWithin how soon it brings it.
	nudgeAfter    = 500 * time.Millisecond
	nudgeLate     = 20 * time.Millisecond
	broughtWithin = 100 * time.Millisecond

	// helloInterval is the time between two hellos: an order of magnitude above a round trip by radio.
	helloInterval = time.Second
	// statusInterval is how often the status is asked while a fence is unanswered. An open cover is known at once,
	// and a print server, which closes idle connections, leaves this one open.
	statusInterval = 200 * time.Millisecond
	// idAfterStatus is how much later than GS r the printer may answer GS ( H: its print buffer may hold a few lines
	// that GS r does not wait for, before a ticket the lines of a till.
	idAfterStatus = 5 * time.Second
	// lateAnswerWindow is how far apart the answers to several GS r may come: long enough for the bytes that the kernel
	// of a USB or serial device still holds of an earlier connection. maxLateAnswers bounds the wait for all of them.
	lateAnswerWindow = 500 * time.Millisecond
	maxLateAnswers   = 3 * time.Second
	// nulTime is how long the line may be busy with the NULs of a connection.
	nulTime = 2 * time.Second

	// droppedWithin is how soon a printer that accepts and drops its clients, because it is starting or a till uses
	// it, does drop them; 8 to 40 ms were seen. Ticket bytes that it has taken before would leave the ticket in
	// doubt, so a printer that answers nothing gets them only after this.
	droppedWithin = 100 * time.Millisecond
	// provokeTimeout is for the first byte of a device that may be no printer.
	provokeTimeout = time.Second

	// HelloTimeout is how long a printer that reports no trouble may leave the hello unanswered. It may
	// still print a till's lines. Nothing of the ticket was sent before, so the ticket is tried again. It is
	// shorter than the time after which the dispatcher interrupts an attempt in favour of a backup.
	HelloTimeout = 20 * time.Second
	// ProbeTimeout is the same while it is not known whether the printer has a fence at all.
	ProbeTimeout = 8 * time.Second
	// SilentAfter is how long a printer may take for its first answer ever before it counts as one that gives none:
	// it may serve another client, or wait for one that has left. A till is done within seconds. It is shorter than
	// the time after which the dispatcher interrupts an attempt in favour of a backup.
	SilentAfter = 25 * time.Second
	// HungAfter is how long a printer that accepts connections and answers nothing counts as busy with
	// another client.
	HungAfter = 2 * time.Minute
	// FinishTimeout limits the closing handshake with a printer that has printed everything. Its result
	// is known, so the limit only bounds how long the next ticket waits for the lock.
	FinishTimeout = 2 * time.Second
	// CutTimeout is how long the sending of a cut may take once everything before it is printed.
	CutTimeout = 5 * time.Second
	// writeCheckInterval is how often a blocked write checks whether the printer has reported a reason.
	// A printer with its cover open takes no bytes: its report decides between
	// waiting for the person and giving up.
	writeCheckInterval = time.Second
	// identifyQuiet is after how long the answer of an unknown device is complete.
	identifyQuiet = 100 * time.Millisecond
)

// heardLimit is how many bytes are read to tell whether it is a printer.
const heardLimit = 256

const (
	// longestHeader is longer, in bytes, than the part of any command that says how much data follows. As many NULs
	// precede the first question: read as the size of an image, it would announce a quarter of a megabyte.
	longestHeader = 16
	// maxNULsUnproven is how many NULs a connection carries at most to a printer that never answered a fence: as many
	// as precede a ticket without one. More would not show that they helped. maxNULs is the same for one that did.
	maxNULsUnproven = 2 << 10
	maxNULs         = 640 << 10
)

// nulsBeforeHello is how many NULs precede the second hello, the third and so on. They complete a command that another
// program left unfinished: a few lines, a band of an image, a logo, the largest image that printers
// take. A printer that waits for nothing ignores them.
var nulsBeforeHello = [...]int{64, 4 << 10, 96 << 10, 512 << 10}
