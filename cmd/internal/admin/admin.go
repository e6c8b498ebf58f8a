// Package admin is how a person reaches into a running kitchen: which station waits for
// what, what became of a ticket, print it again, send it to another printer.
//
// It is HTTP with JSON over a unix socket: the wire types here, a [Server] that the
// daemon runs and a [Client] that the command line uses. Who may connect may do
// everything, so access is the socket's file mode and group; every change is logged with
// the uid the kernel vouches for. It knows no printer: it is handed the queue and what else
// it may ask (see [Options]).
package admin

import (
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// API is the version of everything below. Client and server must have the same one; both
// name theirs in [HeaderAPI], so that a command line newer than the daemon is told so
// instead of showing half a truth.
const API = "2"

// HeaderAPI carries [API] in every request and every answer.
const HeaderAPI = "Ticketrail-Api"

// A Job is one ticket in one station's queue, or what became of it. Every key that scripts
// stand on is there in every job, null or empty where there is nothing to say.
type Job struct {
	ID         uint64       `json:"id"`
	Request    string       `json:"request"`
	Record     string       `json:"record"`
	Venue      string       `json:"venue"`
	VenueName  string       `json:"venue_name,omitempty"`
	Device     string       `json:"device"`
	Station    string       `json:"station"`
	State      ticket.State `json:"state"`
	Attempts   int          `json:"attempts"` // that ended; interrupted ones are not counted
	Doubt      bool         `json:"doubt"`    // an attempt may have come out
	ReceivedAt time.Time    `json:"received_at"`
	FinishedAt *time.Time   `json:"finished_at"` // null while it is open
	Reason     string       `json:"reason"`
	Kind       ticket.Kind  `json:"kind,omitempty"` // empty is an order
	Reprint    bool         `json:"reprint,omitempty"`
	Of         uint64       `json:"of,omitempty"` // the job this one was made from
}

func wire(j queue.Job) Job {
	return Job{
		ID: j.ID, Request: j.Request, Record: j.Record, Venue: j.Venue, VenueName: j.VenueName,
		Device: j.Device, Station: j.Station, State: j.State, Attempts: j.Attempts, Doubt: j.Doubt,
		ReceivedAt: j.ReceivedAt, FinishedAt: j.FinishedAt, Reason: j.Reason,
		Kind: j.Kind, Reprint: j.Reprint, Of: j.Of,
	}
}

// Filter narrows a list of jobs; the zero value is all of them.
type Filter struct {
	States  []string // any of these; names as in [ticket.States]
	Station string
	Request string
	Since   time.Time // received then or later
	Limit   int       // the newest so many; 0 is all
}

// Detail is everything that is kept of a job.
type Detail struct {
	Job    Job           `json:"job"`
	Ticket ticket.Ticket `json:"ticket"`
	Body   []byte        `json:"body"` // the print request as it was received; empty for what the daemon prints on its own account
}

// A Status is what the daemon knows of a station at this moment, beside what its queue holds.
type Status struct {
	Name    string
	Kind    string // [KindScreen], [KindKDS]; "" is a printer
	Address string // where it is, as configured
	Known   bool   // it was tried since start
	Up      bool   // the last try reached it
	Since   time.Time
	Err     string    // why it is down
	Waiting string    // what it waits for
	Attempt int       // of the ticket in hand
	NextTry time.Time // zero when none is planned
	Device  *Device   // nil when nobody asked the printer itself
	StandIn string    // the station that prints its tickets now; empty: it does so itself
	Pages   int       // of a screen, that are open
}

// A Device is a printer itself, as far as it answers when it is asked. Stations that end at one
// printer have the same.
type Device struct {
	// State is how it is in a word or two: ready, paper out, cover open, busy, silent …
	State string    `json:"state"`
	Since time.Time `json:"since,omitzero"` // in this state
	Fine  bool      `json:"fine"`           // tickets come out
	// Conditions is all that it reports, also what stops nothing, as paper low; the names are
	// those of the metric's labels.
	Conditions []string `json:"conditions"`
	// Ability is the most that can be known about its tickets: confirmed, processed or sent;
	// empty while it was not found out.
	Ability string `json:"ability,omitempty"`
	Advice  string `json:"advice,omitempty"` // what a person can do about it
	Error   string `json:"error,omitempty"`  // why it cannot be reached
	// Foreign is how often it answered another program while we were connected.
	Foreign int `json:"foreign,omitempty"`
}

// Condition is a [Station] in one word.
type Condition string

const (
	Orphaned Condition = "orphan"  // has tickets and is not in the configuration
	OnHold   Condition = "held"    // a person stopped it
	Down     Condition = "down"    // the last try did not go well, or it says that the next will not
	Untried  Condition = "unknown" // not tried since the daemon started
	Up       Condition = "up"
)

// A Station is where tickets come out (a printer, a screen, a third-party kitchen display), and its queue.
type Station struct {
	Name       string     `json:"name"`
	Kind       string     `json:"kind,omitempty"` // [KindScreen], [KindKDS]; left out of a printer
	Address    string     `json:"address,omitempty"`
	State      Condition  `json:"state"`
	Since      *time.Time `json:"since,omitempty"` // in this state
	Configured bool       `json:"configured"`
	Pending    int        `json:"pending"`
	Printing   int        `json:"printing"`
	Held       int        `json:"held"` // single tickets that wait for a person
	// OldestSeconds is the running time since the oldest open ticket was taken in.
	OldestSeconds float64     `json:"oldest_seconds"`
	Hold          *queue.Hold `json:"hold,omitempty"`
	Waiting       string      `json:"waiting,omitempty"` // what it waits for
	Error         string      `json:"error,omitempty"`   // of the last try, if it failed
	Attempt       int         `json:"attempt,omitempty"`
	NextTry       *time.Time  `json:"next_try,omitempty"`
	Device        *Device     `json:"device,omitempty"`
	StandIn       string      `json:"stand_in,omitempty"`      // who prints its tickets now
	StandsInFor   []string    `json:"stands_in_for,omitempty"` // whose tickets it prints now
	Pages         int         `json:"pages,omitempty"`         // of a screen, that are open
	Advice        string      `json:"advice,omitempty"`        // what to do about it
	// Books are the durable counts of this line since its database began.
	Books queue.Books `json:"books"`
}

// Fine says that tickets for this station come out.
func (p Station) Fine() bool { return (p.State == Up || p.State == Untried) && p.Held == 0 }

// Stations is every station, and what a person must know about the whole.
type Stations struct {
	Stations []Station `json:"stations"`
	// Notices are about the daemon itself: a database that was set aside, a full disk.
	Notices []string `json:"notices,omitempty"`
}

// A Reject is a print request that was refused and is lost to the service. Lists leave out its Body.
type Reject = receiver.Rejected

// Bodies of requests that change something, and of their answers.
type (
	reprintBody struct {
		Station string `json:"station,omitempty"`
		Reason  string `json:"reason,omitempty"`
	}
	moveBody struct {
		IDs  []uint64 `json:"ids,omitempty"`
		From string   `json:"from,omitempty"`
		To   string   `json:"to"`
	}
	reasonBody struct {
		Reason string `json:"reason,omitempty"`
	}
	made struct {
		Jobs []uint64 `json:"jobs"`
	}
)
