package board

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Verb is the action that a command asks for.
type Verb string

const (
	Bump       Verb = "bump"
	Undo       Verb = "undo"
	Recall     Verb = "recall"
	ItemDone   Verb = "item_done"
	ItemUndone Verb = "item_undone"
	AckVoid    Verb = "ack_void"
	AckAlarm   Verb = "ack_alarm"
	Tick       Verb = "tick"
	Untick     Verb = "untick"
)

// Verbs returns all verbs.
func Verbs() []Verb {
	return []Verb{Bump, Undo, Recall, ItemDone, ItemUndone, AckVoid, AckAlarm, Tick, Untick}
}

// A Command is one press of a cook. ID identifies the press: a command that is delivered twice is done once. ItemDone
// and ItemUndone name a Job, the others an Order; Tick and Untick also the station of a part of it. Version makes sure
// that the cook saw the ticket or the order as it is: a command for an older version changes nothing.
type Command struct {
	ID          string `json:"id"` // made by the page, new for each press; 1 to 64 letters, digits, - _ and .
	Do          Verb   `json:"do"`
	Order       string `json:"order,omitempty"`
	Version     uint64 `json:"version"` // of the order or, of an item, the ticket on which the cook pressed
	Job         uint64 `json:"job,omitempty"`
	Item        int    `json:"item,omitempty"`
	PartStation string `json:"part,omitempty"` // with Tick and Untick: its station names a part
}

// ErrCommand says that a command is malformed, whatever is on the board. A page must not send it
// again.
var ErrCommand = errors.New("no such command")

// check refuses commands that no board could do. Ids are stored with the card, so their length and alphabet
// are bounded.
func (c Command) check() error {
	const allowed = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_."
	if c.ID == "" || len(c.ID) > 64 || strings.Trim(c.ID, allowed) != "" {
		return fmt.Errorf("%w: id %.65q: want 1 to 64 letters, digits and -_. only", ErrCommand, c.ID)
	}
	if !slices.Contains(Verbs(), c.Do) {
		return fmt.Errorf("%w: do is %.20q; want one of %q", ErrCommand, c.Do, Verbs())
	}
	return nil
}

// An Outcome is the fate of a command.
type Outcome string

const (
	Done           Outcome = "done"     // done now, or by an earlier delivery of the same command
	Already        Outcome = "already"  // it is already so
	Conflict       Outcome = "conflict" // it has changed since the version that the cook saw
	Unacknowledged Outcome = "unread"   // a cancellation, a change or an allergy must be acknowledged first
	TooLate        Outcome = "too_late" // the last change is too old to be undone
	Gone           Outcome = "gone"     // there is no such order, ticket, item or part
)

// A Result answers a command. No outcome is an error: two cooks pressed at the same time, and Order says
// how it is now.
type Result struct {
	ID      string  `json:"id"` // of the command
	Outcome Outcome `json:"outcome"`
	Order   *Order  `json:"order,omitempty"` // as it is now; nil if there is none
	At      string  `json:"at"`              // the id of the state in which that is so, as Snapshot.ID
}
