package relay

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ticketrail/receiver/source"
)

// TestATokenThatEndsWhileItsPollBeginsGetsNothing: it was looked at before it ended, and waits after it.
func TestATokenThatEndsWhileItsPollBeginsGetsNothing(t *testing.T) {
	_, venue, d := oneVenue(t)
	r := httptest.NewRequest("GET", source.PathNext, nil)
	r.Header.Set("Authorization", "Bearer "+tokenOf(venue))
	p, ok := d.admit(httptest.NewRecorder(), r)
	if !ok {
		t.Fatal("it is not let in")
	}
	d.SetVenues(nil, true)
	_, p.end = context.WithCancelCause(t.Context())
	if why := d.enter(p); why == "" {
		t.Error("a poll with a token that is not valid any more waits for an order")
	}
}

// TestAPollHasAnEndForBothDirections and one that a large request can keep over a slow line.
func TestAPollHasAnEndForBothDirections(t *testing.T) {
	s, venue, d := oneVenue(t)
	accept(t, s, request(venue, "large", strings.Repeat("x", 512<<10)))
	r := httptest.NewRequest("GET", source.PathNext, nil)
	r.Header.Set("Authorization", "Bearer "+tokenOf(venue))
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	start := time.Now()
	d.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("the answer is %d, %v", w.Code, w.Header())
	}
	if w.read.IsZero() {
		t.Error("who announces a body and does not send it keeps the connection for ever")
	}
	if got := w.write.Sub(start); got < time.Minute {
		t.Errorf("the box has %s for half a megabyte", got)
	}
}

// TestWhoShowsAWrongTokenAndSendsNoBodyKeepsNoConnectionForLong: an address has so many, and others wait.
func TestWhoShowsAWrongTokenAndSendsNoBodyKeepsNoConnectionForLong(t *testing.T) {
	_, s := oneNode(t)
	d := openDoor(t, s)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.Handler().ServeHTTP(w, httptest.NewRequest("POST", source.PathAck, strings.NewReader("{}")))
	if w.Code != http.StatusUnauthorized || w.read.IsZero() {
		t.Errorf("the answer is %d, and the body is read until %v", w.Code, w.read)
	}
}

// TestWhoReadsSlowlyKeepsAFewRequestsInMemory: the same one is handed out every few seconds. Only the newest poll
// waits.
func TestWhoReadsSlowlyKeepsAFewRequestsInMemory(t *testing.T) {
	_, venue, d := oneVenue(t)
	in, ended := 0, 0
	for range 2 * pollsOfVenue { // none of which is written to its end
		p := &poll{venue: venue, room: d.room(venue), token: Hash(tokenOf(venue)), end: func(error) { ended++ }}
		if d.enter(p) == "" {
			in++
		}
	}
	if in != pollsOfVenue || ended != in-1 {
		t.Errorf("%d are in memory, want %d; %d were ended", in, pollsOfVenue, ended)
	}
}

// deadlines notes the deadlines of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }
