package notify

import (
	"maps"
	"slices"
	"strings"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/webhook"
)

const (
	// calm is how long something must be fine until it counts as over. It doubles each time it begins
	// again within unsteady, up to maxCalm: a cable that is loose all evening is a few messages.
	calm     = time.Minute
	maxCalm  = time.Hour
	unsteady = time.Hour
)

// A subject is what one message is about: one station, or one topic of the daemon.
type subject struct {
	Topic   string
	Station string // empty for everything but a station
}

// MarshalText and UnmarshalText make it a key of the stored JSON.
func (s subject) MarshalText() ([]byte, error) { return []byte(s.Topic + "/" + s.Station), nil }

func (s *subject) UnmarshalText(b []byte) error {
	s.Topic, s.Station, _ = strings.Cut(string(b), "/")
	return nil
}

// A condition is the state of one subject, over all its findings.
type condition struct {
	level       admin.Level
	text, do    string
	fine        string    // what the findings say since it is fine
	since, seen time.Time // the first and the last look at which it was not fine
	begun       bool      // it lasts long enough that people are told
	ended       time.Time // when it was last over
	calm        time.Duration
}

type conditions map[subject]*condition

// update takes what was found at a time. after is how long something must last; open says whether stations
// must work now.
func (c *conditions) update(now time.Time, findings []admin.Finding, after time.Duration, open bool) {
	if *c == nil {
		*c = conditions{}
	}
	for s, f := range bySubject(findings) {
		k := (*c)[s]
		if f.Level == admin.OK {
			if k != nil {
				k.fine = f.Text
			}
			continue
		}
		if k == nil {
			k = &condition{calm: calm}
			(*c)[s] = k
		}
		if !k.begun && now.Sub(k.seen) > 2*calm { // else it comes and goes
			k.since = now
		}
		k.seen, k.level, k.text, k.do, k.fine = now, f.Level, f.Text, f.Do, ""
	}
	for s, k := range *c {
		lasts, closed := after, false
		switch s.Topic {
		case config.TopicTickets, config.TopicOrders:
			lasts = 0
		case config.TopicStations:
			closed = !open
		}
		switch {
		case k.begun && now.Sub(k.seen) >= k.calm:
			k.begun, k.ended = false, now
		case !k.begun && k.seen.Equal(now) && now.Sub(k.since) >= lasts && !closed:
			k.begun = true
			if k.calm = min(2*k.calm, maxCalm); now.Sub(k.ended) > unsteady {
				k.calm = calm
			}
		case !k.begun && now.Sub(k.seen) > unsteady:
			delete(*c, s)
		}
	}
}

// assume takes over what people were told before a start. It ends after being fine for as long as anything.
func (c *conditions) assume(t told) {
	if *c == nil {
		*c = conditions{}
	}
	for s, was := range t {
		if (*c)[s] == nil {
			(*c)[s] = &condition{level: was.Level, since: was.Since, seen: time.Now(), begun: true, calm: calm}
		}
	}
}

// bySubject is one finding for each subject: the worst level, and the texts of all that are not fine. Of a
// station only a failure counts: nobody at home changes the paper that will be out tomorrow.
func bySubject(all []admin.Finding) map[subject]admin.Finding {
	out := map[subject]admin.Finding{}
	for _, f := range slices.SortedStableFunc(slices.Values(all), admin.WorstFirst) {
		s := subject{Topic: f.Subject}
		if f.Station {
			s = subject{config.TopicStations, f.Subject}
		}
		worst, known := out[s]
		switch {
		case f.Station && f.Level != admin.Fail:
		case !known:
			out[s] = f
		case f.Level != admin.OK:
			worst.Text += "\n" + f.Text
			if f.Do != "" && f.Do != worst.Do {
				worst.Do = strings.TrimPrefix(worst.Do+"; "+f.Do, "; ")
			}
			out[s] = worst
		}
	}
	return out
}

// told is what a recipient knows: what is wrong, in a map that JSON stores.
type told map[subject]was

type was struct {
	Level admin.Level `json:"level"`
	Since time.Time   `json:"since"`
}

// A recipient is somebody who is told.
type recipient struct {
	name    string
	about   []string
	send    sender
	told    told
	sending bool
	next    time.Time // not before then
	backoff webhook.Backoff
}

func (r *recipient) wants(topic string) bool {
	return len(r.about) == 0 || slices.Contains(r.about, topic)
}

// news is what the recipient does not know, and what it knows after it was told. Something that became
// worse is told again.
func (r *recipient) news(all conditions) (*Message, told) {
	m, tell := &Message{}, maps.Clone(r.told)
	for s, k := range all {
		before := r.told[s].Level
		if k.begun && r.wants(s.Topic) && (before == "" || before == admin.Warn && k.level == admin.Fail) {
			m.Began = append(m.Began, Event{Topic: s.Topic, Station: s.Station, Level: k.level, Since: k.since,
				Text: k.text, Do: k.do})
			tell[s] = was{k.level, k.since}
		}
	}
	for s, before := range r.told {
		k := all[s]
		if k != nil && k.begun {
			continue
		}
		e := Event{Topic: s.Topic, Station: s.Station, Level: admin.OK, Since: before.Since}
		if k != nil {
			e.Text = k.fine
		}
		m.Ended = append(m.Ended, e)
		delete(tell, s)
	}
	slices.SortFunc(m.Began, Event.compare)
	slices.SortFunc(m.Ended, Event.compare)
	return m, tell
}
