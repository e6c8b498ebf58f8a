package ticket

// A Card is a ticket on a screen's board that is not on paper yet, as the queue is told of it: see
// queue.Rescue.
type Card struct {
	Job uint64
	// Copy is what is to come out of the screen's backup, because nobody can look at the screen.
	// Nil: nothing is, somebody looks or the ticket is done.
	Copy *Ticket
	// Reprint says that the card itself was a reprint that a person asked for.
	Reprint bool
}

// A Copy is the job that was made of a card for the screen's backup.
type Copy struct {
	Job     uint64
	Station string // where it was sent
	Open    bool   // it waits or prints
	// First says that the backup will print it without a person's help: nothing younger of the
	// screen's should come out before it.
	First bool
	Out   bool // it came out, or may have
}

// A Rescue is what has become of a board's cards.
type Rescue struct {
	Copies    map[uint64]Copy // by the job of the card
	Sent      int             // how many copies were made now
	TakenBack int             // and how many were cancelled, because the cards are on the screen again
}
