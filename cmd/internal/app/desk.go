package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// desk is the queue's stations with one addition: who resumes a printer has just done
// something about it, so its line need not sit out its pause.
type desk struct {
	*queue.Queue
	lines *dispatch.Dispatcher
}

func (d desk) ResumeStation(ctx context.Context, station string) error {
	if err := d.Queue.ResumeStation(ctx, station); err != nil {
		return err
	}
	d.lines.Kick(station)
	return nil
}

// tester prints test tickets the way orders go: through the queue, so that a test that
// comes out has tried everything an order needs.
type tester struct{ queue *queue.Queue }

func (t tester) TestTicket(ctx context.Context, station string) (uint64, error) {
	id := uuid.NewString()
	_, err := t.queue.Accept(ctx, ticket.Request{
		ID: id, Received: time.Now().UTC(), Body: []byte("{}"),
		Drafts: []ticket.Draft{{Station: station, Ticket: ticket.Ticket{
			// What a test shows is the layout's business.
			Kind: ticket.Test, Request: id, Number: "TEST", Received: time.Now().UTC(),
		}}},
	})
	if err != nil {
		return 0, err
	}
	jobs, err := t.queue.Jobs(ctx, queue.Filter{Request: id, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(jobs) == 0 {
		return 0, fmt.Errorf("find test ticket %s: it is gone", id)
	}
	return jobs[0].ID, nil
}

// shownRejects shows the refused bodies in the control API's words.
type shownRejects struct{ kept *rejects }

func (s shownRejects) Rejects(context.Context) ([]admin.Reject, error) {
	list := s.kept.list()
	out := make([]admin.Reject, len(list))
	for i, r := range list {
		out[i] = shown(r)
	}
	return out, nil
}

func (s shownRejects) Reject(_ context.Context, id uint64) (admin.Reject, error) {
	for _, r := range s.kept.list() {
		if r.ID == id {
			return shown(r), nil
		}
	}
	return admin.Reject{}, fmt.Errorf("refused request %d: %w: the last %d are kept", id, queue.ErrNotFound, maxRejects)
}

func shown(r Rejected) admin.Reject {
	return admin.Reject{
		ID: r.ID, Time: r.Time, Venue: r.Venue, Device: r.Device,
		Code: string(r.Code), Message: r.Message, Body: r.Body, Truncated: r.Truncated,
	}
}

// lines is what the dispatcher knows of each configured printer, and the printer of itself.
func (a *App) lines() []admin.Line {
	live := a.live.Load()
	var out []admin.Line
	for _, s := range a.dispatch.Status() {
		l := admin.Line{
			Name: s.Name, Known: s.Known, Up: s.Up, Since: s.Since,
			Err: s.Err, Waiting: s.Waiting, Attempt: s.Attempt, NextTry: s.NextTry,
			StandIn: s.StandIn.Name,
		}
		if st := live.stations[s.Name]; st != nil {
			l.Address, l.Device = st.conf.Address, shownDevice(st.device.Status())
		} else if sc := live.screens[s.Name]; sc != nil {
			a.addScreen(&l, sc)
		} else if p := live.pushes[s.Name]; p != nil {
			l.Kind, l.Address = admin.KindKDS, p.host()
		}
		out = append(out, l)
	}
	return out
}

func shownDevice(s printer.Status) *admin.Device {
	d := &admin.Device{State: s.State, Since: s.Since, Fine: s.Fine(), Conditions: []string{}, Ability: s.Ability, Advice: s.Advice, Error: s.Err, Foreign: s.Foreign}
	for _, r := range s.Reported {
		d.Conditions = append(d.Conditions, r.Condition.Name())
	}
	return d
}

// refusing says why no orders are taken, and where and what to do about it.
func (a *App) refusing(err error) string {
	do := "see the log; they are taken again when the disk can be written"
	if errors.Is(err, queue.ErrStorageFull) {
		do = "delete something there, or give it more room; tickets that wait go on printing, and orders are taken again by themselves"
	}
	return fmt.Sprintf("no orders are taken now: %v (%s): %s", err, filepath.Dir(a.boot.Storage.Path), do)
}

// allNotices is what a person must know whatever they asked about.
func (a *App) allNotices() []string {
	var out []string
	for _, f := range a.quarantined() {
		out = append(out, fmt.Sprintf("a damaged database was set aside as %s: tickets that waited in it did not print; move the file away when you have dealt with it", f))
	}
	if err := a.queue.Ready(); err != nil {
		out = append(out, a.refusing(err))
	}
	if n := a.queue.Damaged(); n > 0 {
		out = append(out, fmt.Sprintf("%s in the database could not be read since the start: see the log", ticket.Plural(n, "record")))
	}
	if n := a.queue.Unaccounted(); n != 0 {
		out = append(out, fmt.Sprintf("the books do not balance by %d: please report this", n))
	}
	live := a.live.Load()
	for _, c := range live.conf.Printers {
		s := live.stations[c.Name]
		if n := s.template.notice(); n != "" {
			out = append(out, n)
		}
		if s.device.Status().Foreign > 0 {
			out = append(out, fmt.Sprintf("another program prints on %s at the same time as ticketrail: tickets may come out mixed; give it a printer of its own, or send its tickets here", c.Name))
		}
	}
	out = append(out, a.leftOnBoards(live)...)
	for _, s := range a.queue.Stations() {
		if !s.Configured {
			out = append(out, fmt.Sprintf("station %q is not in the configuration and has %s: ticketrail jobs move --from %q --to STATION", s.Name, ticket.Plural(s.Pending+s.Held+s.Printing, "ticket"), s.Name))
		}
	}
	return out
}
