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

// A condition is the state of one identity.
type condition struct {
	finding.Finding           // the newest
	since, seen     time.Time // the first and the last look that found it
	logged          bool      // the journal says that it began, and not that it is over
	begun           bool      // it lasts long enough that people are told
	ended           time.Time // when it was last over
	calm            time.Duration
}

// conditions are the conditions by identity.
type conditions map[string]*condition

// update takes the findings of one look. after is how long something must last; open says whether stations must work
// now.
func (c conditions) update(now time.Time, found []finding.Finding, after time.Duration, open bool) {
	for _, f := range found {
		if f.Level == finding.OK {
			continue
		}
		known := c[f.ID]
		if known == nil {
			known = &condition{calm: firstCalm}
			c[f.ID] = known
		}

		if !known.begun && now.Sub(known.seen) > 2*firstCalm { // else it comes and goes
			known.since = now
		}
		known.Finding, known.seen = f, now
	}

	for id, k := range c {
		switch {
		case k.begun && now.Sub(k.seen) >= k.calm:
			k.begun, k.ended = false, now
		case !k.begun && k.seen.Equal(now) && now.Sub(k.since) >= k.lasts(after) && k.forPeople(open):
			k.begun = true
			k.calm = min(2*k.calm, maxCalm)
			if now.Sub(k.ended) > unsteady {
				k.calm = firstCalm
			}
		case !k.begun && !k.logged && now.Sub(k.seen) > unsteady:
			delete(c, id)
		}
	}
}

// lasts is how long it must last until people are told. A lost order does not mend itself.
func (k *condition) lasts(after time.Duration) time.Duration {
	if k.Subject == config.TopicOrders || k.Subject == config.TopicTickets {
		return 0
	}
	return after
}

// forPeople reports whether people away from the kitchen are told: at home they cannot change the paper that will be
// out tomorrow, or switch on a printer at night.
func (k *condition) forPeople(open bool) bool { return !k.Station || open && k.Level == finding.Fail }

// began is since when it is wrong.
func (k *condition) began() time.Time {
	if !k.Since.IsZero() && k.Since.Before(k.since) {
		return k.Since
	}
	return k.since
}

// assume takes over the messages before a start. Such a condition ends after being fine for as long as any other.
func (c conditions) assume(k knowledge) {
	for id, before := range k {
		if c[id] == nil {
			c[id] = &condition{Finding: before.Finding, since: before.Since, seen: time.Now(), begun: true,
				calm: firstCalm}
		}
	}
}

// knowledge has the newest told event of each identity that is wrong, in a map that JSON stores.
type knowledge map[string]toldEvent

// A toldEvent is an event that was told.
type toldEvent struct {
	Event
	At time.Time `json:"at"` // when it was told
}

// A recipient is somebody who is told.
type recipient struct {
	name    string
	about   []string
	send    sender
	told    knowledge
	sending bool
	next    time.Time // not before then
	backoff webhook.Backoff
}

func (r *recipient) wants(e Event) bool {
	return len(r.about) == 0 || slices.Contains(r.about, e.topic())
}

// news is the message that the recipient has not got, and its knowledge afterwards. A finding that became worse, or has
// more tickets, is told again, and so is one that needs a person and lasts for another repeat; 0: it is not.
func (r *recipient) news(now time.Time, all conditions, repeat time.Duration, open bool) (*Message, knowledge) {
	message, told := &Message{}, maps.Clone(r.told)
	for id, k := range all {
		event := k.event()
		before, known := r.told[id]
		if !k.begun || !r.wants(event) {
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
		told[id] = toldEvent{event, now}
	}

	for id, before := range r.told {
		if still := all[id]; still != nil && still.begun {
			continue
		}
		event := before.Event
		event.Level, event.Do, event.Detail = finding.OK, "", ""
		message.Ended = append(message.Ended, event)
		delete(told, id)
	}

	slices.SortFunc(message.Began, Event.compare)
	slices.SortFunc(message.Ended, Event.compare)
	return message, told
}

// event is the condition as it is told.
func (k *condition) event() Event {
	event := Event{Finding: k.Finding}
	event.Since, event.Examples = k.began(), nil
	return event
}
