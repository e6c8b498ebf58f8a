package push

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// DocumentVersion is the version of the documents that [Display] posts; schema.json describes them (JSON
// Schema, draft 2020-12). Within a version fields are only added, and a reader must ignore fields it does
// not know.
const DocumentVersion = 1

// A Document is one ticket as a third-party kitchen display receives it. It is the same, byte for
// byte, at each attempt, because a display that knows the key may compare; the values of one
// attempt are in headers. Texts are free of control characters; notes may contain line breaks.
type Document struct {
	Version int    `json:"version"`
	ID      string `json:"id"`             // the Idempotency-Key
	Job     uint64 `json:"job"`            // by which operators of ticketrail ask for it
	Kind    string `json:"kind"`           // order, slip, test
	Station string `json:"station"`        // the station it was routed to
	Down    string `json:"down,omitempty"` // the part of Station that is down, if this display is its backup
	// RefusedBy are the stations that refused the ticket, so that it came here, in order.
	RefusedBy []string `json:"refused_by,omitempty"`

	Reprint bool `json:"reprint"` // an operator asked for one more copy
	Void    bool `json:"void"`    // all of it is a cancellation
	Refire  bool `json:"refire"`

	Venue   DocumentVenue `json:"venue"`
	Device  string        `json:"device,omitempty"`  // the terminal that sent it
	Request string        `json:"request,omitempty"` // the point of sale's id of the request
	Record  string        `json:"record,omitempty"`  // its id of the record in that request
	Order   DocumentOrder `json:"order"`
	Notes   []string      `json:"notes"`

	ReceivedAt time.Time      `json:"received_at"`        // UTC
	Timezone   string         `json:"timezone,omitempty"` // the venue's, of the tz database
	Lines      []DocumentLine `json:"lines"`
	// Unreadable is the record as text, if nothing to print was found in it.
	Unreadable string `json:"unreadable,omitempty"`
	// Raw is the record as the point of sale sent it, if raw is set for the station.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// DocumentVenue is where the order was taken.
type DocumentVenue struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// DocumentOrder describes the order. Fields that the point of sale did not send are left out.
type DocumentOrder struct {
	Number      string `json:"number,omitempty"` // the number that people call out
	Table       string `json:"table,omitempty"`
	Server      string `json:"server,omitempty"`
	Type        string `json:"type,omitempty"`
	Guests      string `json:"guests,omitempty"`
	Customer    string `json:"customer,omitempty"`
	Promised    string `json:"promised,omitempty"` // a time as RFC 3339 has it, or a text as sent
	Course      string `json:"course,omitempty"`
	Destination string `json:"destination,omitempty"` // the printer that the point of sale named
}

// DocumentLine is one item (depth 0), or a modifier of the item before it.
type DocumentLine struct {
	Depth    int      `json:"depth"`
	Quantity string   `json:"quantity"` // a decimal, never negative; text where it is no number
	Name     string   `json:"name"`
	NameRaw  bool     `json:"name_raw,omitempty"` // no name was found: name is the item's JSON
	Notes    []string `json:"notes"`
	Seat     string   `json:"seat,omitempty"`
	Course   string   `json:"course,omitempty"`
	Void     bool     `json:"void"`
	Refire   bool     `json:"refire"`
	NoRoute  bool     `json:"no_route,omitempty"` // no route matched it; it came through the fallback
}

// NewDocument returns the document of a delivery. raw is the original record; it is left out if it
// is not valid JSON. Texts are cleaned in the same way as on a card; the kind and the station are
// written out, because the reader does not know this program's defaults.
func NewDocument(d ticket.Delivery, raw json.RawMessage) Document {
	shown := &d.Ticket
	one := layout.OneLine
	doc := Document{
		Version: DocumentVersion, ID: deliveryKey(d), Job: d.Job, Kind: "order", Station: one(d.Station),
		Reprint: d.Reprint, Void: shown.Void, Refire: shown.Refire,
		Venue:  DocumentVenue{ID: one(shown.Venue), Name: one(shown.VenueName)},
		Device: one(shown.Device), Request: one(shown.Request), Record: one(shown.Record),
		Order: DocumentOrder{
			Number: one(shown.Number), Table: one(shown.Table), Server: one(shown.Server), Type: one(shown.Type),
			Guests: one(shown.Guests), Customer: one(shown.Customer), Promised: one(shown.Promised),
			Course: one(shown.Course), Destination: one(shown.Destination),
		},
		Notes:      notes(shown.Later.Texts(), []string{ticket.Question(shown.MayCancel)}, shown.Heads(), shown.Notes),
		ReceivedAt: shown.Received.UTC(), Timezone: one(shown.Zone),
		Lines: make([]DocumentLine, 0, len(shown.Lines)), Unreadable: one(shown.Raw),
	}

	if shown.Kind != ticket.Order {
		doc.Kind = one(string(shown.Kind))
	}

	// The display is the backup of another station: it must show whose ticket this is.
	if d.For != "" {
		doc.Station, doc.Down = one(d.For), one(d.Down)
	}

	for _, name := range d.RefusedBy {
		doc.RefusedBy = append(doc.RefusedBy, one(name))
	}

	if json.Valid(raw) {
		doc.Raw = raw
	}

	for i := range shown.Lines {
		line := &shown.Lines[i]
		doc.Lines = append(doc.Lines, DocumentLine{
			Depth: max(line.Depth, 0), Quantity: cmp.Or(one(line.Quantity), "1"),
			Name: cmp.Or(one(line.Name), "(no name)"), NameRaw: line.Raw,
			Notes: notes([]string{ticket.Question(line.MayCancel)}, line.Notes),
			Seat:  one(line.Seat), Course: one(line.Course),
			Void: line.Void, Refire: line.Refire, NoRoute: line.NoRoute,
		})
	}

	return doc
}

// notes is an empty list and not nil if there are none, so that readers need not distinguish null from none.
func notes(all ...[]string) []string {
	return append([]string{}, layout.Notes(slices.Concat(all...))...)
}

// deliveryKey is the Idempotency-Key of a ticket: the job's id and a hash. The hash distinguishes
// it from the same job id of another installation, or of this one after its database was lost and
// ids began again: with an equal key the display would take a new ticket for one it already has. It
// is the same at each attempt and after each restart.
func deliveryKey(d ticket.Delivery) string {
	of := &d.Ticket
	return strconv.FormatUint(d.Job, 10) + "-" + ticket.Hash(d.Station, of.Venue, of.Device, of.Request, of.Record,
		string(of.Kind), strconv.FormatInt(of.Received.UnixNano(), 10))
}
