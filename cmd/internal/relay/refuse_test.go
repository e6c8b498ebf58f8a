package relay

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ticketrail/config"
	store "ticketrail/receiver/relay"
)

// TestWhoIsAnswered503AndSendsNoBodyKeepsNoConnectionForLong: with as many as an address may have, its next order
// waited until their time was over.
func TestWhoIsAnswered503AndSendsNoBodyKeepsNoConnectionForLong(t *testing.T) {
	s := &server{conf: new(config.DefaultRelay()), entries: map[string]store.VenueEntry{}}
	r := httptest.NewRequest("POST", "/webhooks/print", strings.NewReader("{}"))
	r.Header.Set(s.conf.Receiver.Headers.Venue, grill)
	w := &deadline{ResponseRecorder: httptest.NewRecorder()}
	s.unlessUnsure(nil).ServeHTTP(w, r)
	if w.Code != 503 || w.Header().Get("Connection") != "close" || w.read.IsZero() {
		t.Errorf("the answer is %d, %v, and the body is read until %v", w.Code, w.Header(), w.read)
	}
}

// A deadline notes until when a body is read.
type deadline struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadline) SetReadDeadline(t time.Time) error { d.read = t; return nil }
