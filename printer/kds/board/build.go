package board

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// A builder makes one order. Every text of the tickets goes through
// layout.OneLine or layout.Notes here, so no other place has to.
type builder struct {
	look  *Look
	g     *group
	first map[string]int // by request: its first card
	cards []int          // the indexes of its cards in g: those that are here, or that left at one time
}

// order makes the order, without its version.
func (b *builder) order() *Order {
	first := &b.g.members[b.cards[0]]
	o := &Order{Key: b.g.key, State: first.state, Kind: first.t.Kind, Tickets: []Ticket{},
		Received: cmp.Or(unixMillis(first.t.Received), first.rec.CameAt),
		Clock:    ticket.Clock(first.t.Received, first.t.Zone), Place: first.rec.Place}
	for n, i := range b.cards {
		m := &b.g.members[i]
		b.describe(o, m)
		if n == 0 && m.state != Open {
			o.Key += "~" + strconv.FormatUint(m.departure, 10)
		}
		if o.Departure = max(o.Departure, m.departure); o.Departure == m.departure {
			o.DepartedAt = m.departedAt
		}
		if last := m.rec.LastChange; last != nil && undoable(last.Do) &&
			last.At+UndoFor.Milliseconds() > o.UndoUntil {
			o.Undo, o.UndoUntil = last.Do, last.At+UndoFor.Milliseconds()
		}

		o.refs = append(o.refs, m.ref())
		if band := b.band(i); band != nil {
			o.Voids = append(o.Voids, *band)
			o.MustAckVoid = o.MustAckVoid || band.AckedAt == 0
		}

		b.addTicket(o, i)
	}

	if first.t.IsList {
		o.Kind, o.Number = openOrders, ""
	}
	if o.State == Open {
		b.noteAddsToBumped(o)
	}

	b.alarms(o)
	return o
}

// tableArrow is between the tables of an order.
const tableArrow = " → "

// describe fills in the fields that earlier cards left empty: one till sends the server's name, another does not.
// DineIn follows from Type; Rush, Requests and AlsoAt are of all cards.
func (b *builder) describe(o *Order, m *member) {
	t := m.t
	if now := table(t); now != "" && o.Table != "" { // the guests may have changed tables
		first, _, _ := strings.Cut(o.Table, tableArrow)
		at, was := strings.TrimPrefix(now, "Table "), strings.TrimPrefix(first, "Table ")
		if o.Table = first; !strings.EqualFold(at, was) { // one till writes B10, another one b10
			o.Table += tableArrow + at
		}
	}

	o.Number, o.Table = cmp.Or(o.Number, number(t)), cmp.Or(o.Table, table(t))
	o.Type = cmp.Or(o.Type, layout.OneLine(t.Type))
	o.Server = cmp.Or(o.Server, layout.OneLine(t.Server))
	o.Guests = cmp.Or(o.Guests, layout.OneLine(t.Guests))
	o.Venue = cmp.Or(o.Venue, layout.OneLine(t.VenueName))
	o.Destination = cmp.Or(o.Destination, layout.OneLine(t.Destination))
	o.Course = cmp.Or(o.Course, layout.OneLine(t.Course))
	o.Customer = cmp.Or(o.Customer, layout.OneLine(t.Customer))

	o.Rush = o.Rush || t.Rush && !t.Void
	o.DineIn = ordinary(t) && !ticket.LeavesHouse(o.Type)
	if text := layout.OneLine(ticket.Short(t.Request)); text != "" && !slices.Contains(o.Requests, text) {
		o.Requests = append(o.Requests, text)
	}

	for _, station := range t.AlsoAt {
		if text := layout.OneLine(station); text != m.rec.Station && !slices.Contains(o.AlsoAt, text) {
			o.AlsoAt = append(o.AlsoAt, text)
		}
	}
}

// band describes the lines that the card cancels or the card that it replaces; nil if there are none.
func (b *builder) band(i int) *Band {
	m := &b.g.members[i]
	if !mustAck(m.t) {
		return nil
	}

	v := &Band{Job: m.rec.Job, Clock: ticket.Clock(m.t.Received, m.t.Zone), Changed: m.t.Changed != nil,
		Whole: m.t.Void && len(m.t.Lines) == 0, AckedAt: m.rec.AckedAt}
	lineAboveIsVoid := false
	for _, l := range m.t.Lines {
		if l.Void && (l.Depth == 0 || !lineAboveIsVoid) {
			v.Lines = append(v.Lines, lineText(&l))
		}
		lineAboveIsVoid = l.Void
	}

	// The time of the last bump before this card came. Only a bump sets DepartedBy, and removeReplaced keeps it, so a
	// replaced card that has it was bumped before.
	bumpedAt := int64(0)
	for j := range b.g.members {
		card := &b.g.members[j]
		gone := card.state == Bumped || card.state == Replaced && card.rec.DepartedBy != ""
		if gone && !card.t.Void && card.rec.Job != m.rec.Job && card.departedAt <= m.rec.CameAt {
			bumpedAt = max(bumpedAt, card.departedAt)
		}
	}
	if bumpedAt != 0 {
		v.BumpedClock = ticket.Clock(time.UnixMilli(bumpedAt), m.t.Zone)
	}

	return v
}

// noteAddsToBumped sets when the earlier cards of the order were bumped, so that the page shows this one as an add-on.
func (b *builder) noteAddsToBumped(o *Order) {
	var last *member
	for i := range b.g.members[:b.cards[0]] {
		m := &b.g.members[i]
		if m.state == Bumped && !m.t.Void && (last == nil || m.departure > last.departure) {
			last = m
		}
	}

	if last != nil {
		o.BumpedClock = ticket.Clock(time.UnixMilli(last.departedAt), last.t.Zone)
	}
}

// addTicket adds card i to the order.
func (b *builder) addTicket(o *Order, i int) {
	m := &b.g.members[i]
	r, t := &m.rec, m.t
	shown := Ticket{
		Job: r.Job, Version: r.Version, Station: layout.OneLine(r.Station), State: r.State,
		At: unixMillis(t.Received), Clock: ticket.Clock(t.Received, t.Zone), Seen: r.SeenAt,
		Duplicate: r.Duplicate, Reprint: r.Reprint, Refire: t.Refire, NoRoute: t.AllUnrouted(),
		For: layout.OneLine(r.For), Down: layout.OneLine(r.Down), Paper: layout.OneLine(r.Paper),
		Added: i > 0 && b.first[t.Request] == i, Changed: t.Changed != nil, Raw: layout.OneLine(t.Raw),
		alarmAckedAt: r.AlarmAckedAt,
	}

	for _, s := range r.RefusedBy {
		shown.RefusedBy = append(shown.RefusedBy, layout.OneLine(s))
	}

	if r.State == Bumped {
		shown.bumpedClock = ticket.Clock(time.UnixMilli(r.DepartedAt), t.Zone)
	}

	shown.Notes = append(question(t.MayCancel), laterVoids(t.Later)...)
	if note := wanted(t); note.Text != "" {
		shown.Notes = append(shown.Notes, note)
	}
	if change := t.Changed; change != nil {
		shown.Notes = append(shown.Notes, Text{Key: "replaces", Text: layout.OneLine(change.Order),
			Tickets: change.Tickets, Clock: ticket.Clock(change.Received, t.Zone), Part: change.Part,
			Parts: change.Parts})
	}
	if t.RefusedFor != "" {
		shown.Notes = append(shown.Notes, Text{Key: "late_refused", Text: layout.OneLine(t.RefusedFor),
			Clock: ticket.Clock(t.Received, t.Zone)})
	}

	shown.Notes = append(shown.Notes, b.texts(m, slices.Concat(t.Banners, t.Notes), t.More)...)
	shown.Items = b.items(m)
	for _, it := range shown.Items {
		if it.Course != "" && !slices.Contains(o.Courses, it.Course) {
			o.Courses = append(o.Courses, it.Course)
		}
		if it.Depth == 0 && !it.Done && !it.Void && r.State == Open {
			o.Left++
		}
	}

	o.Tickets = append(o.Tickets, shown)
}

// noName is shown for an item without a name, in every language.
const noName = "???"

// items are the lines of a card.
func (b *builder) items(m *member) []Item {
	out := make([]Item, 0, len(m.t.Lines))
	var done bool
	for n := range m.t.Lines {
		line := &m.t.Lines[n]
		it := Item{
			id: line.ID, I: n, Depth: max(line.Depth, 0), Quantity: cmp.Or(layout.OneLine(line.Quantity), "1"),
			// Without a name its quantity would read as part of the line above.
			Name:  cmp.Or(layout.OneLine(line.Name), noName),
			Notes: append(question(line.MayCancel), b.texts(m, line.Notes, line.More)...),
			Seat:  layout.OneLine(line.Seat), Course: layout.OneLine(line.Course),
			Void: line.Void, Refire: line.Refire, NoRoute: line.NoRoute, Raw: line.Raw, Fire: b.fire(m.t, line),
		}

		if it.Depth == 0 {
			done = slices.Contains(m.rec.Done, n)
			it.Course = cmp.Or(it.Course, layout.OneLine(m.t.Course))
		}

		it.Done = done
		if isAlarm := b.look.Alarms; isAlarm != nil {
			it.Alarm = !it.Raw && isAlarm(it.Name)
		}
		if colourOf := b.look.Colour; colourOf != nil && it.Depth > 0 {
			it.Colour = colourOf(it.Name)
		}

		out = append(out, it)
	}

	return out
}

// fire is when a line is to be begun.
func (b *builder) fire(t *ticket.Ticket, l *ticket.Line) int64 {
	begin := t.PromisedAt().Add(-b.look.Ahead)
	switch {
	case l.Depth > 0 || l.Void:
		return 0
	case l.Hold:
		return -1
	case begin.After(t.Received):
		return begin.UnixMilli()
	}
	return 0
}

// wanted is the note of the time at which an order is wanted, with the day if it came on another one. It has no text if
// the order does not say.
func wanted(t *ticket.Ticket) Text {
	at := t.PromisedAt()
	if at.IsZero() {
		return Text{Key: "wanted", Text: layout.OneLine(t.Promised)}
	}

	note := Text{Key: "wanted", Text: ticket.Clock(at, t.Zone)}
	at, _ = ticket.InZone(at, t.Zone)
	came, _ := ticket.InZone(t.Received, t.Zone)
	if day := at.Format(time.DateOnly); day != came.Format(time.DateOnly) {
		note.Day = day
	}
	return note
}

// question is the note of a text that may be a cancellation.
func question(mayCancel string) []Text {
	if mayCancel == "" {
		return nil
	}
	return []Text{{Key: "may_cancel", Text: layout.OneLine(mayCancel), Void: true}}
}

// laterVoids are the notes of a reprint on the voids that came since.
func laterVoids(voids ticket.LaterVoids) (out []Text) {
	for _, v := range voids {
		text := Text{Text: layout.OneLine(v.Text), Void: true}
		switch {
		case v.Job != 0:
			text.Key, text.Text, text.Clock = "later_void", strconv.FormatUint(v.Job, 10), layout.OneLine(v.Clock)
		case v.Text == "":
			text.Key = "later_voids"
		}
		out = append(out, text)
	}
	return out
}

// listTexts are the keys of the notes that this program writes into a list of open orders.
var listTexts = map[string]string{wasOnTheScreen: "was_on_screen", doneOnTheScreen: "done_on_screen", "RUSH": "rush",
	"POSSIBLE DUPLICATE": "duplicate", "REPRINT": "reprint"}

// texts are notes of a card as pages get them. more is how many unread fields are not among them.
func (b *builder) texts(m *member, notes []string, more int) (out []Text) {
	for _, s := range layout.Notes(notes) {
		text := Text{Text: s, Alarm: b.look.Alarms != nil && b.look.Alarms(s)}
		switch {
		case s == ticket.NothingListed:
			text = Text{Key: "nothing_listed"}
		case more > 0 && s == ticket.MoreUnread(more, m.rec.Job):
			text = Text{Key: "more_unread", Text: strconv.Itoa(more)}
		case m.t.IsList && listTexts[s] != "":
			text = Text{Key: listTexts[s]}
		}
		out = append(out, text)
	}
	return out
}

// alarms lifts the allergies of the dishes that are still wanted to the head of the order.
func (b *builder) alarms(o *Order) {
	unacknowledged := false
	for _, k := range o.Tickets {
		texts := slices.Clone(k.Notes)
		for _, it := range k.Items {
			if !it.Void {
				texts = append(append(texts, Text{Text: it.Name, Alarm: it.Alarm}), it.Notes...)
			}
		}

		before := len(o.Alarms)
		for _, t := range texts {
			if alarm := (Alarm{t.Text, k.Job}); t.Alarm && !slices.Contains(o.Alarms, alarm) {
				o.Alarms = append(o.Alarms, alarm)
			}
		}

		if len(o.Alarms) > before {
			unacknowledged = unacknowledged || k.alarmAckedAt == 0
			o.AlarmAckedAt = max(o.AlarmAckedAt, k.alarmAckedAt)
		}
	}

	// All of them must be acknowledged, also the ones of an add-on.
	if unacknowledged {
		o.AlarmAckedAt = 0
	}

	o.MustAckAlarm = b.look.AckAlarm && unacknowledged
}

// versionOf is a hash of the parts that a cook may press on: not of fields that change by themselves, like whether a
// page has shown it. It is cut to 53 bits because pages compute in floating point.
func versionOf(o *Order) uint64 {
	hash := fnv.New64a()
	sum := func(n uint64) { _ = binary.Write(hash, binary.BigEndian, n) }
	sum(o.Departure)
	for _, k := range o.Tickets {
		hash.Write([]byte(k.Station))
		sum(k.Job)
		sum(k.Version)
	}

	for _, v := range o.Voids {
		sum(v.Job)
		if v.AckedAt != 0 {
			sum(1)
		}
	}

	for _, p := range o.Parts {
		fmt.Fprint(hash, p.Station, p.State, p.Jobs, p.Left)
	}

	return hash.Sum64() >> 11
}

// mustAck says whether a cook must acknowledge a ticket: it cancels something, or replaces another one.
func mustAck(t *ticket.Ticket) bool { return t.Changed != nil || t.HasVoid() }
