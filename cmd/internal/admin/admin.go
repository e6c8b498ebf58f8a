// Package admin is the control API of a running daemon. With it an operator sees the state of every
// station and ticket in the kitchen, reprints, moves and cancels tickets, and holds stations.
//
// It is HTTP with JSON over a unix socket: the wire types, a [Server] that the daemon runs and a
// [Client] that the command line uses. There are no users or permissions: a process that can open
// the socket can do everything, so access is controlled by the socket's file mode and group. Every
// change is logged with the uid that the kernel reports for the connection.
//
// The package knows no printer. It gets the queue and everything else it may ask in [Options]. What
// each file has: admin.go the wire types, server.go the routes and limits, jobs.go, stations.go,
// screens.go, rejects.go and fields.go the answers, error.go the refusals, listen.go the socket, client.go the
// other end; page.go the page for managers, which has some of the answers and changes too.
package admin

import (
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// API is the version of the control API. Client and server send theirs in [HeaderAPI] and must have
// the same one: a command line that is newer than the daemon would otherwise show fields that the
// daemon did not fill as if they were empty.
const API = "5"

// HeaderAPI carries [API] in every request and every answer. A client also knows by it that
// ticketrail answers, and not another program at that socket.
const HeaderAPI = "Ticketrail-Api"

// A Job is one ticket for one station, waiting or ended, and a Filter selects jobs. They are those of the queue.
type (
	Job    = queue.Job
	Filter = queue.Filter
)

// Detail is everything that is stored of a job. A ticket may hold names of guests, so a listing has
// only the Job.
type Detail struct {
	Job    Job           `json:"job"`
	Ticket ticket.Ticket `json:"ticket"`
	Body   []byte        `json:"body"` // the print request as received; empty for tickets that the daemon made itself
	// Timeline is what happened to it, also on every screen that had it, in order of time.
	Timeline []Moment `json:"timeline"`
}

// A Moment is one thing that happened to a ticket.
type Moment struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"` // for people
}

// A Status is what the daemon knows of a station at this moment, apart from its queue. It is a
// copy, made when a listing asks for it.
type Status struct {
	Name         string
	Kind         string // [KindScreen], [KindKDS], [KindLog]; "" is a printer
	Address      string // as configured
	Known        bool   // an attempt was made since the start
	Up           bool   // the last attempt reached it
	Since        time.Time
	Err          string    // why it is down
	Waiting      string    // what it is waiting for
	Attempt      int       // number of the current ticket's attempt
	NextTry      time.Time // of the next attempt; zero if none is planned
	Device       *Device   // nil if the station cannot be asked for its own state
	ActiveBackup string    // the backup station that prints its tickets now; empty: it prints them itself
	Pages        int       // open pages, of a screen
}

// A Device is the state that a printer or screen reports of itself. Stations that share a printer
// have the same Device.
type Device struct {
	// State is one or two words: ready, paper_out, cover_open, busy, silent …
	State string    `json:"state"`
	Since time.Time `json:"since,omitzero"` // since when it is in this state
	Fine  bool      `json:"fine"`           // it can print
	// Conditions are all that it reports, also those that do not stop printing, such as paper_low.
	// The names are the label values of ticketrail_station_condition.
	Conditions []string `json:"conditions"`
	// Ability is the best outcome it can report for a ticket: confirmed, processed, sent or shown;
	// empty until that was detected.
	Ability string `json:"ability,omitempty"`
	Advice  string `json:"advice,omitempty"` // what the operator can do about the state
	Error   string `json:"error,omitempty"`  // why it cannot be reached
	Moved   string `json:"moved,omitempty"`  // that it was found at another address than the configured one
	// Foreign counts answers of the printer to another program while the daemon was connected.
	Foreign int `json:"foreign,omitempty"`
}

// A Condition is the state of a [Station] in one word. Of several reasons not to print, it names
// the one that the operator must act on first: see stationOf.
type Condition string

const (
	Orphaned Condition = "orphan"  // it has tickets and is not in the configuration
	OnHold   Condition = "held"    // the operator stopped it
	Down     Condition = "down"    // the last attempt failed, or the device reports that it cannot print
	Untried  Condition = "unknown" // no attempt since the daemon started
	Up       Condition = "up"
)

// A Station is a place where tickets are printed or shown (a printer, a screen, a third-party
// kitchen display), with its queue. Scripts read its JSON, so the keys stay as they are: stand_in
// is the backup.
type Station struct {
	Name       string     `json:"name"`
	Kind       string     `json:"kind,omitempty"` // [KindScreen], [KindKDS], [KindLog]; absent for a printer
	Address    string     `json:"address,omitempty"`
	State      Condition  `json:"state"`
	Since      *time.Time `json:"since,omitempty"` // since when it is in this state
	Configured bool       `json:"configured"`
	Pending    int        `json:"pending"`
	Printing   int        `json:"printing"`
	Held       int        `json:"held"` // tickets that wait for the operator to decide
	// OldestSeconds is the running time since the oldest open ticket was accepted.
	OldestSeconds float64            `json:"oldest_seconds"`
	Hold          *queue.StationHold `json:"hold,omitempty"`
	Waiting       string             `json:"waiting,omitempty"` // what it is waiting for
	Error         string             `json:"error,omitempty"`   // of the last attempt, if it failed
	Attempt       int                `json:"attempt,omitempty"`
	NextTry       *time.Time         `json:"next_try,omitempty"`
	Device        *Device            `json:"device,omitempty"`
	StandIn       string             `json:"stand_in,omitempty"`      // the backup that prints its tickets now
	StandsInFor   []string           `json:"stands_in_for,omitempty"` // stations whose tickets it prints now
	Pages         int                `json:"pages,omitempty"`         // open pages, of a screen
	Advice        string             `json:"advice,omitempty"`        // what the operator can do
	// Books are the durable counters of this station since its database was created.
	Books queue.Books `json:"books"`
}

// Fine reports whether the station prints and no ticket waits for the operator. An untried station
// counts as fine: after a start without orders nothing is known to be wrong.
func (p Station) Fine() bool { return (p.State == Up || p.State == Untried) && p.Held == 0 }

// Stations is every station, with the notices of the daemon.
type Stations struct {
	Stations []Station `json:"stations"`
	// Notices are problems of the daemon itself: a quarantined database, a full disk.
	Notices []string `json:"notices,omitempty"`
}

// PrintRejectOptions say how a refused request is printed.
type PrintRejectOptions struct {
	// Lenient prints it although its cause is not mended, as text if need be.
	Lenient bool `json:"lenient,omitempty"`
	// Version, if it is not empty, is "refused" or "printed", as the person saw it; another one is a [Conflict].
	Version string `json:"version,omitempty"`
}

// A PrintedReject is what printing a refused request has done.
type PrintedReject struct {
	Jobs  int  `json:"jobs"`  // tickets that were made
	Known bool `json:"known"` // its id was known, so only what had not printed does
}

// A Reject is a refused print request. The service does not send it again. Lists have no Body. An
// alias, so that the receiver's own type crosses the socket and cannot differ from what is stored.
type Reject = receiver.StoredReject

// ReprintOptions say how a ticket is printed again.
type ReprintOptions struct {
	Station string `json:"station,omitempty"` // that prints the copy; empty: that of the ticket
	Reason  string `json:"reason,omitempty"`
	// Version, if it is not empty, is that of the ticket as the person saw it; another one is a [Conflict].
	Version string `json:"version,omitempty"`
}

// A Reprinted is what a reprint has done.
type Reprinted struct {
	Jobs   []uint64 `json:"jobs"`             // the copy; a list, as in the answer to every change of jobs
	Latest uint64   `json:"latest,omitempty"` // the job that has replaced the ticket, whose copy it is; 0: none has
	// Later is the voids of the same check that came since, as the head of the copy says them.
	Later []string `json:"later"`
}

// Bodies of the requests that change something, and of their answers.
type (
	moveBody struct {
		IDs      []uint64 `json:"ids,omitempty"`
		Versions []string `json:"versions,omitempty"` // of IDs, as the person saw them; none: any
		From     string   `json:"from,omitempty"`
		To       string   `json:"to"`
	}
	reasonBody struct {
		Reason string `json:"reason,omitempty"`
	}
	cancelBody struct {
		Reason  string `json:"reason,omitempty"`
		Version string `json:"version,omitempty"` // as in ReprintOptions
	}
	resumeBody struct {
		Since *time.Time `json:"since,omitempty"` // of the hold, as the person saw it; null: any
	}
	jobsBody struct {
		Jobs []uint64 `json:"jobs"`
	}
)
