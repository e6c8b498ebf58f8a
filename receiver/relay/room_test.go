package relay

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"ticketrail/queue/queuetest"
)

// TestMoreRoomThanTheServersHaveIsRefusedAndTheLimitOfBeforeStays: a relay that does not start takes no orders.
func TestMoreRoomThanTheServersHaveIsRefusedAndTheLimitOfBeforeStays(t *testing.T) {
	nc := connect(t, urls(cluster(t, 8<<20))...)
	o := testOptions(3)
	o.MaxBytes = 16 << 20
	err := New(nc, o).Open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "nats.max_bytes is more than") {
		t.Errorf("a new stream: error %v, want one that says what to change", err)
	}
	o.MaxBytes = 4 << 20
	s := openWith(t, nc, o)
	venue := addVenue(t, s)
	var log queuetest.Log
	o.MaxBytes, o.Logger = 16<<20, slog.New(slog.NewTextHandler(&log, nil))
	s = openWith(t, nc, o)
	accept(t, s, request(venue, "a", "soup"))
	state, err := s.State(t.Context())
	if err != nil || state.MaxBytes != 4<<20 {
		t.Errorf("the stream has %+v, %v, want the limit of before", state, err)
	}
	if !strings.Contains(log.String(), "MaxBytes is 4194304, want 16777216") {
		t.Errorf("the log does not say it: %s", &log)
	}
}

func TestTheLogSaysOnceWhyRequestsCannotBeStored(t *testing.T) {
	e, _ := oneNode(t)
	var log queuetest.Log
	o := testOptions(1)
	o.MaxBytes, o.Shrink, o.Logger = 8<<10, true, slog.New(slog.NewTextHandler(&log, nil))
	s := openWith(t, connect(t, e.URL()), o)
	venue := addVenue(t, s)
	for i := range 3 {
		if _, err := s.Accept(t.Context(), request(venue, fmt.Sprint(i), strings.Repeat("x", 9<<10))); err == nil {
			t.Fatal("a full stream takes an order")
		}
	}
	accept(t, s, request(venue, "a", "soup"))
	if n := strings.Count(log.String(), "raise nats.max_bytes"); n != 1 {
		t.Errorf("the log says it %d times, want once:\n%s", n, &log)
	}
}
