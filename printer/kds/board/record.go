package board

import (
	"encoding/json"
	"fmt"
	"slices"

	"ticketrail/queue/ticket"
)

// recordVersion is the version of the stored format of cards, sent orders and pairings. Fields are
// only added. A change that an older reader would misunderstand must raise it.
const recordVersion = 1

// A record is a card as it is stored: all of it, in one value.
type record struct {
	V       int    `json:"v"`
	Job     uint64 `json:"job"`
	Station string `json:"station"`
	Place   uint64 `json:"place"`
	Version uint64 `json:"version"`
	State   State  `json:"state"`
	// counts cards that left the board; times cannot sort them, clocks are set back
	Departure  uint64          `json:"departure,omitempty"`
	DepartedAt int64           `json:"departed_at,omitempty"`
	CameAt     int64           `json:"came_at"`
	Ticket     json.RawMessage `json:"ticket"`

	Duplicate bool   `json:"duplicate,omitempty"`
	Reprint   bool   `json:"reprint,omitempty"`
	For       string `json:"for,omitempty"`
	Down      string `json:"down,omitempty"`
	// stations that refused the ticket, so that it came here
	RefusedBy []string `json:"refused_by,omitempty"`

	Shown bool `json:"shown,omitempty"`
	// Paper is the station where it came out while this screen was dark.
	Paper string `json:"paper,omitempty"`

	SeenAt int64 `json:"seen_at,omitempty"` // when it was first on the visible sheet

	Done         []int       `json:"done,omitempty"` // indexes of the items that are done, sorted
	AckedAt      int64       `json:"acked_at,omitempty"`
	AlarmAckedAt int64       `json:"alarm_acked_at,omitempty"`
	DepartedBy   string      `json:"departed_by,omitempty"` // id of the command that bumped its order
	LastChange   *lastChange `json:"last_change,omitempty"` // that undo would reverse
	CommandIDs   []string    `json:"command_ids,omitempty"` // ids of the commands that were done, the latest last
	Timeline     []moment    `json:"timeline,omitempty"`
}

// lastChange is the latest command that changed a card.
type lastChange struct {
	Do   Verb   `json:"do"`
	Item int    `json:"item,omitempty"`
	At   int64  `json:"at"`
	By   string `json:"by,omitempty"` // the command's id
	// Jobs are all cards that the command changes. If it was interrupted, its next delivery changes the rest.
	Jobs []uint64 `json:"jobs,omitempty"`
}

// maxCommandIDs bounds the command ids a card remembers. An older command that is delivered again
// does not match the card's version and so changes nothing.
const maxCommandIDs = 32

// clone returns a copy that can be changed without changing r.
func (r *record) clone() record {
	c := *r
	c.Done, c.CommandIDs, c.Timeline = slices.Clone(r.Done), slices.Clone(r.CommandIDs), slices.Clone(r.Timeline)
	return c
}

// doneAt is when an item was marked done; 0 if that is not stored.
func (r *record) doneAt(item int) int64 {
	for _, m := range slices.Backward(r.Timeline) {
		if m.E == string(ItemDone) && m.I == item {
			return m.T
		}
	}
	return 0
}

// decodeRecord reads a stored card and its ticket. It checks both, because one bad value would sort
// or hide other cards.
func decodeRecord(value []byte) (*entry, error) {
	var rec record
	if err := json.Unmarshal(value, &rec); err != nil {
		return nil, fmt.Errorf("decode card: %w", err)
	}
	if rec.V != recordVersion {
		return nil, fmt.Errorf("decode card: format %d, want %d: another ticketrail wrote it", rec.V, recordVersion)
	}
	if err := rec.check(); err != nil {
		return nil, fmt.Errorf("decode card: %w", err)
	}

	t, err := ticket.Unmarshal(rec.Ticket)
	if err != nil {
		return nil, fmt.Errorf("decode card: %w", err)
	}

	return &entry{rec, &t, namesOf(&t, rec.Job)}, nil
}

// maxSafeInteger is the largest integer that JavaScript represents exactly. A larger number would
// be rounded in the page, whose commands would then name a card that does not exist.
const maxSafeInteger = 1<<53 - 1

// check refuses records that would corrupt the order of other cards, or that no list would show.
func (r *record) check() error {
	switch {
	case r.State != Open && r.State != Bumped && r.State != Elsewhere && r.State != Replaced:
		return fmt.Errorf("unknown state %.20q", r.State)
	case max(r.Job, r.Place, r.Version, r.Departure) > maxSafeInteger:
		return fmt.Errorf("job %d, place %d, version %d or departure %d is larger than 2^53-1", r.Job, r.Place,
			r.Version, r.Departure)
	}
	return nil
}
