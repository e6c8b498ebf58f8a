package queue

import (
	"time"

	"ticketrail/queue/ticket"
)

// A Job is one ticket on its way to one station, as people see it.
type Job struct {
	ID         uint64       `json:"id"`
	Request    string       `json:"request"`
	Record     string       `json:"record,omitempty"`
	Venue      string       `json:"venue"`
	VenueName  string       `json:"venue_name,omitempty"`
	Device     string       `json:"device"`
	Station    string       `json:"station"`
	State      ticket.State `json:"state"`
	Attempts   int          `json:"attempts"` // that ended; interrupted ones are not counted
	Doubt      bool         `json:"doubt"`    // an attempt may have come out
	Reprint    bool         `json:"reprint,omitempty"`
	Kind       ticket.Kind  `json:"kind,omitempty"`
	Of         uint64       `json:"of,omitempty"` // the job this one was made from
	ReceivedAt time.Time    `json:"received_at"`
	FinishedAt *time.Time   `json:"finished_at,omitempty"` // nil while open
	Reason     string       `json:"reason,omitempty"`      // why it is where it is; of the last failure while it waits
}

// A Filter selects jobs. The zero value selects all.
type Filter struct {
	States  []ticket.State // any of these; empty: all
	Station string
	Request string
	Since   time.Time // received at or after
	Limit   int       // at most so many; 0: all
}

// StationState is a station's line at a glance.
type StationState struct {
	Name       string        `json:"name"`
	Pending    int           `json:"pending"`
	Held       int           `json:"held"`
	Printing   int           `json:"printing"`
	Oldest     time.Duration `json:"oldest"` // running time the oldest pending or printing job has waited
	Hold       *Hold         `json:"hold,omitempty"`
	Books      Books         `json:"books"`
	Configured bool          `json:"configured"` // false: an orphan, its jobs wait for "jobs move"
}

// Hold says that a person stopped a station, and why.
type Hold struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Books are a station's durable counters. At all times
//
//	Put + Reprinted + MovedIn = pending + held + printing + sum(Outcomes) + MovedOut
type Books struct {
	Enqueued        uint64                  `json:"put"`       // orders, corrections and slips
	Reprinted       uint64                  `json:"reprinted"` // copies: a person asked for them, or a screen went dark
	MovedIn         uint64                  `json:"moved_in"`
	MovedOut        uint64                  `json:"moved_out"`
	Outcomes        map[ticket.State]uint64 `json:"outcomes"`           // every final state but moved
	FailedCancelled uint64                  `json:"unburied,omitempty"` // buried once and cancelled since; counted there
}
