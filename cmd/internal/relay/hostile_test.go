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
	"ticketrail/queue/ticket"
	store "ticketrail/receiver/relay"
)

// TestAVenueThatIsMissingInTheListIsAnswered503: after a 403 the service gives the order up.
func TestAVenueThatIsMissingInTheListIsAnswered503(t *testing.T) {
	c, a := opened(t)
	if err := a.stream.PutVenue(t.Context(), store.VenueEntry{ID: grill, Name: "Grill"}); err != nil {
		t.Fatal(err)
	}
	r := c.start(true)
	if status := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Fatalf("an order is answered %d", status)
	}
	js, err := jetstream.New(a.nc)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(t.Context(), store.VenuesBucket)
	if err == nil {
		err = bucket.Purge(t.Context(), grill) // its consumer stays, as in a bucket that was lost
	}
	if err != nil {
		t.Fatal(err)
	}
	c.until("the relay has read the list", func() error {
		if status := r.post(grill, "b", "Burger"); status != http.StatusOK {
			return nil
		}
		return errors.New("the venue is still there")
	})
	if status := r.post(grill, "c", "Burger"); status != http.StatusServiceUnavailable {
		t.Errorf("an order of a venue that was lost is answered %d", status)
	}
	if status := r.settled(bar, "c", "Burger"); status != http.StatusForbidden {
		t.Errorf("an order of no venue is answered %d", status)
	}
	start, asked := time.Now(), 0
	for asked < 20*looksAtOnce && r.post(bar, "c", "Burger") != http.StatusServiceUnavailable {
		asked++ // a flood looks at the servers no faster
	}
	// On a machine that is slower than that, this was no flood.
	if took := time.Since(start).Seconds(); asked == 20*looksAtOnce && took < 19*looksAtOnce/looksPerSecond {
		t.Errorf("every request of a flood asks the servers: %d in %.0f s", 20*looksAtOnce, took)
	}
	a = c.admin() // whose list has none
	v, err := a.Find(t.Context(), grill)
	if err != nil || v.ID != grill {
		t.Fatalf("the lost venue is %+v, %v", v, err)
	}
	if err := a.Remove(t.Context(), v.ID); err != nil {
		t.Fatal(err)
	}
	c.until("it is refused", func() error {
		if status := r.post(grill, "d", "Burger"); status != http.StatusForbidden {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
}

// TestAfterTheStreamWasLostBoxesCanFetchAgain: an order that is answered 200 comes out, without a person.
func TestAfterTheStreamWasLostBoxesCanFetchAgain(t *testing.T) {
	c, a := opened(t)
	if err := a.stream.PutVenue(t.Context(), store.VenueEntry{ID: grill, Name: "Grill"}); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(a.nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), store.StreamName); err != nil {
		t.Fatal(err)
	}
	r := c.start(true)
	if status := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Fatalf("an order is answered %d", status)
	}
	c.until("the box has a consumer", func() error {
		consumer, err := js.Consumer(t.Context(), store.StreamName, grill)
		if err == nil && consumer.CachedInfo().NumPending != 1 {
			return fmt.Errorf("%d requests wait", consumer.CachedInfo().NumPending)
		}
		return err
	})
}

// TestARelayIsNotReadyAtOnceWhenAnOrderCannotBeStored and is again when the stream takes orders, not when it looks next
// at the venues: until then a load balancer sends it nothing.
func TestARelayIsNotReadyAtOnceWhenAnOrderCannotBeStored(t *testing.T) {
	c, a := opened(t)
	w := &watch{venues: func() []config.Venue { return nil }, options: storeOptions(c.load())}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.runReady(ctx, a.stream) }()
	c.server.Stop()
	c.until("it is not ready", func() error {
		// Without an order the outage is seen at the next look, after 20 s.
		if _, err := a.stream.Accept(t.Context(), ticket.Request{Venue: grill, ID: "a"}); err == nil {
			return errors.New("it is stored")
		}
		if w.notReady() == "" {
			return errors.New("it is")
		}
		return nil
	})
	c.server.Start()
	c.until("it is ready again", func() error {
		if why := w.notReady(); why != "" {
			return errors.New(why)
		}
		return nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestAStatusSaysWhatItCouldReadAndWhichNodeItCouldNot, and leaves the stream as it is.
func TestAStatusSaysWhatItCouldReadAndWhichNodeItCouldNot(t *testing.T) {
	c, a := opened(t)
	v := store.VenueEntry{ID: grill, Name: "Grill"}
	if _, err := a.Add(t.Context(), v, false, filepath.Join(c.dir, "t")); err != nil {
		t.Fatal(err)
	}
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
	if state, err := a.stream.State(t.Context(), storeOptions(c.load())); err != nil || state.Differs != "" {
		t.Errorf("the status has changed the stream: %+v, %v", state, err)
	}
	c.start(true)
	says("0 of 1 boxes are online", "1 of 1 have every request")
	if strings.Contains(text, "no relay answers") {
		t.Error(text)
	}
	c.server.Stop()
	says("not everything could be read: no node answers", "node "+c.server.URL()+" cannot be read")
}
