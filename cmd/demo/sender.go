package main

import (
	"context"
	"fmt"
	"strings"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/sim"
)

const (
	venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	path    = contract.PathWebhook
)

// A sender posts orders as the service does, and prints the outcome.
type sender struct {
	sim.Sender
	say func(format string, args ...any)
}

// send posts one order and prints the answer and how long it took. An order that is not accepted
// ends the demo: in here nothing may get lost.
func (s *sender) send(ctx context.Context, o sim.Order) error {
	job := s.Send(ctx, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	last := job.Attempts[len(job.Attempts)-1]
	s.say("   POST %d B → %d in %.1f ms  %s", len(o.Body(0)), job.Status,
		float64(last.Took.Microseconds())/1000, strings.TrimSpace(string(job.Answer)))
	if !job.Accepted() {
		return fmt.Errorf("post order: %s", job.Problem)
	}
	return nil
}
