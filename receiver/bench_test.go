package receiver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// discardIntake is an intake that stores nothing: what is left is the price of the handler chain.
type discardIntake struct{}

func (discardIntake) Accept(_ context.Context, q ticket.Request) (ticket.Receipt, error) {
	return ticket.Receipt{Jobs: len(q.Drafts)}, nil
}

func BenchmarkRequest(b *testing.B) {
	compiled, err := plan.Compile(plan.Config{Fallback: "grill"})
	if err != nil {
		b.Fatal(err)
	}
	r, err := New(Options{Intake: discardIntake{},
		Policy: &Policy{Plan: compiled, Venues: []Venue{{Venue: plan.Venue{ID: venueID}}}}})
	if err != nil {
		b.Fatal(err)
	}
	body := contract.Example("burger.json")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		if r.ServeHTTP(w, post(body)); w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
