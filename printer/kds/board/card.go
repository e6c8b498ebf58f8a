package board

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// A CardState says where a card is.
type CardState string

const (
	Open   CardState = "open"   // on the board
	Bumped CardState = "bumped" // done; it can be recalled
	// Elsewhere: no page ever confirmed the card, and another station has begun to print or show the
	// ticket instead. Whether that worked does not matter here. It can be recalled.
	Elsewhere CardState = "elsewhere"
)

// A Card is one ticket as pages show it. A Card is never changed after it was made, so it may be
// read without a lock for any time. The package documentation describes its JSON.
type Card struct {
	Job     uint64    `json:"job"`     // the id of the job in the queue; also the card's id
	Place   uint64    `json:"place"`   // sorts the board; a recalled card gets its old place back
	Version uint64    `json:"version"` // counts changes; a command names the version it was pressed on
	State   CardState `json:"state"`
	Off     uint64    `json:"off,omitempty"`    // sorts the recall list; 0 while open
	OffAt   int64     `json:"off_at,omitempty"` // when it left the board
	Station string    `json:"station"`
	Order   string    `json:"order"` // the same for all cards of one order, on every board

	Kind        ticket.Kind `json:"kind,omitempty"` // "" is an order
	Venue       string      `json:"venue,omitempty"`
	Number      string      `json:"number,omitempty"` // with #
	Table       string      `json:"table,omitempty"`  // with the word Table in front
	Server      string      `json:"server,omitempty"`
	Type        string      `json:"type,omitempty"`
	Guests      string      `json:"guests,omitempty"`
	Destination string      `json:"destination,omitempty"`
	Course      string      `json:"course,omitempty"`
	Request     string      `json:"request,omitempty"` // the end of its id, short enough to read out

	Received int64    `json:"received"`          // the age of the ticket counts from here
	Clock    string   `json:"clock,omitempty"`   // the same as time of day in the venue's zone: 21:49
	PutAt    int64    `json:"put_at"`            // when it came to this board
	Shown    bool     `json:"shown,omitempty"`   // a live page has confirmed that it holds the card
	Courses  []string `json:"courses,omitempty"` // the courses of its items, in order, each once

	Duplicate bool   `json:"duplicate,omitempty"` // POSSIBLE DUPLICATE
	Reprint   bool   `json:"reprint,omitempty"`   // REPRINT: an operator asked for this copy
	AddOn     bool   `json:"add_on,omitempty"`    // an earlier ticket of the order is or was on the board
	Void      bool   `json:"void,omitempty"`      // the whole ticket is a cancellation
	Refire    bool   `json:"refire,omitempty"`
	NoRoute   bool   `json:"no_route,omitempty"` // no route matched any of its items
	For       string `json:"for,omitempty"`      // the station whose backup this screen is
	Down      string `json:"down,omitempty"`     // what of that station is down: "printer", "screen"
	Paper     string `json:"paper,omitempty"`    // the station where it came out while this screen was dark
	PaperAt   int64  `json:"paper_at,omitempty"`

	// MustAck says that the card has a cancellation that nobody has acknowledged: it cannot be
	// bumped, and pages show it in red. Acked says that it was acknowledged.
	MustAck bool `json:"must_ack,omitempty"`
	Acked   bool `json:"acked,omitempty"`
	// Undo is the last change, as long as it can be undone: until UndoUntil.
	Undo      Verb  `json:"undo,omitempty"`
	UndoUntil int64 `json:"undo_until,omitempty"`

	Notes []string `json:"notes,omitempty"` // may hold line breaks
	Items []Item   `json:"items,omitempty"`
	// Raw is the record as received, if nothing printable was found in it or it has a key twice.
	Raw string `json:"raw,omitempty"`
}

// An Item is one line of a card: an item (depth 0) or a modifier of the item before it.
type Item struct {
	I        int      `json:"i"` // its index on the card
	Depth    int      `json:"depth,omitempty"`
	Quantity string   `json:"quantity"` // a decimal, or text; never empty
	Name     string   `json:"name"`     // never empty
	Notes    []string `json:"notes,omitempty"`
	Seat     string   `json:"seat,omitempty"`
	Course   string   `json:"course,omitempty"` // its own, else the ticket's; empty for a modifier
	Void     bool     `json:"void,omitempty"`
	Refire   bool     `json:"refire,omitempty"`
	NoRoute  bool     `json:"no_route,omitempty"`
	Of       string   `json:"of,omitempty"`  // what it modifies, if that item is not on the card
	Raw      bool     `json:"raw,omitempty"` // Name is the item's JSON, for no name was found
	Done     bool     `json:"done,omitempty"`
}

// newCard makes the card of a record, as pages get it. Every text of the order goes through
// layout.OneLine or layout.Notes here, so no other place has to.
func newCard(r *record, t *ticket.Ticket, undoFor time.Duration) *Card {
	c := &Card{
		Job: r.Job, Place: r.Place, Version: r.Version, State: r.State, Off: r.Off, OffAt: r.OffAt,
		Station: layout.OneLine(r.Station), Order: orderKey(t),
		Kind: t.Kind, Venue: layout.OneLine(t.VenueName), Number: number(t), Table: table(t),
		Server: layout.OneLine(t.Server), Type: layout.OneLine(t.Type), Guests: layout.OneLine(t.Guests),
		Destination: layout.OneLine(t.Destination), Course: layout.OneLine(t.Course),
		Request:  layout.OneLine(ticket.Short(t.Request)),
		Received: unixMillis(t.Received), Clock: clockText(t.Received, t.Zone), PutAt: r.PutAt, Shown: r.Shown,
		Duplicate: r.Duplicate, Reprint: r.Reprint, AddOn: r.AddOn, Void: t.Void || t.Kind == ticket.Correction,
		Refire: t.Refire, NoRoute: allUnrouted(t.Lines), For: layout.OneLine(r.For), Down: layout.OneLine(r.Down),
		Paper: layout.OneLine(r.Paper), PaperAt: r.PaperAt,
		Notes: layout.Notes(slices.Concat(t.Notes, t.Later)), Items: items(t, r.Done), Raw: layout.OneLine(t.Raw),
	}
	for i := range c.Items {
		if s := c.Items[i].Course; s != "" && !slices.Contains(c.Courses, s) {
			c.Courses = append(c.Courses, s)
		}
	}
	if hasVoid(t) {
		c.Acked, c.MustAck = r.Acked, !r.Acked
	}
	if r.LastChange != nil {
		c.Undo, c.UndoUntil = r.LastChange.Do, r.LastChange.At+undoFor.Milliseconds()
	}
	return c
}

// items are the lines of a ticket as pages get them. done are the indexes of the items that are
// done; a modifier is done with its item.
func items(t *ticket.Ticket, done []int) []Item {
	out := make([]Item, 0, len(t.Lines))
	isDone := false
	for i := range t.Lines {
		l := &t.Lines[i]
		it := Item{
			I: i, Depth: max(l.Depth, 0), Quantity: layout.OneLine(l.Quantity), Name: layout.OneLine(l.Name),
			Notes: layout.Notes(l.Notes),
			Seat:  layout.OneLine(l.Seat), Course: layout.OneLine(l.Course), Of: layout.OneLine(l.Parent),
			Void: l.Void, Refire: l.Refire, NoRoute: l.NoRoute, Raw: l.Raw,
		}
		if it.Quantity == "" {
			it.Quantity = "1"
		}
		if it.Name == "" { // or its quantity would read as part of the line above
			it.Name = "(no name)"
		}
		if it.Depth == 0 {
			isDone = slices.Contains(done, i)
			if it.Course == "" {
				it.Course = layout.OneLine(t.Course)
			}
		}
		it.Done = isDone
		out = append(out, it)
	}
	return out
}

// hasVoid reports whether a ticket cancels something, which a cook must acknowledge.
func hasVoid(t *ticket.Ticket) bool {
	return t.Void || t.Kind == ticket.Correction ||
		slices.ContainsFunc(t.Lines, func(l ticket.Line) bool { return l.Void })
}

// allUnrouted reports whether no route matched any line. Only then the card has the banner;
// otherwise the single lines say it.
func allUnrouted(lines []ticket.Line) bool {
	return len(lines) > 0 && !slices.ContainsFunc(lines, func(l ticket.Line) bool { return !l.NoRoute })
}

func number(t *ticket.Ticket) string { return ticket.NumberLabel(layout.OneLine(t.Number)) }

func table(t *ticket.Ticket) string { return ticket.TableLabel(layout.OneLine(t.Table), t.Type) }

// orderKey identifies the order of a ticket, with the same result on every board. Tickets belong to
// one order if they have the same number that people call out; without a number, the same table;
// without both, the same request. The venue is part of it, because one box can serve several.
func orderKey(t *ticket.Ticket) string {
	words := []string{"request", t.Venue, t.Request}
	switch {
	case t.Kind == ticket.Slip || t.Kind == ticket.Test: // they belong to no order
		words = append(words, string(t.Kind), t.Received.String())
	case number(t) != "":
		words = []string{"number", t.Venue, number(t)}
	case t.Table != "":
		words = []string{"table", t.Venue, strings.ToLower(ticket.TableLabel(layout.OneLine(t.Table), ""))}
	}
	// Each word is preceded by its length, so that no two lists of words give the same bytes. A
	// hash, because the texts may be long.
	h := sha256.New()
	for _, w := range words {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(w)))
		h.Write(n[:])
		h.Write([]byte(w))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
