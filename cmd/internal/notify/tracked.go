package notify

import (
	"maps"
	"slices"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/webhook"
)

const (
	// firstCalm is how long something must be fine until it counts as over. It doubles each time it begins
	// again within unsteady, up to maxCalm: a cable that is loose all evening is a few messages.
	firstCalm = time.Minute
	maxCalm   = time.Hour
	unsteady  = time.Hour
)

// A trackedFinding is the course of one finding, known by its ID, over the looks of the notifier.
type trackedFinding struct {
	finding.Finding               // as it is told: without examples, Since by the facts or by the looks
	firstSeen, lastSeen time.Time // the looks that found it
	here                bool      // the last look found it
	inJournal           bool      // the journal says that it began, and not that it is over
	tellPeople          bool      // from when it had lasted long enough, with the kitchen open, until it is over
	ended               time.Time // when it was last over
	calm                time.Duration
}

// trackedFindings are by ID.
type trackedFindings map[string]*trackedFinding

// update takes the findings of one look. after is how long something must last; open says whether stations must work
// now.
func (c trackedFindings) update(now time.Time, found []finding.Finding, after time.Duration, open bool) {
	for _, k := range c {
		k.here = false
	}

	for _, f := range found {
		if f.Level == finding.OK {
			continue
		}
		known := c[f.ID]
		if known == nil {
			known = &trackedFinding{calm: firstCalm}
			c[f.ID] = known
		}

		// A new finding begins now. So does one that was away for more than 2*firstCalm, unless tellPeople is set: then
		// it is not over yet. One that comes and goes faster keeps its beginning, so that people are told in the end.
		if !known.tellPeople && now.Sub(known.lastSeen) > 2*firstCalm {
			known.firstSeen = now
		}
		// Since is the earlier of the times that the facts and these looks know.
		if f.Since.IsZero() || f.Since.After(known.firstSeen) {
			f.Since = known.firstSeen
		}
		f.Examples = nil
		known.Finding, known.lastSeen, known.here = f, now, true
	}

	for id, k := range c {
		switch {
		case k.tellPeople && now.Sub(k.lastSeen) >= k.calm:
			k.tellPeople, k.ended = false, now
		case !k.tellPeople && k.here && now.Sub(k.firstSeen) >= k.lasts(after) && k.forPeople(open):
			k.tellPeople = true
			if now.Sub(k.ended) <= unsteady {
				k.calm = min(2*k.calm, maxCalm)
			} else {
				k.calm = firstCalm
			}
		case !k.tellPeople && !k.inJournal && now.Sub(k.lastSeen) > unsteady:
			delete(c, id)
		}
	}
}

// lasts is how long it must last until people are told. A lost order does not mend itself.
func (k *trackedFinding) lasts(after time.Duration) time.Duration {
	if k.Subject == config.TopicOrders || k.Subject == config.TopicTickets {
		return 0
	}
	return after
}

// forPeople reports whether people away from the kitchen are told: of a station only failures, and only while the
// kitchen is open. At home they cannot change the paper that will be out tomorrow, or switch on a printer at night.
func (k *trackedFinding) forPeople(open bool) bool {
	return !k.Station || open && k.Level == finding.Fail
}

// resume adds the findings of which a recipient was told and that are not tracked, as after a start, so that they can
// be over. Each counts as seen now, and ends after being fine for as long as any other.
func (c trackedFindings) resume(told toldEvents) {
	for id, before := range told {
		if c[id] == nil {
			c[id] = &trackedFinding{Finding: before.Finding, firstSeen: before.Since, lastSeen: time.Now(),
				tellPeople: true, calm: firstCalm}
		}
	}
}

// toldEvents are the events of which a recipient was told, without those that it knows to be over, by the ID of their
// findings: of each the newest. They are stored as JSON.
type toldEvents map[string]Event

// A recipient is somebody who is told.
type recipient struct {
	name    string
	about   []string
	send    sender
	told    toldEvents
	sending bool
	next    time.Time // not before then
	backoff webhook.Backoff
}

func (r *recipient) wants(e Event) bool {
	return len(r.about) == 0 || slices.Contains(r.about, e.topic())
}

// news is the message that the recipient has not got, and the events that it has been told of afterwards. A finding
// that became worse, or has more tickets, is told again, and so is one that needs a person and lasts for another
// repeat. A repeat of 0: never.
func (r *recipient) news(now time.Time, all trackedFindings, repeat time.Duration, open bool) (*Message, toldEvents) {
	message, told := &Message{}, maps.Clone(r.told)
	// The findings that the recipient does not know, or not as they are now.
	for id, k := range all {
		event := Event{Finding: k.Finding}
		before, known := r.told[id]
		if !k.tellPeople || !r.wants(event) {
			continue
		}

		worse := before.Level == finding.Warn && k.Level == finding.Fail || k.Count > before.Count
		again := repeat > 0 && k.Level == finding.Fail && now.Sub(before.At) >= repeat && (open || !k.Station)
		if known && !worse && !again {
			continue
		}

		if known {
			event.Again = before.Again + 1
		}
		message.Began = append(message.Began, event)
		event.At = now // only in the stored event, see [Event]
		told[id] = event
	}

	// The ones that it knows and that are over.
	for id, before := range r.told {
		if still := all[id]; still != nil && still.tellPeople {
			continue
		}
		event := before
		event.Level, event.Do, event.Detail, event.At = finding.OK, "", "", time.Time{}
		message.Ended = append(message.Ended, event)
		delete(told, id)
	}

	slices.SortFunc(message.Began, Event.compare)
	slices.SortFunc(message.Ended, Event.compare)
	return message, told
}
