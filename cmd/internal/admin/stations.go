package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func (s *Server) stations(*http.Request) (any, error) {
	lines := map[string]Status{}
	for _, l := range s.o.Statuses() {
		lines[l.Name] = l
	}
	helped := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if by := lines[name].StandIn; by != "" {
			helped[by] = append(helped[by], name)
		}
	}
	out := Stations{Stations: []Station{}, Notices: s.o.Notices()}
	for _, st := range s.o.Queue.Stations() {
		p := merge(st, lines[st.Name])
		p.StandsInFor = helped[st.Name]
		out.Stations = append(out.Stations, p)
	}
	return out, nil
}

// merge joins what the queue knows of a line with what its drain knows.
func merge(st queue.StationState, l Status) Station {
	p := Station{
		Name: st.Name, Kind: l.Kind, Address: l.Address, Pages: l.Pages, Configured: st.Configured,
		Pending: st.Pending, Printing: st.Printing, Held: st.Held,
		OldestSeconds: st.Oldest.Seconds(),
		Waiting:       l.Waiting, Error: l.Err, Attempt: l.Attempt,
		Hold: st.Hold, Books: st.Books, Device: l.Device, StandIn: l.StandIn,
	}
	if !l.NextTry.IsZero() {
		p.NextTry = new(l.NextTry)
	}
	since := l.Since
	sick := l.Device != nil && !l.Device.Fine
	switch {
	case !st.Configured:
		p.State, since = Orphaned, time.Time{}
	case st.Hold != nil:
		p.State, since = OnHold, st.Hold.Since
	case sick: // it may have said so itself, with no ticket in its line
		p.State, since = Down, l.Device.Since
	case !l.Known:
		p.State = Untried
	case !l.Up:
		p.State = Down
	default:
		p.State = Up
	}
	if !since.IsZero() {
		p.Since = new(since)
	}
	p.Advice = advice(p)
	return p
}

// advice is what somebody who is no programmer can do about a printer, most urgent first.
func advice(p Station) string {
	switch {
	case p.State == Orphaned:
		return fmt.Sprintf("not in the configuration: put it back, or ticketrail jobs move --from %s --to STATION", word(p.Name))
	case p.State == OnHold:
		return "ticketrail printers resume " + word(p.Name)
	case p.State == Down && p.StandIn != "":
		return remedy(p) + "; " + p.StandIn + " prints its tickets meanwhile"
	case p.State == Down:
		return remedy(p) + "; its tickets go on by themselves"
	case p.Held > 0:
		return fmt.Sprintf("%s for a person: ticketrail jobs list --state held --station %s", waits(p.Held), word(p.Name))
	case p.Device != nil:
		return p.Device.Advice // the roll ends soon
	}
	return ""
}

// remedy is what to do about a station that is down.
func remedy(p Station) string {
	switch {
	case p.Device != nil && !p.Device.Fine && p.Device.Advice != "":
		return p.Device.Advice
	case p.Kind == KindKDS:
		return "see whether that display is there and what it says: ticketrail check --online"
	case p.Waiting != "":
		return "see to the printer"
	}
	return "check power, cable and address"
}

// word is a name as it is typed in a shell.
func word(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

func waits(n int) string {
	if n == 1 {
		return "1 ticket waits"
	}
	return ticket.Plural(n, "ticket") + " wait"
}

// known refuses a name that is neither a station's nor an orphaned queue's.
func (s *Server) known(name string) error {
	return s.among(name, func(queue.StationState) bool { return true })
}

// configured refuses a name that no station in the configuration has: a ticket sent there
// would wait for ever.
func (s *Server) configured(name string) error {
	return s.among(name, func(st queue.StationState) bool { return st.Configured })
}

func (s *Server) among(name string, counts func(queue.StationState) bool) error {
	var names []string
	for _, st := range s.o.Queue.Stations() {
		if counts(st) {
			names = append(names, st.Name)
		}
	}
	if slices.Contains(names, name) {
		return nil
	}
	if len(names) == 0 {
		return refuse(NotFound, "no station is called %q: the configuration has none", name)
	}
	return refuse(NotFound, "no station is called %q; there is %s", name, list(names))
}

// testTicket puts a test ticket into a station's queue and returns its job: it goes the way orders
// go, so that a test that comes out has tried everything an order needs.
func testTicket(ctx context.Context, q *queue.Queue, station string) (uint64, error) {
	id := uuid.NewString()
	now := time.Now().UTC()
	_, err := q.Accept(ctx, ticket.Request{
		ID: id, Received: now, Body: []byte("{}"),
		Drafts: []ticket.Draft{{Station: station, Ticket: ticket.Ticket{
			// What a test shows is the layout's business.
			Kind: ticket.Test, Request: id, Number: "TEST", Received: now,
		}}},
	})
	if err != nil {
		return 0, err
	}
	jobs, err := q.Jobs(ctx, queue.Filter{Request: id, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(jobs) == 0 {
		return 0, fmt.Errorf("find test ticket %s: it is gone", id)
	}
	return jobs[0].ID, nil
}

func (s *Server) test(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := s.configured(name); err != nil {
		return nil, err
	}
	id, err := testTicket(r.Context(), s.o.Queue, name)
	if err != nil {
		return nil, err
	}
	s.changed(r, "test", "station", name, "job", id)
	return made{Jobs: []uint64{id}}, nil
}

func (s *Server) hold(r *http.Request, b reasonBody) (any, error) {
	name := r.PathValue("name")
	if err := s.known(name); err != nil {
		return nil, err
	}
	if err := s.o.Queue.HoldStation(r.Context(), name, because(r, b.Reason)); err != nil {
		return nil, err
	}
	s.changed(r, "hold", "station", name, "reason", b.Reason)
	return struct{}{}, nil
}

func (s *Server) resume(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := s.known(name); err != nil {
		return nil, err
	}
	if err := s.o.Queue.ResumeStation(r.Context(), name); err != nil {
		return nil, err
	}
	s.o.Kick(name) // who resumes a station has just seen to it: its queue need not sit out its pause
	s.changed(r, "resume", "station", name)
	return struct{}{}, nil
}
