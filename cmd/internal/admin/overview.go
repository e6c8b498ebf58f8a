package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// A Level says how urgent a [Finding] is.
type Level string

const (
	Fail Level = "fail" // a person is needed now
	Warn Level = "warn" // works, but not for long, or not as it should
	OK   Level = "ok"
)

// A Finding is one thing that was looked at: how it is, and what to do if it is not fine. It is data and
// not a line, because a terminal, a page and a script show it in their own ways.
type Finding struct {
	Level   Level  `json:"level"`
	Subject string `json:"subject"` // one word, such as disk, or the name of a station
	Text    string `json:"text"`
	Do      string `json:"do,omitempty"`      // what a person does about it; empty if nothing needs to be done
	Station bool   `json:"station,omitempty"` // the subject is the name of a station
	// Examples are lines from orders. They are shown to the operator, and never sent anywhere.
	Examples []string `json:"examples,omitempty"`
}

// WorstFirst is the order in which findings are shown.
func WorstFirst(a, b Finding) int {
	order := []Level{Fail, Warn, OK}
	return cmp.Compare(slices.Index(order, a.Level), slices.Index(order, b.Level))
}

// String is the finding as one sentence, without its level and subject.
func (f Finding) String() string {
	if f.Do == "" {
		return f.Text
	}
	return f.Text + ": " + f.Do
}

// An Overview is the whole daemon at one moment, for whoever asks whether all is well.
type Overview struct {
	At       time.Time `json:"at"` // in the kitchen's zone, if it is known
	Build    Build     `json:"build"`
	Findings []Finding `json:"findings"` // the worst first
}

// NeedsPerson are the subjects that need a person now, each once; none: all is well.
func (o Overview) NeedsPerson() (subjects []string) {
	for _, f := range o.Findings {
		if f.Level == Fail && !slices.Contains(subjects, f.Subject) {
			subjects = append(subjects, f.Subject)
		}
	}
	return subjects
}

type zoneBody struct {
	Zone string `json:"zone"`
}

// Zone asks for the kitchen's time zone, in which an operator compares times with the clock on the wall and
// with tickets. It is that of this box if none is known.
func (c *Client) Zone(ctx context.Context) (*time.Location, error) {
	b, err := call[zoneBody](ctx, c, "GET", "/v1/zone", nil)
	if err != nil {
		return nil, err
	}
	if b.Zone == "" { // LoadLocation would take it for UTC
		return time.Local, nil
	}
	zone, err := time.LoadLocation(b.Zone)
	if err != nil {
		return time.Local, nil // this program has no such zone; the header of a list names the one that is used
	}
	return zone, nil
}

// Overview is the state of the daemon, for the command line and for a page.
func (s *Server) Overview(ctx context.Context) (Overview, error) {
	state, err := s.o.State(ctx)
	if err != nil {
		return Overview{}, err
	}
	now := time.Now()
	if zone := s.o.Zone(); zone != nil {
		now = now.In(zone)
	}
	o := Overview{At: now, Build: ThisBuild()}
	o.Findings = slices.Concat(s.o.Notices(), stationFindings(s.list(), now), state)
	slices.SortStableFunc(o.Findings, WorstFirst)
	return o, nil
}

func (s *Server) overview(r *http.Request) (any, error) { return s.Overview(r.Context()) }

// zoneName is the kitchen's zone; empty if it is not known.
func (s *Server) zoneName() string {
	if zone := s.o.Zone(); zone != nil {
		return zone.String()
	}
	return ""
}

// stationFindings names each station that somebody must look at. The others are one line together, and
// so are the tickets of all.
func stationFindings(all []Station, now time.Time) (out []Finding) {
	fine, waiting, held := 0, 0, 0
	oldest := time.Duration(0)
	for _, p := range all {
		held += p.Held
		if n := p.Pending + p.Printing; n > 0 {
			waiting += n
			oldest = max(oldest, time.Duration(p.OldestSeconds*float64(time.Second)))
		}
		p.NextTry = nil // a finding is also read later, and elsewhere
		f := Finding{Level: Fail, Subject: p.Name, Station: true, Text: p.Problem(now), Do: p.Advice}
		switch {
		case !p.Fine():
		case p.Advice != "":
			f.Level = Warn
		default:
			fine++
			continue
		}
		switch {
		case p.State == Orphaned:
			f.Text = "it is no longer in the configuration, and has " +
				ticket.Plural(p.Pending+p.Held+p.Printing, "ticket")
		case f.Text == "" && p.Held > 0:
			f.Text = ticket.Plural(p.Held, "ticket") + " held"
		default:
			f.Text = cmp.Or(f.Text, strings.ReplaceAll(string(p.State), "_", " "))
			if n := p.Pending + p.Printing; n > 0 {
				f.Text += "; " + ticketsWait(n)
			}
		}
		out = append(out, f)
	}
	switch {
	case len(all) == fine:
		out = append(out, Finding{Level: OK, Subject: "stations", Text: "all print: " + strconv.Itoa(fine)})
	case fine > 0:
		out = append(out, Finding{Level: OK, Subject: "stations", Text: "the others print: " + strconv.Itoa(fine)})
	}
	text := fmt.Sprintf("%d waiting, %d held", waiting, held)
	if waiting > 0 {
		text += ", the oldest waits for " + Age(oldest)
	}
	return append(out, Finding{Level: OK, Subject: "tickets", Text: text})
}

// Problem is why the tickets of a station do not print; empty if they do. Of several causes the
// device's own report comes first, then what the attempt waits for, then its error: each explains
// the next. Times are shown in the zone of now.
func (p Station) Problem(now time.Time) string {
	var parts []string
	// First, because it is what the operator can end; the other causes follow, as resume would show
	// them.
	if p.Hold != nil {
		since := p.Hold.Since.In(now.Location())
		at := since.Format("15:04")
		if since.Format(time.DateOnly) != now.Format(time.DateOnly) {
			at = since.Format("2006-01-02 15:04")
		}
		parts = append(parts, "held since "+at+": "+p.Hold.Reason)
	}
	switch {
	// Not of a device that cannot be reached: its last report is old.
	case p.Device != nil && len(p.Device.Conditions) > 0 && p.Device.Error == "":
		parts = append(parts, "it reports: "+strings.ReplaceAll(strings.Join(p.Device.Conditions, ", "), "_", " "))
	case p.Waiting != "":
		what := p.Waiting
		if p.Advice != "" { // which says what to do
			what, _, _ = strings.Cut(what, "; to fix: ")
		}
		parts = append(parts, "waiting: "+what)
	case p.Error != "":
		parts = append(parts, p.Error)
	case p.Device != nil && p.Device.Error != "":
		parts = append(parts, p.Device.Error)
	}
	if p.Device != nil && p.Device.Moved != "" {
		parts = append(parts, p.Device.Moved)
	}
	// Below a second the answer would be old before it is read.
	if p.Hold == nil && p.NextTry != nil && p.NextTry.Sub(now) >= time.Second {
		parts = append(parts, "next attempt in "+Age(p.NextTry.Sub(now)))
	}
	return strings.Join(parts, "; ")
}

// Age is d for people, rounded down, in its two largest units. Seconds matter only in the first
// minute.
func Age(d time.Duration) string {
	// A clock that was set back would otherwise show a negative age.
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Overview asks how everything is.
func (c *Client) Overview(ctx context.Context) (Overview, error) {
	return call[Overview](ctx, c, "GET", "/v1/overview", nil)
}
