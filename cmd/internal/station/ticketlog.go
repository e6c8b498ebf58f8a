package station

import (
	"context"
	"fmt"
	"strings"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/printer/ticketlog"
	"ticketrail/queue/dispatch"
)

// logs builds the stations of the section logs. They share nothing, and keep nothing open between tickets.
type logs struct{ s *Set }

func openLogs(s *Set) (kind, error) { return logs{s}, nil }

// A ticketLog is compared by a reload: an equal conf keeps the value.
type ticketLog struct {
	*ticketlog.Log
	conf config.TicketLog
}

func (l logs) build(next, prev *Built) error {
	for i, c := range next.conf.Logs {
		if old, ok := prev.stations[c.Name].(*ticketLog); ok && old.conf == c {
			next.stations[c.Name] = old
			continue
		}
		o := logOptions(c)
		o.Logger = l.s.o.Logger
		if c.IncludeRaw {
			o.Raw = l.s.o.Record
		}
		made, err := ticketlog.New(o)
		if err != nil {
			return configProblem("logs", i, err)
		}
		next.stations[c.Name] = &ticketLog{made, c}
	}
	return nil
}

func logOptions(c config.TicketLog) ticketlog.Options {
	return ticketlog.Options{Name: c.Name, To: c.To}
}

func (logs) stop(*Built)             {}
func (logs) start(*Built)            {}
func (logs) close()                  {}
func (logs) notices(*Built) []string { return nil }

func (l *ticketLog) Lane() dispatch.Lane {
	return dispatch.Lane{Name: l.conf.Name, Station: l.Log, ExpireAfter: l.conf.ExpireAfter}
}

// WrapBackup marks the ticket, as for a display.
func (*ticketLog) WrapBackup(backup dispatch.Station) dispatch.Station { return pushBackup{backup} }

// AddState has no state to add: only a ticket shows it.
func (l *ticketLog) AddState(s *admin.Status) { s.Kind, s.Address = admin.KindLog, l.conf.To }

// logProblems are the mistakes in the places of the logs. An empty name or place is reported by config already.
func logProblems(conf *config.Config) (out []config.Problem) {
	for i, c := range conf.Logs {
		if c.Name == "" || c.To == "" {
			continue
		}
		if _, err := ticketlog.New(logOptions(c)); err != nil {
			key, msg, _ := strings.Cut(err.Error(), ": ")
			out = append(out, config.Problem{Path: fmt.Sprintf("logs[%d].%s", i, key), Msg: msg})
		}
	}
	return out
}

// askLogs checks whether each log could write a ticket.
func askLogs(_ context.Context, conf *config.Config) (out OnlineReport) {
	var missing []string
	for _, c := range conf.Logs {
		l, err := ticketlog.New(logOptions(c))
		if err == nil {
			err = l.Check()
		}
		if err != nil {
			missing = append(missing, c.Name)
			out.add(admin.Fail, "log", c.Name, layout.Clean(err.Error()))
		} else {
			out.add(admin.OK, "log", c.Name, c.To+" is there")
		}
	}
	out.addError("tickets cannot be written by", missing)
	return out
}
