package board

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// A moment is one thing that happened to a card, as it is stored.
type moment struct {
	T int64  `json:"t"`
	E string `json:"e"` // a Verb, or one of the constants below
	I int    `json:"i,omitempty"`
}

const (
	cameHere = "came"
	wasShown = "shown"
	wasSeen  = "seen"
	onPaper  = "paper"
	wentOut  = "elsewhere"

	wasReplaced = "replaced"
)

// maxTimeline bounds the moments of a card. The first half stays, because it says how the card came here;
// of the rest the latest stay.
const maxTimeline = 200

// note appends a moment to the timeline.
func (r *record) note(e string, item int) {
	if len(r.Timeline) >= maxTimeline {
		r.Timeline = slices.Delete(r.Timeline, maxTimeline/2, maxTimeline/2+1)
	}
	r.Timeline = append(r.Timeline, moment{T: time.Now().UnixMilli(), E: e, I: item})
}

// The texts of a timeline beside the moments that are stored.
const (
	wasAccepted = "accepted"
	wasSentOut  = "sent_out"
	wasReturned = "returned"
	wasTicked   = "ticked"
)

// A Moment is one line of a timeline. Pages and kds.Tell say it.
type Moment struct {
	At      int64  `json:"at"` // milliseconds since 1970
	Clock   string `json:"clock"`
	What    string `json:"what"` // the event of a moment, or one of the constants above
	Station string `json:"station,omitempty"`
	Item    string `json:"item,omitempty"`  // that was done: "2 Fish"
	Paper   string `json:"paper,omitempty"` // the station where it came out
}

// moments are the timeline of a card as people read it.
func (e *entry) moments() []Moment {
	out := appendMoment(nil, e.t.Zone, Moment{At: unixMillis(e.t.Received), What: wasAccepted})
	for _, m := range e.rec.Timeline {
		now := Moment{At: m.T, What: m.E, Station: layout.OneLine(e.rec.Station)}
		switch m.E {
		case onPaper:
			now.Paper = layout.OneLine(e.rec.Paper)
		case string(ItemDone), string(ItemUndone):
			now.Item = fmt.Sprintf("item %d", m.I)
			if m.I >= 0 && m.I < len(e.t.Lines) {
				now.Item = lineText(&e.t.Lines[m.I])
			}
		}

		out = appendMoment(out, e.t.Zone, now)
	}

	return out
}

// appendMoment appends a line, if it is known when that was.
func appendMoment(out []Moment, zone string, m Moment) []Moment {
	if m.At == 0 {
		return out
	}
	m.Clock = ticket.Clock(time.UnixMilli(m.At), zone)
	return append(out, m)
}

// lineText is an item as people say it: "2 Fish".
func lineText(l *ticket.Line) string {
	return cmp.Or(layout.OneLine(l.Quantity), "1") + " " + layout.OneLine(l.Name)
}

// timelineOf is the timeline of several cards. A moment that all of them have is there once.
func timelineOf(entries []*entry, more ...Moment) []Moment {
	out := more
	for _, e := range entries {
		out = append(out, e.moments()...)
	}
	slices.SortStableFunc(out, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return slices.Compact(out)
}

// Timeline lists the moments of the order with that key, in order of time: of all its tickets that the board still
// has.
func (b *Board) Timeline(key string) []Moment {
	if order := b.Order(key); order != nil {
		return timelineOf(order.entries(b))
	}
	return nil
}

// entries are the cards of the order that the boards still have.
func (o *Order) entries(boards ...*Board) (list []*entry) {
	for _, r := range o.refs {
		for _, b := range boards {
			if card := b.get(r.Job); card != nil && b.station == r.Station {
				list = append(list, card)
			}
		}
	}
	return list
}

// TimelineOfJob lists the moments of the card of a job, also up to 48 hours after it left the board. It is
// empty if the board does not know the job.
func (b *Board) TimelineOfJob(job uint64) ([]Moment, error) {
	card, err := b.stored(job)
	if err != nil || card == nil {
		return nil, err
	}
	return timelineOf([]*entry{card}), nil
}

// stored returns a card that is stored, also one that is no longer in memory; nil if there is none.
func (b *Board) stored(job uint64) (*entry, error) {
	if card := b.get(job); card != nil {
		return card, nil
	}
	value, found, err := b.o.KV.Get(cardKey(job))
	if err != nil || !found {
		return nil, err
	}
	return decodeRecord(value)
}
