package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/config"
	"ticketrail/queue/queuetest"
	store "ticketrail/receiver/relay"
)

// TestAnEntryOfTheBucketThatIsWrongCostsNoOtherVenue: a person or another version wrote it.
func TestAnEntryOfTheBucketThatIsWrongCostsNoOtherVenue(t *testing.T) {
	c := newCloud(t, 1)
	a := c.admin()
	if err := a.stream.PutVenue(t.Context(), store.Venue{ID: grill, Name: "Grill"}); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(a.nc)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(t.Context(), store.VenuesBucket)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"bar": `{"id":"bar"}`, "AAAAAAAA-1111-4111-8111-111111111111": `{"id":"AAAAAAAA-1111-4111-8111-111111111111"}`,
		"aaaaaaaa-1111-4111-8111-111111111111": `{"id":"aaaaaaaa-1111-4111-8111-111111111111"}`,
	} {
		if _, err := bucket.PutString(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	r := c.start(true)
	if status := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Errorf("an order is answered %d", status)
	}
}

// TestAVenueThatIsMissingInTheListIsAnswered503: after a 403 the service gives the order up.
func TestAVenueThatIsMissingInTheListIsAnswered503(t *testing.T) {
	c := newCloud(t, 1)
	a := c.admin()
	if err := a.stream.PutVenue(t.Context(), store.Venue{ID: grill, Name: "Grill"}); err != nil {
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
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Purge(t.Context(), grill); err != nil { // its consumer stays, as in a bucket that was lost
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
	flooded, start := false, time.Now()
	for range 20 * looksAtOnce { // a flood looks at the servers no faster
		if status := r.post(bar, "c", "Burger"); status == http.StatusServiceUnavailable {
			flooded = true
			break
		}
	}
	// On a machine that is slower than that, this was no flood.
	if took := time.Since(start).Seconds(); !flooded && took < 19*looksAtOnce/looksPerSecond {
		t.Errorf("every request of a flood asks the servers: %d in %.0f s", 20*looksAtOnce, took)
	}
	a = c.admin() // whose list has none
	v, err := a.Find(t.Context(), grill)
	if err != nil || v.ID != grill {
		t.Fatalf("the lost venue is %+v, %v", v, err)
	}
	if _, err := a.Remove(t.Context(), c.operator, v.ID); err != nil {
		t.Fatal(err)
	}
	c.until("it is refused", func() error {
		if status := r.post(grill, "d", "Burger"); status != http.StatusForbidden {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
}

// TestAfterTheStreamWasLostBoxesCanFetchAgain: what is answered 200 comes out, without a person.
func TestAfterTheStreamWasLostBoxesCanFetchAgain(t *testing.T) {
	c := newCloud(t, 1)
	a := c.admin()
	if err := a.stream.PutVenue(t.Context(), store.Venue{ID: grill, Name: "Grill"}); err != nil {
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

// TestARelayThatCannotSeeTheBoxesIsReady: a load balancer would take it away, and all others with it.
func TestARelayThatCannotSeeTheBoxesIsReady(t *testing.T) {
	c := newCloud(t, 1)
	a := c.admin()
	js, err := jetstream.New(a.nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteKeyValue(t.Context(), store.BoxesBucket); err != nil {
		t.Fatal(err)
	}
	log := new(queuetest.Log)
	w := &watch{venues: func() []config.Venue { return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.run(ctx, a.stream, slog.New(slog.NewTextHandler(log, nil))) }()
	c.until("it has looked", func() error {
		if !strings.Contains(log.String(), "the servers do not say how the venues are") {
			return errors.New(log.String())
		}
		return nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if why := w.notReady(); why != "" {
		t.Errorf("it accepts no orders: %s", why)
	}
}

// TestARelayIsReadyWhenTheStreamTakesOrdersAgain and not when it looks next at the venues: until then a load balancer
// sends it nothing.
func TestARelayIsReadyWhenTheStreamTakesOrdersAgain(t *testing.T) {
	c := newCloud(t, 1)
	a := c.admin()
	c.servers.Kill(0)
	w := &watch{venues: func() []config.Venue { return nil }, every: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.run(ctx, a.stream, slog.New(slog.DiscardHandler)) }()
	c.until("it is not ready", func() error {
		if w.notReady() == "" {
			return errors.New("it is")
		}
		return nil
	})
	if err := c.servers.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
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
