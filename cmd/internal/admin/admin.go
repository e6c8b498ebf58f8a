// Package admin is the control API of a running daemon. With it an operator sees the state of every
// station and ticket in the kitchen, reprints, moves and cancels tickets, and holds stations.
//
// It is HTTP with JSON over a unix socket: the wire types, a [Server] that the daemon runs and a
// [Client] that the command line uses. There are no users or permissions: a process that can open
// the socket can do everything, so access is controlled by the socket's file mode and group. Every
// change is logged with the uid that the kernel reports for the connection.
//
// The package knows no printer. It gets the queue and everything else it may ask in [Options]. The
// files: admin.go the wire types, server.go the routes and limits, jobs.go, stations.go,
// screens.go, rejects.go and fields.go the answers, error.go the refusals, listen.go the socket, client.go the
// other end; page.go the page for managers, which has some of the answers and changes too, settings.go the changes of
// the configuration.
package admin

import (
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// API is the version of the control API. Client and server send theirs in [HeaderAPI] and must have
// the same one: a command line that is newer than the daemon would otherwise show fields that the
// daemon did not fill as if they were empty.
const API = "7"

// HeaderAPI carries [API] in every request and every answer. A client also knows by it that
// ticketrail answers, and not another program at that socket.
const HeaderAPI = "Ticketrail-Api"

// A Job is one ticket for one station, waiting or ended, and a Filter selects jobs. Both are types of the queue.
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
	// Timeline is the history of the ticket, also on every screen that had it, in order of time.
	Timeline []Moment `json:"timeline"`
}

// A Moment is one thing that happened to a ticket.
type Moment struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"` // for people
}

// Stations is every station.
type Stations struct {
	Stations []finding.Station `json:"stations"`
}

// PrintRejectOptions say how a refused request is printed.
type PrintRejectOptions struct {
	// Lenient prints it although its cause is not mended, as text if need be.
	Lenient bool `json:"lenient,omitempty"`
	// Venue, if it is not empty, is the name or id of the venue for which it prints, if it names a wrong one or none.
	Venue string `json:"venue,omitempty"`
	// Version, if it is not empty, is "refused" or "printed", as the person saw it; another one is a [Conflict].
	Version string `json:"version,omitempty"`
}

// A PrintedReject is the result of printing a refused request.
type PrintedReject struct {
	Jobs  int  `json:"jobs"`  // tickets that were made
	Known bool `json:"known"` // its id was known, so only tickets that had not printed do
}

// A Reject is a refused print request. The service does not send it again. Lists have no Body. An
// alias, so that the receiver's own type crosses the socket and cannot differ from the stored one.
type Reject = receiver.StoredReject

// ReprintOptions say how a ticket is printed again.
type ReprintOptions struct {
	Station string `json:"station,omitempty"` // that prints the copy; empty: the station of the ticket
	Reason  string `json:"reason,omitempty"`
	// Version, if it is not empty, is the version of the ticket that the person saw; another one is a [Conflict].
	Version string `json:"version,omitempty"`
}

// A Reprinted is the result of a reprint.
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
