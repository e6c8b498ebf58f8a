package source

import (
	"strconv"
	"time"
)

// The two addresses of a relay for boxes. HEAD of the first says how much waits and takes nothing.
const (
	PathNext = "/v1/next"
	PathAck  = "/v1/ack"
)

// PollTime is how long a relay keeps a box waiting for a request.
const PollTime = 30 * time.Second

// BodyTime is for the body of an answer. Lines of kitchens are slow, and a request that never comes keeps all behind
// it.
func BodyTime(size int64) time.Duration {
	return time.Minute + time.Duration(max(0, min(size, maxBody)))*time.Second/(4<<10)
}

// The headers of both sides. Texts of the relay's callers are quoted as in Go source, in ASCII, so that no byte of
// it can end a header.
const (
	HeaderBox      = "Ticketrail-Box"      // of a box: a [Box] as JSON
	HeaderVenue    = "Ticketrail-Venue"    // of a box: the venue that it prints for
	HeaderHandle   = "Ticketrail-Handle"   // the name of the request in its acknowledgement
	HeaderID       = "Ticketrail-Id"       // its id, for the box's log
	HeaderDevice   = "Ticketrail-Device"   //
	HeaderReceived = "Ticketrail-Received" // by the relay's clock: RFC 3339 with nanoseconds
	HeaderAge      = "Ticketrail-Age"      // since it was stored, by the servers' clocks: a Go duration
	HeaderBehind   = "Ticketrail-Behind"   // how many requests wait behind this one
	HeaderRefused  = "Ticketrail-Refused"  // "true": the body is a receiver.Reject as JSON
)

// A Box is the report of a box about itself, sent with each request.
type Box struct {
	ID string `json:"id"` // of this process: two that alternate are two boxes with one token
	Report
}

// A Report is how a box is.
type Report struct {
	Version  string `json:"version"`
	Problems int    `json:"problems"` // the findings that need a person
}

// An Ack is the body of an acknowledgement.
type Ack struct {
	Handle string `json:"handle"`
	Result string `json:"result"` // Stored or Refused
	Reason string `json:"reason,omitempty"`
}

// The results of an [Ack]. After either the request is not handed out again.
const (
	Stored  = "stored"
	Refused = "refused" // it can never be taken
)

func unquote(s string) string {
	if text, err := strconv.Unquote(s); err == nil {
		return text
	}
	return s
}
