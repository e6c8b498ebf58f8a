package kds

import (
	"errors"
	"fmt"
	"slices"
)

// A Verb is what a page can ask for.
type Verb string

const (
	Bump       Verb = "bump"
	Undo       Verb = "undo"
	Recall     Verb = "recall"
	ItemDone   Verb = "item_done"
	ItemUndone Verb = "item_undone"
	AckVoid    Verb = "ack_void"
)

// Verbs lists every verb.
func Verbs() []Verb { return []Verb{Bump, Undo, Recall, ItemDone, ItemUndone, AckVoid} }

// A Command is one press of a cook. Delivered twice it is done once: ID says that it is the
// same press. A board looks at Job, the pass ([Expo]) at Order.
type Command struct {
	ID      string `json:"id"` // the page's, new for each press; 1 to 64 letters, digits, - _ and .
	Do      Verb   `json:"do"`
	Job     uint64 `json:"job,omitempty"`
	Order   string `json:"order,omitempty"`
	Version uint64 `json:"version"` // of the card, or the order, that was pressed
	Item    int    `json:"item,omitempty"`
}

// ErrCommand says that a command makes no sense, whatever the board holds.
var ErrCommand = errors.New("no such command")

func (c Command) check() error {
	if len(c.ID) == 0 || len(c.ID) > 64 {
		return fmt.Errorf("%w: its id has %d letters, 1 to 64 are possible", ErrCommand, len(c.ID))
	}
	for i := range len(c.ID) {
		b := c.ID[i]
		switch {
		case b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '-', b == '_', b == '.':
		default:
			return fmt.Errorf("%w: its id %.64q holds something else than letters, digits and - _ . signs", ErrCommand,
				c.ID)
		}
	}
	if !slices.Contains(Verbs(), c.Do) {
		return fmt.Errorf("%w: %.20q, there are %q", ErrCommand, c.Do, Verbs())
	}
	return nil
}

// An Outcome is what became of a command.
type Outcome string

const (
	Done     Outcome = "done"     // now, or by an earlier delivery of the same command
	Already  Outcome = "already"  // it is so already
	Conflict Outcome = "conflict" // the card is not as it was when it was pressed
	Unread   Outcome = "unread"   // it has a cancellation that was not acknowledged
	TooLate  Outcome = "too_late" // it cannot be undone any more
	Gone     Outcome = "gone"     // no such card, or no such item on it
)

// A Result is the answer to a command. None of the outcomes is an error: two cooks pressed,
// and this is how it stands.
type Result struct {
	ID      string  `json:"id"` // the command's
	Outcome Outcome `json:"outcome"`
	Card    *Card   `json:"card,omitempty"`  // as it is now; nil when gone
	Order   *Order  `json:"order,omitempty"` // the same, of an expo command
	At      string  `json:"at"`              // the state in which that is so; see Snapshot.ID
}
