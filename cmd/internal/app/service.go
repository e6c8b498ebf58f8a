package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/config"
	"ticketrail/receiver/directory"
	"ticketrail/receiver/posapi"
)

// newClient makes a client of the point-of-sale API. It talks to nobody yet. A nil transport is
// the network.
func newClient(c config.Service, through http.RoundTripper, log *slog.Logger, reg prometheus.Registerer) (*posapi.Client, error) {
	return posapi.New(posapi.Options{
		BaseURL: c.BaseURL, ClientID: c.ClientID,
		Secret: func() (string, error) {
			s, err := c.ReadSecret()
			return s.Reveal(), err
		},
		Transport: through,
		Token: posapi.TokenOptions{
			Path: c.Token.Path, VenueParam: c.Token.VenueParam, AuthStyle: c.Token.AuthStyle,
			RenewBefore: c.Token.RenewBefore, Scopes: c.Token.Scopes,
		},
		PageLimit: c.Employees.Limit, CursorAt: c.Employees.Cursor, PayrollVenueParam: c.Payroll.VenueParam,
		Timeout: c.Timeout, Logger: log, Registerer: reg,
	})
}

// hire gives r the client of its service: the one of old, with its tokens, if nothing about the
// service has changed, the secret in its file included; nil without a service.
func (a *App) hire(r, old *rules) error {
	now, was := r.conf.Service, old.conf.Service
	was.Refresh = now.Refresh // is the directory's
	switch {
	case !now.Enabled():
		return nil
	case old.client != nil && reflect.DeepEqual(now, was):
		r.client = old.client
		return nil
	}
	var err error
	r.client, err = newClient(now, a.o.Service, a.log, a.registry)
	return err
}

// dismiss lets the client go that was made for r: something else kept r from coming into force.
func (r *rules) dismiss(old *rules) {
	if r.client != nil && r.client != old.client {
		r.client.Close()
	}
}

// learn has the directory know about the venues of r from the service of r. Without a service
// it knows of none, and nothing of one is kept.
func (a *App) learn(was, r *rules) {
	var venues []directory.Venue
	var ids []string
	if r.client != nil {
		for _, v := range r.conf.Venues {
			venues = append(venues, directory.Venue{ID: v.ID, Zoned: v.Timezone != ""})
			ids = append(ids, v.ID)
		}
	}
	a.directory.Set(venues)
	if r.client != nil {
		r.client.Keep(ids)
	}
	var old *posapi.Client
	if was != nil {
		old = was.client
	}
	if old == r.client {
		return
	}
	if r.client == nil {
		a.directory.SetSource(nil) // not a client that is nil
	} else {
		a.directory.SetSource(r.client)
	}
	if old != nil {
		old.Close()
	}
}

func (a *App) newDirectory(conf *config.Config) *directory.Directory {
	return directory.New(directory.Options{
		Shelf: a.queue.Shelf("directory"), Every: conf.Service.Refresh, Logger: a.log, Registerer: a.registry,
	})
}

// startDirectory has the service asked in the background, until the teardown. Its venues must
// be known by now: it forgets all others.
func (a *App) startDirectory() {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.directory.Run(ctx)
	}()
	a.down.push("directory", func(within context.Context) error {
		cancel()
		if c := a.live.Load().client; c != nil {
			defer c.Close()
		}
		select {
		case <-over:
			return nil
		case <-within.Done():
			return fmt.Errorf("the point-of-sale service is still being asked: %w", context.Cause(within))
		}
	})
}

// Directory is what is known of the venues, for the demo.
func (a *App) Directory() *directory.Directory { return a.directory }
