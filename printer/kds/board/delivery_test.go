package board

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ticketrail/queue/ticket"
)

func order(job uint64, names ...string) ticket.Delivery {
	d := ticket.Delivery{Job: job, Station: "hot-line", Attempt: 1, Ticket: ticket.Ticket{
		V: 1, Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", VenueName: "Harbour Grill",
		Request: fmt.Sprintf("0d9e1c52-7c1b-4d5e-8a66-%012d", job), Number: fmt.Sprint(job), Table: "B10",
		Received: time.Date(2026, 2, 6, 10, 49, 48, 0, time.UTC), Zone: "Australia/Melbourne",
	}}
	for _, n := range names {
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: "1", Name: n})
	}
	return d
}

// A beginCounter counts the calls of begin.
type beginCounter struct {
	mu  sync.Mutex
	n   int
	err error
}

func (b *beginCounter) begin(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return b.err
}

func (b *beginCounter) times() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// verdict is the meaning of a station's answer in one word.
func verdict(proof ticket.Proof, err error, begun bool) string {
	switch {
	case err == nil:
		return string(proof)
	case ticket.IsPermanent(err):
		return "buried"
	case ticket.IsNotReady(err):
		return "not ready"
	case begun && !ticket.IsUntouched(err):
		return "doubt"
	}
	return "again"
}
