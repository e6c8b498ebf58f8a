package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A push is a configured display of somebody else's. A reload that leaves its configuration
// alone keeps it.
type push struct {
	*kds.Push
	conf config.KDS
}

// connect gives r the displays of others. It touches none of them.
func (a *App) connect(r, old *rules) error {
	r.pushes = map[string]*push{}
	for i, c := range r.conf.KDS {
		if was := old.pushes[c.Name]; was != nil && was.conf == c {
			r.pushes[c.Name] = was
			continue
		}
		o := pushOptions(c)
		o.Logger, o.Dial = a.log, a.o.Dial
		if c.IncludeRaw {
			o.Raw = a.original
		}
		p, err := kds.NewPush(o)
		if err != nil {
			return config.Problems{{Path: fmt.Sprintf("kds[%d]", i), Msg: err.Error()}}
		}
		r.pushes[c.Name] = &push{p, c}
	}
	return nil
}

func pushOptions(c config.KDS) kds.PushOptions {
	return kds.PushOptions{Name: c.Name, URL: c.URL, TokenFile: c.TokenFile, SecretFile: c.SecretFile, CAFile: c.CAFile, Timeout: c.Timeout}
}

// host is where a display is, as far as that is no secret.
func (p *push) host() string {
	u, err := url.Parse(p.conf.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// original is the record of a delivery as the service sent it.
func (a *App) original(ctx context.Context, d ticket.Delivery) (json.RawMessage, error) {
	_, _, body, err := a.queue.Job(ctx, d.Job)
	if err != nil {
		return nil, err
	}
	return recordOf(body, d.Ticket.Record)
}

// recordOf finds a record by its id; one that is alone needs none.
func recordOf(body []byte, id string) (json.RawMessage, error) {
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	var records []json.RawMessage
	if err := json.Unmarshal(envelope[contract.FieldRecords], &records); err != nil {
		return nil, fmt.Errorf("read the records of the request: %w", err)
	}
	if len(records) == 1 {
		return records[0], nil
	}
	want, _ := contract.CanonicalID(id)
	for _, r := range records {
		var fields map[string]any
		if json.Unmarshal(r, &fields) != nil {
			continue
		}
		if s, ok := fields[contract.FieldID].(string); ok {
			if got, _ := contract.CanonicalID(s); got == want && want != "" {
				return r, nil
			}
		}
	}
	return nil, errors.New("the request has several records, and none with the id of the ticket's")
}

// displayProblems is what only the package of the screens knows of their configuration.
func displayProblems(conf *config.Config) (out []config.Problem) {
	for i, s := range conf.Screens {
		if err := kds.CheckKeys(s.Keys); err != nil {
			out = append(out, config.Problem{Path: fmt.Sprintf("screens[%d].keys", i), Msg: err.Error()})
		}
	}
	for i, c := range conf.KDS {
		if c.Name == "" || c.URL == "" {
			continue
		}
		if _, err := kds.NewPush(pushOptions(c)); err != nil {
			out = append(out, config.Problem{Path: fmt.Sprintf("kds[%d].url", i), Msg: strings.TrimPrefix(err.Error(), "url: ")})
		}
	}
	return out
}
