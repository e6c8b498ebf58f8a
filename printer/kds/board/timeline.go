package board

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// A moment is one thing that happened to a card. E is stored, so its values never change.
type moment struct {
	T int64  `json:"t"`
	E string `json:"e"` // a Verb, or one of the constants below
	I int    `json:"i,omitempty"`
}

const (
	cameHere = "put"
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

// A Moment is one line of a timeline.
type Moment struct {
	At    int64  `json:"at"` // milliseconds since 1970
	Clock string `json:"clock"`
	Text  string `json:"text"` // for people; it may have names of the order
}

// moments are the timeline of a card as people read it.
func (e *entry) moments() []Moment {
	var out []Moment
	out = appendMoment(out, unixMillis(e.t.Received), e.t.Zone, "accepted")
	for _, m := range e.rec.Timeline {
		out = appendMoment(out, m.T, e.t.Zone, e.momentText(m))
	}
	return out
}

// appendMoment appends a line, if it is known when that was.
func appendMoment(out []Moment, at int64, zone, text string) []Moment {
	if at == 0 {
		return out
	}
	return append(out, Moment{at, ticket.Clock(time.UnixMilli(at), zone), text})
}

// momentText says what happened.
func (e *entry) momentText(m moment) string {
	station := layout.OneLine(e.rec.Station)
	item := fmt.Sprintf("item %d", m.I)
	if m.I >= 0 && m.I < len(e.t.Lines) {
		item = lineText(&e.t.Lines[m.I])
	}
	return cmp.Or(map[string]string{
		cameHere:           "on the board of " + station,
		wasShown:           "shown on " + station,
		wasSeen:            "first seen on " + station + e.seenFor(),
		onPaper:            "on paper at " + layout.OneLine(e.rec.Paper) + ": the screen was dark",
		wentOut:            "came out elsewhere: the screen was dark",
		string(ItemDone):   item + " done at " + station,
		string(ItemUndone): item + " not done at " + station,
		string(AckVoid):    "VOID acknowledged at " + station,
		string(AckAlarm):   "allergy acknowledged at " + station,
		string(Bump):       "bumped at " + station,
		string(Undo):       "undone at " + station,
		string(Recall):     "recalled at " + station,
		wasReplaced:        "replaced by a changed ticket",
	}[m.E], m.E) // a newer version may have stored another
}

// seenFor says for how long a card was on the visible page, up to its last change.
func (e *entry) seenFor() string {
	d := time.Duration(e.rec.SeenFor) * time.Millisecond
	if d < time.Second {
		return ""
	}
	return ", visible for " + d.Round(time.Second).String()
}

// lineText is an item as people say it: "2 Fish".
func lineText(l *ticket.Line) string {
	name, quantity := layout.OneLine(l.Name), layout.OneLine(l.Quantity)
	if quantity == "" {
		quantity = "1"
	}
	return quantity + " " + name
}

// timelineOf is the timeline of several cards. What all of them have at the same moment is there once.
func timelineOf(entries []*entry, more ...Moment) []Moment {
	out := more
	for _, e := range entries {
		out = append(out, e.moments()...)
	}
	slices.SortStableFunc(out, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return slices.Compact(out)
}

// Timeline says what happened to an order, in order of time: with the key of an order, to all tickets of it
// that the board still has.
func (b *Board) Timeline(key string) []Moment {
	if o := b.Order(key); o != nil {
		return timelineOf(o.entries(b))
	}
	return nil
}

// entries are the cards of the order that the boards still have.
func (o *Order) entries(boards ...*Board) (list []*entry) {
	for _, r := range o.refs {
		for _, b := range boards {
			if e := b.get(r.Job); e != nil && b.station == r.Station {
				list = append(list, e)
			}
		}
	}
	return list
}

// TimelineOfJob says what happened to the card of a job, also up to 48 hours after it left the board. It is
// empty if the board does not know the job.
func (b *Board) TimelineOfJob(job uint64) ([]Moment, error) {
	e, err := b.stored(job)
	if err != nil || e == nil {
		return nil, err
	}
	return timelineOf([]*entry{e}), nil
}

// stored returns a card that is stored, also one that is no longer in memory; nil if there is none.
func (b *Board) stored(job uint64) (*entry, error) {
	if e := b.get(job); e != nil {
		return e, nil
	}
	value, found, err := b.o.KV.Get(cardKey(job))
	if err != nil || !found {
		return nil, err
	}
	return decodeRecord(value)
}
