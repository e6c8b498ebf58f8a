package kds

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// recordVersion is the format of a stored card. Fields are only ever added; a change an older
// reader would get wrong raises it.
const recordVersion = 1

// A record is a card as it is stored: everything, in one value.
type record struct {
	V       int             `json:"v"`
	Job     uint64          `json:"job"`
	Station string          `json:"station"`
	Place   uint64          `json:"place"`
	Version uint64          `json:"version"`
	State   CardState       `json:"state"`
	Off     uint64          `json:"off,omitempty"` // counts cards that left the board; the clock may lie
	OffAt   int64           `json:"off_at,omitempty"`
	PutAt   int64           `json:"put_at"`
	Ticket  json.RawMessage `json:"ticket"`

	Duplicate bool   `json:"duplicate,omitempty"`
	Reprint   bool   `json:"reprint,omitempty"`
	AddOn     bool   `json:"add_on,omitempty"`
	For       string `json:"for,omitempty"`
	Down      string `json:"down,omitempty"`

	Shown   bool   `json:"shown,omitempty"`
	Paper   string `json:"paper,omitempty"`
	PaperAt int64  `json:"paper_at,omitempty"`

	Done       []int       `json:"done,omitempty"` // items, by number, sorted
	Acked      bool        `json:"acked,omitempty"`
	LastChange *lastChange `json:"back,omitempty"`  // how to take the last change back
	CommandIDs []string    `json:"heard,omitempty"` // ids of the commands that were done, the latest last
}

// back is the last change of a card.
type lastChange struct {
	Do   Verb  `json:"do"`
	Item int   `json:"item,omitempty"`
	At   int64 `json:"at"`
}

// mostHeard bounds the commands a card remembers. An older one does not fit its version.
const maxCommandIDs = 32

func newRecord(d ticket.Delivery, place uint64) record {
	return record{
		V: recordVersion, Job: d.Job, Place: place, Version: 1, State: Open, PutAt: time.Now().UnixMilli(),
		Duplicate: d.Doubt, Reprint: d.Reprint, For: d.For, Down: d.Down,
	}
}

// clone is a copy that can be changed.
func (r *record) clone() record {
	c := *r
	c.Done, c.CommandIDs = slices.Clone(r.Done), slices.Clone(r.CommandIDs)
	return c
}

func (r *record) encode() ([]byte, error) { return json.Marshal(r) }

func decodeRecord(value []byte) (record, ticket.Ticket, error) {
	var was struct {
		record
		PaperTries int `json:"paper_tries"` // of an older version: copies of which it is not known what came out
	}
	if err := json.Unmarshal(value, &was); err != nil {
		return record{}, ticket.Ticket{}, fmt.Errorf("decode card: %w", err)
	}
	r := was.record
	r.Duplicate = r.Duplicate || was.PaperTries > 0
	if r.V < 1 || r.V > recordVersion {
		return record{}, ticket.Ticket{}, fmt.Errorf("decode card: format %d, this program knows 1 to %d: a newer ticketrail wrote it", r.V, recordVersion)
	}
	if err := r.check(); err != nil {
		return record{}, ticket.Ticket{}, fmt.Errorf("decode card: %w", err)
	}
	t, err := ticket.Unmarshal(r.Ticket)
	if err != nil {
		return record{}, ticket.Ticket{}, fmt.Errorf("decode card: %w", err)
	}
	return r, t, nil
}

// mostCount is what pages count to: in floating point.
const maxSafeInteger = 1<<53 - 1

// check refuses what would put other cards into the wrong order, or be swept up unseen.
func (r *record) check() error {
	switch {
	case r.State != Open && r.State != Bumped && r.State != Elsewhere:
		return fmt.Errorf("its state is %.20q", r.State)
	case max(r.Job, r.Place, r.Version, r.Off) > maxSafeInteger:
		return fmt.Errorf("job %d, place %d, version %d or off %d is more than can be", r.Job, r.Place, r.Version,
			r.Off)
	}
	return nil
}
