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

	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func (s *Server) stations(*http.Request) (any, error) {
	out := Stations{Stations: s.list()}
	for _, f := range s.o.Notices() {
		out.Notices = append(out.Notices, f.String())
	}
	return out, nil
}

// list joins two lists. The queue has the stations, orphans too; the rest of the daemon adds
// what it knows of them.
func (s *Server) list() []Station {
	// Read before the queue: a reload between the two shows a new station without a state, and
	// never a state without its station.
	statuses := map[string]Status{}
	for _, l := range s.o.Statuses() {
		statuses[l.Name] = l
	}
	backups := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(statuses)) {
		if by := statuses[name].ActiveBackup; by != "" {
			backups[by] = append(backups[by], name)
		}
	}
	out := []Station{}
	for _, st := range s.o.Queue.Stations() {
		p := stationOf(st, statuses[st.Name])
		p.StandsInFor = backups[st.Name]
		out = append(out, p)
	}
	return out
}

// stationOf joins what the queue knows of a station with what the dispatcher and the station know.
// The state is the first that applies, in the order in which the operator must act: without a
// configuration a hold does not matter, and while held a dead printer does not matter.
func stationOf(st queue.StationState, l Status) Station {
	p := Station{
		Name: st.Name, Kind: l.Kind, Address: l.Address, Pages: l.Pages, Configured: st.Configured,
		Pending: st.Pending, Printing: st.Printing, Held: st.Held,
		OldestSeconds: st.Oldest.Seconds(),
		Waiting:       l.Waiting, Error: l.Err, Attempt: l.Attempt,
		Hold: st.Hold, Books: st.Books, Device: l.Device, StandIn: l.ActiveBackup,
	}
	if !l.NextTry.IsZero() {
		p.NextTry = new(l.NextTry)
	}
	since := l.Since
	deviceDown := l.Device != nil && !l.Device.Fine
	switch {
	case !st.Configured:
		p.State, since = Orphaned, time.Time{}
	case st.Hold != nil:
		p.State, since = OnHold, st.Hold.Since
	case deviceDown: // also without a ticket: the device was polled
		p.State, since = Down, l.Device.Since
	// The daemon has just started, or no ticket has come.
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

// advice is what the operator can do about a station, the most urgent thing first; empty if the
// station needs nothing. The command line prints it after "to fix:", so it begins with what to do
// and names the command completely.
func advice(p Station) string {
	switch {
	case p.State == Orphaned:
		return fmt.Sprintf("not in the configuration: add it again, or ticketrail jobs move --from %s --to STATION",
			shellQuote(p.Name))
	case p.State == OnHold:
		return "ticketrail printers resume " + shellQuote(p.Name)
	case p.State == Down && p.StandIn != "":
		return fixFor(p) + "; " + p.StandIn + " prints its tickets meanwhile"
	case p.State == Down:
		return fixFor(p) + "; waiting tickets then follow automatically"
	case p.Held > 0:
		return fmt.Sprintf("%s for your decision: ticketrail jobs list --state held --station %s, "+
			"then jobs reprint or jobs cancel", ticketsWait(p.Held), shellQuote(p.Name))
	case p.Device != nil:
		return p.Device.Advice // such as paper low: it prints, but not for long
	}
	return ""
}

// fixFor is what to do about a station that is down. What the device itself reports is better than
// a guess; without a report the usual causes are named.
func fixFor(p Station) string {
	switch {
	case p.Device != nil && !p.Device.Fine && p.Device.Advice != "":
		return p.Device.Advice
	case p.Kind == KindKDS && p.Device != nil: // it answers that it takes no tickets
		return "repair what it answers, usually its token_file or url, then ticketrail printers resume " +
			shellQuote(p.Name)
	case p.Kind == KindKDS:
		return "check that the display is running: ticketrail check --online shows its answer"
	case p.Kind == KindLog:
		return "repair what ticketrail check --online says of it"
	case p.Waiting != "":
		return "check the printer"
	}
	return "check power, cable and address"
}

// shellQuote is a name as it must be typed in a shell, so that advice can be copied.
func shellQuote(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

func ticketsWait(n int) string {
	if n == 1 {
		return "1 ticket waits"
	}
	return ticket.Plural(n, "ticket") + " wait"
}

// checkKnown refuses a name that is neither a configured station nor an orphan.
func (s *Server) checkKnown(name string) error {
	return s.checkName(name, func(queue.StationState) bool { return true })
}

// checkConfigured refuses a name that is not in the configuration: a ticket sent there would wait
// for ever.
func (s *Server) checkConfigured(name string) error {
	return s.checkName(name, func(st queue.StationState) bool { return st.Configured })
}

func (s *Server) checkName(name string, counts func(queue.StationState) bool) error {
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
	return NoStation(name, names)
}

// NoStation is the refusal of a name that no station has. names are those that there are, at least one.
func NoStation(name string, names []string) error {
	return refuse(NotFound, "no station is called %q; there is %s%s", name, strings.Join(names, ", "),
		config.DidYouMean(name, names))
}

// testTicket enqueues a test ticket for a station and returns its job. It goes through Accept as an
// order does, so that a test that prints proves everything an order needs: disk, queue and printer.
func testTicket(ctx context.Context, q *queue.Queue, station, zone string) (uint64, error) {
	id := uuid.NewString()
	now := time.Now().UTC()
	_, err := q.Accept(ctx, ticket.Request{
		// No venue, so its key cannot be that of an order.
		ID: id, Received: now, Body: []byte("{}"),
		Drafts: []ticket.Draft{{Station: station, Ticket: ticket.Ticket{
			// The layout fills in what a test ticket shows.
			Kind: ticket.Test, Request: id, Number: "TEST", Received: now, Zone: zone,
		}}},
	})
	if err != nil {
		return 0, err
	}
	// Accept does not return the ids of the jobs. The ticket may have printed by now; its job is
	// kept.
	jobs, err := q.Jobs(ctx, queue.Filter{Request: id, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(jobs) == 0 {
		return 0, fmt.Errorf("find test ticket %s: it is gone", id)
	}
	return jobs[0].ID, nil
}

// test needs a configured station: at an orphan the ticket would wait for ever. A backup may print
// it, and the operator sees so in the job's state.
func (s *Server) test(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := s.checkConfigured(name); err != nil {
		return nil, err
	}
	id, err := testTicket(r.Context(), s.o.Queue, name, s.zoneName())
	if err != nil {
		return nil, err
	}
	s.logChange(r, "test", "station", name, "job", id)
	return jobsBody{Jobs: []uint64{id}}, nil
}

// hold is allowed for an orphan too: a hold that was set before the station was removed can be
// changed.
func (s *Server) hold(r *http.Request, b reasonBody) (any, error) {
	name := r.PathValue("name")
	if err := s.checkKnown(name); err != nil {
		return nil, err
	}
	if err := checkReason(b.Reason); err != nil {
		return nil, err
	}
	// Always with who it was: the next shift asks before it resumes.
	reason := reasonOr(r, "")
	if b.Reason != "" {
		reason = b.Reason + " (" + reason + ")"
	}
	if err := s.o.Queue.HoldStation(r.Context(), name, reason); err != nil {
		return nil, err
	}
	s.logChange(r, "hold", "station", name, "reason", b.Reason)
	return struct{}{}, nil
}

// resume is safe to repeat: a station that is not held stays as it is.
func (s *Server) resume(r *http.Request, b resumeBody) (any, error) {
	name := r.PathValue("name")
	if err := s.checkKnown(name); err != nil {
		return nil, err
	}
	var seen []time.Time
	if b.Since != nil {
		seen = []time.Time{*b.Since}
	}
	if err := s.o.Queue.ResumeStation(r.Context(), name, seen...); err != nil {
		return nil, err
	}
	s.o.Kick(name) // the operator has probably just repaired it: try now, not after the backoff
	s.logChange(r, "resume", "station", name)
	return struct{}{}, nil
}

// probe may take as long as the ticket that is being printed; the time limit of the request bounds it.
func (s *Server) probe(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := s.checkConfigured(name); err != nil {
		return nil, err
	}
	d, err := s.o.Probe(r.Context(), name)
	if err != nil {
		return nil, err
	}
	s.o.Kick(name)
	s.logChange(r, "probe", "station", name, "ability", d.Ability)
	return d, nil
}
