package relay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/queue/ticket"
	store "ticketrail/receiver/relay"
	"ticketrail/receiver/source"
)

// TestAVenueThatARelayDoesNotKnowIsRefusedOnlyIfItsListIsNew: after a 403 the service gives the order up.
func TestAVenueThatARelayDoesNotKnowIsRefusedOnlyIfItsListIsNew(t *testing.T) {
	_, a := opened(t)
	s := &server{nc: a.nc, entries: map[string]store.VenueEntry{grill: {}}}
	may := func(want bool, when string) {
		t.Helper()
		assert.Equal(t, s.mayBeNewVenue(t.Context(), bar), want, when)
	}
	may(true, "nothing was read")
	s.last.Store(&Overview{At: time.Now().Add(-2 * lookEvery)})
	may(true, "it was read some time ago")
	s.last.Store(&Overview{At: time.Now()})
	may(false, "it was just read")
	s.entries[bar] = store.VenueEntry{}
	may(true, "it is in the list that was just read, and was not when the request began")
	delete(s.entries, bar)
	a.nc.Close()
	may(true, "the relay is cut off")
}

// TestWhenTheServersHaveLostTheStreamARelayMakesItAnew with the venues and their tokens: no order is refused meanwhile,
// and nobody has to go to a box.
func TestWhenTheServersHaveLostTheStreamARelayMakesItAnew(t *testing.T) {
	slow.Test(t) // it waits for a retry
	c, a := opened(t)
	file := filepath.Join(c.dir, "grill.token")
	assert.NoError(t, a.Add(t.Context(), store.VenueEntry{ID: grill, Name: "Grill"}, file))
	r := c.start(true)
	js, err := jetstream.New(a.nc)
	assert.NoError(t, err)
	assert.NoError(t, js.DeleteStream(t.Context(), store.StreamName))
	assert.Equal(t, r.settled(grill, "a", "Burger"), http.StatusOK)
	c.until("the box has an order to fetch", func() error {
		n, err := source.Waiting(t.Context(), source.Options{URL: r.boxes, Venue: grill,
			Transport: source.Transport(), Token: config.Source{TokenFile: file}.Token})
		if err == nil && n != 1 {
			return fmt.Errorf("%d requests wait", n)
		}
		return err
	})
}

// TestServersWithoutAnyVenueHaveLostThem: a relay that has known none refuses none.
func TestServersWithoutAnyVenueHaveLostThem(t *testing.T) {
	c := newCloud(t)
	r := c.start(true)
	assert.Equal(t, r.post(grill, "a", "Burger"), http.StatusServiceUnavailable)
	_, err := source.Waiting(t.Context(), source.Options{URL: r.boxes, Venue: grill, Transport: source.Transport(),
		Token: func() (string, error) { return "token", nil }})
	assert.True(t, err != nil && !errors.Is(err, source.ErrToken), err)
}

// TestARelayIsNotReadyAtOnceWhenAnOrderCannotBeStored and is again when the stream takes orders, not when it looks next
// at the venues: until then a load balancer sends it nothing.
func TestARelayIsNotReadyAtOnceWhenAnOrderCannotBeStored(t *testing.T) {
	slow.Test(t) // it waits for a server that is down
	c := newCloud(t)
	stream := c.open()
	s := &server{stream: stream, door: stream.NewDoor("secret", nil, nil)}
	failed := func() string { why, _ := s.failed.Load().(string); return why }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.runReady(ctx) }()
	c.server.Stop()
	c.until("it is not ready", func() error {
		// Without an order the outage is seen at the next look, after 20 s.
		if _, err := stream.Accept(t.Context(), ticket.Request{Venue: grill, ID: "a"}); err == nil {
			return errors.New("it is stored")
		}
		if failed() == "" {
			return errors.New("it is")
		}
		return nil
	})
	c.server.Start()
	c.until("it is ready again", func() error {
		if why := failed(); why != "" {
			return errors.New(why)
		}
		return nil
	})
	cancel()
	assert.NoError(t, <-done)
}

// TestAStatusSaysWhatItCouldReadAndWhichNodeItCouldNot, and leaves the stream as it is.
func TestAStatusSaysWhatItCouldReadAndWhichNodeItCouldNot(t *testing.T) {
	c, a := opened(t)
	v := store.VenueEntry{ID: grill, Name: "Grill"}
	assert.NoError(t, a.Add(t.Context(), v, filepath.Join(c.dir, "t")))
	conf := c.load()
	conf.NATS.URLs = append(conf.NATS.URLs, "nats://127.0.0.1:1")
	conf.NATS.DedupRetention = time.Hour // a copy of the file that is old
	text := ""
	says := func(want ...string) {
		t.Helper()
		c.until(fmt.Sprint("it says ", want), func() error {
			o := Status(t.Context(), conf)
			text = ""
			for _, f := range o.Findings {
				text += fmt.Sprintln(f.Level, f.Subject, f.Text)
			}
			for _, one := range want {
				if !strings.Contains(text, one) {
					return errors.New(text)
				}
			}
			return nil
		})
	}
	says("node nats://127.0.0.1:1 cannot be read", "Grill: its box was never heard of", "1 of 1 have every request",
		"MaxAge is 72h0m0s, want 1h0m0s", "fail relays no relay answers")
	if state, err := a.stream.State(t.Context()); err != nil || state.Differs != "" {
		t.Errorf("the status has changed the stream: %+v, %v", state, err)
	}
	c.start(true)
	says("0 of 1 boxes are online", "1 of 1 have every request")
	assert.True(t, !strings.Contains(text, "no relay answers"), text)
	c.server.Stop()
	says("not everything could be read: no node answers", "node "+c.server.URL()+" cannot be read")
}
