package station

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/printer/push"
	"ticketrail/queue/dispatch"
)

// pushes builds the third-party kitchen displays: the section kds of the configuration. Such a
// display keeps its own board: our part ends when it has answered 2xx, which is all the proof there
// is ("taken").
type pushes struct {
	s    *Set
	open map[*display]bool // the active ones, of which stop closes those that a reload removes
}

func openPushes(s *Set) (kind, error) { return &pushes{s: s}, nil }

// A display is a third-party kitchen display. Tickets are posted to it as JSON. conf is compared by a
// reload: an equal one keeps the value and its connection.
type display struct {
	*push.Display
	conf config.KDS
}

func (p *pushes) build(next, prev *Built) error {
	for i, c := range next.conf.KDS {
		if old, ok := prev.stations[c.Name].(*display); ok && old.conf == c {
			next.stations[c.Name] = old
			continue
		}
		o := pushOptions(c)
		o.Logger, o.Dial = p.s.o.Logger, p.s.o.Dial
		// Off by default: the record may have names and notes that the display need not know.
		if c.IncludeRaw {
			o.Raw = p.s.o.Record
		}
		// Reads no file and connects to nothing: a display that is down must not keep a reload from
		// being applied.
		made, err := push.New(o)
		if err != nil {
			return configProblem("kds", i, err)
		}
		next.stations[c.Name] = &display{made, c}
	}
	return nil
}

// pushOptions names the files of the credentials. They are read at each request, so a renewed token
// needs no reload.
func pushOptions(c config.KDS) push.Options {
	return push.Options{
		Name: c.Name, URL: c.URL, TokenFile: c.TokenFile, SecretFile: c.SecretFile, CAFile: c.CAFile,
		Timeout: c.Timeout,
	}
}

// stop closes the displays that are no longer configured. The last ticket of one may still be on its
// way; Close ends only idle connections, so that ticket is not cut off.
func (p *pushes) stop(next *Built) {
	wanted := map[*display]bool{}
	for _, st := range next.stations {
		if one, ok := st.(*display); ok {
			wanted[one] = true
		}
	}
	for one := range p.open {
		if !wanted[one] {
			one.Close()
		}
	}
	p.open = wanted
}

// start contacts no display: there is no standard question for its state, so only a ticket shows it. But one
// that takes no tickets is given the next one now, because the operator may have repaired it.
func (p *pushes) start(next *Built) {
	for name, st := range next.stations {
		if one, ok := st.(*display); ok && one.Pause().Refusal != nil {
			p.s.Kick(name)
		}
	}
}

func (p *pushes) close() { p.stop(&Built{}) }

func (p *pushes) notices(*Built) []string { return nil }

func (p *display) Lane() dispatch.Lane {
	return dispatch.Lane{Name: p.conf.Name, Station: p.Display, ExpireAfter: p.conf.ExpireAfter}
}

// WrapBackup marks the ticket: the cook who reads it looks for a screen that is dark.
func (p *display) WrapBackup(backup dispatch.Station) dispatch.Station { return pushBackup{backup} }

// AddState adds a device only while the display refuses every ticket: there is no other state that it reports.
func (p *display) AddState(l *admin.Status) {
	l.Kind, l.Address = admin.KindKDS, host(p.conf)
	if now := p.Pause(); now.Refusal != nil {
		l.NextTry = now.Until
		l.Device = &admin.Device{
			State: refusing, Since: now.Since, Conditions: []string{}, Error: now.Refusal.Error(),
		}
	}
}

// refusing is the state of a display that takes no tickets until a person has repaired something.
const refusing = "refusing"

// host is the address of a display without path and credentials, which may be secret. Listings show
// it, and operators paste listings into support requests.
func host(c config.KDS) string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// pushProblems are the mistakes in the displays' addresses. An empty name or url is reported by
// config already.
func pushProblems(conf *config.Config) (out []config.Problem) {
	for i, c := range conf.KDS {
		if c.Name == "" || c.URL == "" {
			continue
		}
		if _, err := push.New(pushOptions(c)); err != nil {
			out = append(out, config.Problem{
				Path: fmt.Sprintf("kds[%d].url", i), Msg: strings.TrimPrefix(err.Error(), "url: "),
			})
		}
	}
	return out
}

// askPushes checks whether each display answers. No ticket is sent. All at the same time, under one
// time limit: the operator is waiting.
func askPushes(ctx context.Context, conf *config.Config) (out OnlineReport) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	errs := make([]error, len(conf.KDS))
	var asking sync.WaitGroup
	for i, c := range conf.KDS {
		asking.Go(func() {
			p, err := push.New(pushOptions(c))
			if err == nil {
				err = p.Check(ctx)
			}
			errs[i] = err
		})
	}
	asking.Wait()
	var missing []string
	for i, c := range conf.KDS {
		if errs[i] != nil {
			missing = append(missing, c.Name)
			out.add(admin.Fail, "kds", c.Name, layout.Clean(errs[i].Error())+
				"; to fix: check that it runs, that its url and ca_file are right, and that this box reaches it")
		} else {
			out.add(admin.OK, "kds", c.Name, host(c)+" answers; only a ticket shows whether it takes tickets")
		}
	}
	out.addError("no answer from the display of", missing)
	return out
}
