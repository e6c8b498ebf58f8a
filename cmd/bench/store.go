package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A store is a database as a week leaves it: keys of every day, the history of the last days,
// jobs that wait at the first station, which a person holds.
type store struct {
	keys, jobs int
	small      bool // small requests
	job        int  // the last one; the queue counts them from 1
}

// steppedClock is the box's clock some days ago, and known to be right: the queue takes the
// time between two openings for time that it was switched off, and credits it.
type steppedClock struct{ ago time.Duration }

func (c steppedClock) Now() time.Time   { return time.Now().Add(-c.ago) }
func (steppedClock) Synchronized() bool { return true }

const (
	days = 7
	// inFlight is how many changes wait at a time; wave is how many tickets stand in a queue
	// before they are cancelled, for a long one is slow to take from the middle.
	inFlight = 512
	wave     = 4096
)

// fill lives through a week: each day accepts its share of keys and finishes all but its share
// of jobs, by the queue's own methods. Then the daemon runs until it has nothing left to clean up.
func (b *bench) fill(ctx context.Context, path string, s store) error {
	for day := range days {
		if err := s.day(ctx, path, day); err != nil {
			return fmt.Errorf("fill a store, day %d: %w", day+1, err)
		}
	}
	return b.daemon(ctx, path, setup{}, func(d *daemon) error { return d.quiet(ctx) })
}

func (s *store) day(ctx context.Context, path string, day int) (err error) {
	q, err := queue.Open(queue.Options{
		Path: path, MaxBacklog: 10_000_000, Reserve: -1, NoSync: true,
		Clock: steppedClock{time.Duration(days-1-day) * 24 * time.Hour},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	if err := q.HoldStation(ctx, station(0), "waits for the bench"); err != nil && day == 0 {
		return err
	}
	share := func(total int) int { return total*(day+1)/days - total*day/days }
	jobs := share(s.jobs)
	if err := s.accept(ctx, q, station(0), jobs); err != nil {
		return err
	}
	for left := share(s.keys) - jobs; left > 0; left -= wave {
		n, first := min(left, wave), s.job+1
		err := s.accept(ctx, q, "past", n)
		if err := errors.Join(err, inParallel(n, func(i int) error { return q.Cancel(ctx, uint64(first+i), "served") })); err != nil {
			return err
		}
	}
	return nil
}

// accept adds n orders of one ticket each.
func (s *store) accept(ctx context.Context, q *queue.Queue, station string, n int) error {
	body, lines := contract.Example("burger.json"), make([]ticket.Line, 8)
	if s.small {
		body, lines = []byte(`{"records":[{"id":"","items":[{"name":"Burger"}]}]}`), lines[:1]
	}
	for i := range lines {
		lines[i] = ticket.Line{Quantity: "1", Name: "Burger with everything"}
	}
	first := s.job + 1
	s.job += n
	return inParallel(n, func(i int) error {
		r := ticket.Request{
			Venue: venueID, ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", first+i), Device: deviceID, Received: time.Now().UTC(), Body: body,
			Digest: sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(first+i))),
		}
		r.Drafts = []ticket.Draft{{Station: station, Ticket: ticket.Ticket{Venue: venueID, Request: r.ID, Number: "18", Received: r.Received, Lines: lines}}}
		receipt, err := q.Accept(ctx, r)
		if err == nil && (receipt.Duplicate || receipt.Jobs != 1) {
			err = fmt.Errorf("a new request made %d jobs, duplicate %t", receipt.Jobs, receipt.Duplicate)
		}
		return err
	})
}

// inParallel calls f for 0 to n-1, about in order.
func inParallel(n int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(inFlight)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}
