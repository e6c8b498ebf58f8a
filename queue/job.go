package queue

import (
	"time"

	"ticketrail/queue/ticket"
)

// A Job is one ticket for one station, as people see it. Its JSON is printed by the command line
// and used by scripts, so names stay.
type Job struct {
	ID         uint64       `json:"id"`
	Request    string       `json:"request"`
	Record     string       `json:"record"`
	Venue      string       `json:"venue"`
	VenueName  string       `json:"venue_name,omitempty"`
	Device     string       `json:"device"`
	Station    string       `json:"station"`
	State      ticket.State `json:"state"`
	Attempts   int          `json:"attempts"` // that failed or succeeded; an interrupted one is not counted
	Doubt      bool         `json:"doubt"`    // an earlier attempt may have come out
	Reprint    bool         `json:"reprint,omitempty"`
	RefusedBy  []string     `json:"refused_by,omitempty"` // the stations that refused it, in order
	Kind       ticket.Kind  `json:"kind,omitempty"`
	MadeFrom   uint64       `json:"of,omitempty"`          // the job this one was made from
	ReplacedBy uint64       `json:"replaced_by,omitempty"` // the job of the changed ticket in its place
	Number     string       `json:"number,omitempty"`
	Table      string       `json:"table,omitempty"`
	Items      int          `json:"items,omitempty"` // lines of its ticket that are no modifiers
	ReceivedAt time.Time    `json:"received_at"`
	FinishedAt *time.Time   `json:"finished_at"` // nil while open
	Reason     string       `json:"reason"`      // of a finished job: why; of a waiting one: the last failure
	PrintedBy  string       `json:"-"`           // the backup that it came out of; empty: its station
	// Version changes with everything by which a person decides about the job. The person's command
	// can name it, so that it is done only if the job still is as the person saw it.
	Version string `json:"-"`
}

// A Filter selects jobs. The zero value selects all.
type Filter struct {
	States  []ticket.State // any of these; empty: all
	Station string
	Request string
	Since   time.Time // received at or after
	Limit   int       // at most so many; 0: all
	Oldest  bool      // of more than Limit the oldest ones; it reads all
}

// StationState is the state of a station's queue. It is a copy of one moment; the queue may change
// while it is read.
type StationState struct {
	Name       string        `json:"name"`
	Pending    int           `json:"pending"`
	Held       int           `json:"held"`
	Printing   int           `json:"printing"`
	Oldest     time.Duration `json:"oldest"` // how long the oldest pending or printing job has waited, in running time
	Hold       *StationHold  `json:"hold,omitempty"`
	Books      Books         `json:"books"`
	Configured bool          `json:"configured"` // false: an orphan. No station takes its jobs; a person must move them
}

// A StationHold says that a person stopped a station, and why.
type StationHold struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Books are the durable counters of a station, since its file was created. They change in the
// transaction that changes a job, so at all times
//
//	Enqueued + Reprinted + MovedIn = pending + held + printing + sum(Outcomes) + MovedOut
//
// If that is ever false, a ticket was lost or doubled by a bug or by damage: see
// [Queue.Unaccounted].
//
// The JSON is stored.
type Books struct {
	Enqueued uint64 `json:"enqueued"` // orders and slips
	// Reprinted counts copies: those a person asked for, and copies of cards on a dark screen.
	Reprinted uint64 `json:"reprinted"`
	// MovedIn and MovedOut count the tickets that people moved, and that stations refused.
	MovedIn  uint64 `json:"moved_in"`
	MovedOut uint64 `json:"moved_out"`
	// Outcomes are by final state, without moved. A job that failed is counted as failed, also if it was cancelled or
	// reprinted later.
	Outcomes map[ticket.State]uint64 `json:"outcomes"`
}
