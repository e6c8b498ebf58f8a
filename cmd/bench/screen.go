package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"ticketrail/cmd/internal/app"
	"ticketrail/printer/kds"
	"ticketrail/queue/ticket"
)

// A station is a screen as the outside knows it: orders go in at the webhook, pages are at url.
type station struct{ webhook, url string }

const screenName = "hot-line"

func newStation(webhook, display string) station {
	return station{webhook, "http://" + display + "/screen/" + screenName}
}

// screenConfig is one screen that gets every ticket, and that nobody stands in for.
func screenConfig(store string) func(socket string) []byte {
	return func(socket string) []byte {
		return fmt.Appendf(nil, `receiver: { listen: "127.0.0.1:0" }
metrics: { listen: "127.0.0.1:0" }
display: { listen: "127.0.0.1:0" }
admin: { socket: %q }
storage: { path: %q }
venues:
  - { id: %s, name: Harbour Grill, timezone: Australia/Melbourne }
screens:
  - { name: %s, title: Hot line }
fallback: %[4]s
`, socket, store, venueID, screenName)
	}
}

// send posts an order. Its number on the ticket is its id.
func (s station) send(c *caller, id uint64) error {
	l, err := order(`"checkNumber": 18`, fmt.Sprintf(`"checkNumber": %d`, id))
	if err != nil {
		return err
	}
	return c.post(l, id)
}

// open is the cards on the board, the oldest first.
func (s station) open(ctx context.Context) ([]*kds.Card, error) {
	resp, err := askScreen(ctx, http.DefaultClient, http.MethodGet, s.url+"/state", nil)
	if err != nil {
		return nil, err
	}
	var all struct{ State kds.Snapshot }
	err = answered(resp, &all)
	return all.State.Open, err
}

// bump does what a cook's press on a card does.
func (s station) bump(ctx context.Context, c *kds.Card) error {
	press := kds.Command{ID: fmt.Sprintf("press%d", c.Job), Do: kds.Bump, Job: c.Job, Version: c.Version}
	resp, err := askScreen(ctx, http.DefaultClient, http.MethodPost, s.url+"/do", press)
	if err != nil {
		return err
	}
	var r kds.Result
	if err := answered(resp, &r); err != nil {
		return err
	}
	if r.Outcome != kds.Done {
		return fmt.Errorf("job %d was to be bumped: %s", c.Job, r.Outcome)
	}
	return nil
}

// putUp puts orders on the board through the webhook, before a page that goes when it has them.
func (b *bench) putUp(ctx context.Context, s station, orders int) error {
	t, err := openTablet(ctx, s.url, b.ids.Add(1))
	if err != nil {
		return err
	}
	c, err := dial(ctx, s.webhook)
	if err != nil {
		return errors.Join(err, t.close(ctx))
	}
	for range orders {
		if err = s.send(c, b.ids.Add(1)); err != nil {
			break
		}
	}
	if err == nil {
		err = s.shown(ctx, orders)
	}
	return errors.Join(err, c.conn.Close(), t.close(ctx))
}

// shown waits until there are as many cards and a page holds each.
func (s station) shown(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		list, err := s.open(ctx)
		if err != nil {
			return err
		}
		if len(list) == want && !slices.ContainsFunc(list, func(c *kds.Card) bool { return !c.Shown }) {
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%d cards are open, want %d that are shown: %w", len(list), want, err)
		}
	}
}

// A wall is a daemon in this process with tickets on its screen, and real pages of that.
type wall struct {
	station
	log     *tally
	meter   *meter
	browser *browser
	stop    func() error
}

func (b *bench) hang(ctx context.Context, open, pages int) (*wall, error) {
	if _, _, _, err := browserPrograms(); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wall{log: &tally{proof: ticket.Shown}, meter: &meter{Listener: l}}
	store := b.path("wall.db")
	a, stop, err := b.wholeDaemon(ctx, screenConfig(store), app.Options{Log: w.log, Display: w.meter})
	if err != nil {
		return nil, err
	}
	w.stop = func() error { return errors.Join(stop(), removeStore(store)) }
	w.station = newStation(a.WebhookAddr().String(), a.DisplayAddr().String())
	if err := b.putUp(ctx, w.station, open); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	if w.browser, err = b.browse(ctx, w.url, pages); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

func (w *wall) close() error { return errors.Join(w.browser.stop(), w.stop()) }
