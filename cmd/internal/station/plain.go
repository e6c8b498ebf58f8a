package station

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/printer/push"
	"ticketrail/printer/ticketlog"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// A plain is a station that shares nothing with others and needs no more than its own section: a third-party kitchen
// display, a log. A reload keeps the value, and with it a connection, if the section is the same.
type plain struct {
	common
	recipient
	plainSection
}

// A recipient gets the tickets of a plain station.
type recipient interface {
	dispatch.Station
	dispatch.Idempotent
	Runner
	// Check says whether it could take a ticket. It sends none.
	Check(context.Context) error
	// Pause is why it takes no tickets; EndPause ends it.
	Pause() push.Pause
	EndPause()
}

// A plainSection is one element of a list of the configuration.
type plainSection struct {
	conf    any // compared by a reload
	lane    dispatch.Lane
	kind    string // as [finding.Station] has it, and as people say it
	address string // as listings show it
	open    func(Options) (recipient, error)
	fine    string // the words if it can

	conditions []string // see [Station.Conditions]
}

// plainSections are the sections of every kind: how people see each, and how it is opened.
func plainSections(conf *config.Config) (out []plainSection) {
	for _, c := range conf.KDS {
		out = append(out, plainSection{
			conf: c, kind: finding.KindDisplay, address: hostOfURL(c.URL), conditions: []string{refusing},
			// The cook who reads a ticket of it at the backup looks for a screen that is dark.
			lane: dispatch.Lane{Name: c.Name, ExpireAfter: c.ExpireAfter, Down: "screen"},
			open: func(o Options) (recipient, error) {
				c.Dial, c.Raw = o.Dial, o.raw(c.IncludeRaw)
				return push.New(c.Options)
			},
			fine: "answers; only a ticket shows whether it takes tickets",
		})
	}

	for _, c := range conf.Logs {
		out = append(out, plainSection{
			conf: c, kind: finding.KindLog, address: c.To, fine: "is there",
			lane: dispatch.Lane{Name: c.Name, ExpireAfter: c.ExpireAfter, Down: "log"},
			open: func(o Options) (recipient, error) {
				c.Raw = o.raw(c.IncludeRaw)
				return ticketlog.New(c.Options)
			},
		})
	}

	return out
}

// raw finds records, if they are wanted.
func (o Options) raw(wanted bool) func(context.Context, ticket.Delivery) json.RawMessage {
	if !wanted {
		return nil
	}
	return o.Record
}

// buildPlains reads no file and connects to nothing: a display that is down must not keep a reload from being applied.
func (s *Set) buildPlains(next, prev *Built) error {
	for _, c := range plainSections(next.conf) {
		if old, ok := prev.stations[c.lane.Name].(*plain); ok && reflect.DeepEqual(old.conf, c.conf) {
			next.stations[c.lane.Name] = old
			continue
		}

		opened, err := c.open(s.o)
		if err != nil {
			return fmt.Errorf("%s %s: %w", c.kind, c.lane.Name, err)
		}
		next.stations[c.lane.Name] = &plain{recipient: opened, plainSection: c}
	}

	return nil
}

func (p *plain) Lane() dispatch.Lane {
	lane := p.lane
	lane.Station = p.recipient
	return lane
}

func (p *plain) Runner() Runner { return p.recipient }

func (p *plain) Conditions() []string { return p.conditions }

// EndPause gives one that takes no tickets the next one now.
func (p *plain) EndPause() bool {
	p.recipient.EndPause()
	return true
}

// AddState adds a device only while it refuses every ticket: there is no other state that it reports.
func (p *plain) AddState(l *finding.Station) {
	l.Kind, l.Address = p.kind, p.address
	if now := p.Pause(); now.Refusal != nil {
		l.NextTry = now.Until
		l.Device = &finding.DeviceStatus{
			State: refusing, Since: now.Since, Conditions: []string{}, Err: now.Refusal.Error(),
		}
	}
}

// refusing is the state of a display that takes no tickets until a person has repaired something.
const refusing = "refusing"

// hostOfURL is the address of a display without path and credentials, which may be secret. Listings show it, and
// operators paste listings into support requests.
func hostOfURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// ask checks whether it could take a ticket.
func (c plainSection) ask(ctx context.Context) []finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	opened, err := c.open(Options{})
	if err == nil {
		err = opened.Check(ctx)
	}

	asked := finding.Station{Name: c.lane.Name, Kind: c.kind, Address: c.address, Known: true, Up: err == nil}
	if err != nil {
		asked.Error = layout.Clean(err.Error())
	}
	return judged(asked, c.fine)
}
