package ticket

// A RescueCard is a ticket on a screen's board that is not on paper yet, as queue.Rescue gets it.
type RescueCard struct {
	Job uint64
	// Ticket is what must come out at the screen's backup, because no page of the screen is open.
	// Nil: nothing must, because a page is open or the ticket is done.
	Ticket *Ticket
	// Reprint says that the card itself is a reprint that a person asked for.
	Reprint bool
}

// A RescueJob is the job that was made from a card for the screen's backup.
type RescueJob struct {
	Job     uint64
	Station string // where it was sent
	Open    bool   // it is pending, held or printing
	// WillPrint says that the backup will print it without the help of a person. So newer tickets of
	// the screen wait for it.
	WillPrint bool
	Out       bool // it came out, or may have
}

// A Rescue is what has become of the cards of a board.
type Rescue struct {
	Copies    map[uint64]RescueJob // by the job of the card
	Sent      int                  // copies made now
	TakenBack int                  // copies cancelled now, because a page of the screen is open again
}
