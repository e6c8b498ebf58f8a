package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// A store is a database as a week leaves it: keys of every hour, the history of the last
// three days, jobs that wait on a station that a person holds.
type store struct {
	path       string
	keys, jobs int
	bytes      int64
}

func (s store) size() string { return fmt.Sprintf("%d MB file", s.bytes>>20) }

// steppedClock is the box's clock some hours ago, and known to be right: the queue takes the
// time between two openings for time that it was switched off, and credits it.
type steppedClock struct{ ago time.Duration }

func (c steppedClock) Now() time.Time   { return time.Now().Add(-c.ago) }
func (steppedClock) Synchronized() bool { return true }

const (
	hours = 168
	// inFlight is how many changes wait at a time; wave is how many tickets stand in the line
	// of a station before they are cancelled, for a long line is slow to take from the middle.
	inFlight = 512
	wave     = 4096
)

// largeStore is the million keys and 50,000 jobs, made once in a run.
func (b *bench) largeStore(ctx context.Context) (store, error) {
	s := store{path: b.path("large.db"), keys: pick(b, 1_000_000, 100_000), jobs: pick(b, 50_000, 5_000)}
	if b.million == "" {
		// Small bodies: the measures are about keys and jobs.
		sample := ticket.Request{Body: []byte(`{"records":[{"id":"","items":[{"name":"Burger"}]}]}`), Drafts: []ticket.Draft{{
			Ticket: ticket.Ticket{Venue: venueID, Number: "18", Lines: []ticket.Line{{Quantity: "1", Name: "Burger"}}},
		}}}
		if err := b.fill(ctx, s, sample); err != nil {
			return s, fmt.Errorf("fill the large store: %w", err)
		}
		b.million = s.path
	}
	return s.measured()
}

// smallStore is 20,000 keys and 10,000 jobs of full-size orders.
func (b *bench) smallStore(ctx context.Context) (store, error) {
	s := store{path: b.path("small.db"), keys: pick(b, 20_000, 10_000), jobs: pick(b, 10_000, 5_000)}
	sample, err := planned()
	if err == nil {
		err = b.fill(ctx, s, sample)
	}
	if err != nil {
		return s, fmt.Errorf("fill the small store: %w", err)
	}
	return s.measured()
}

func (s store) measured() (store, error) {
	info, err := os.Stat(s.path)
	if err == nil {
		s.bytes = info.Size()
	}
	return s, err
}

// planned is the example order as the receiver would hand it over.
func planned() (ticket.Request, error) {
	p, err := plan.Compile(twoStations())
	if err != nil {
		return ticket.Request{}, err
	}
	opened, err := contract.Open(contract.Example("burger.json"), contract.Lenient)
	if err != nil {
		return ticket.Request{}, err
	}
	return p.Split(opened, plan.Venue{ID: venueID, Name: "Harbour Grill"}, deviceID, time.Now(), nil).Request, nil
}

// fill lives through a week: each hour accepts its share of keys and finishes all but its
// share of jobs. Everything goes through the queue's own methods.
func (b *bench) fill(ctx context.Context, s store, sample ticket.Request) error {
	began := time.Now()
	f := &filler{b: b, sample: sample}
	for hour := range hours {
		keys, jobs := share(s.keys, hour), share(s.jobs, hour)
		if err := f.hour(ctx, s.path, hour, keys, jobs); err != nil {
			return fmt.Errorf("hour %d: %w", hour, err)
		}
		if hour%24 == 23 {
			b.say("  day %d: %d keys in %.0f s", hour/24+1, s.keys*(hour+1)/hours, time.Since(began).Seconds())
		}
	}
	return nil
}

func share(total, hour int) int { return total*(hour+1)/hours - total*hour/hours }

type filler struct {
	b      *bench
	sample ticket.Request
	job    uint64 // the last one; the queue counts them from 1
}

func (f *filler) hour(ctx context.Context, path string, hour, keys, jobs int) (err error) {
	k, err := f.b.kitchen(path, twoStations(), steppedClock{time.Duration(hours-1-hour) * time.Hour})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	if hour == 0 {
		if err := k.queue.HoldStation(ctx, "grill", "waits for the bench"); err != nil {
			return err
		}
	}
	waited := k.waiting()
	if err := f.accept(ctx, k.queue, "grill", jobs); err != nil {
		return err
	}
	for left := keys - jobs; left > 0; left -= wave {
		n := min(left, wave)
		first := f.job + 1
		if err := f.accept(ctx, k.queue, "bar", n); err != nil {
			return err
		}
		err := inParallel(ctx, n, func(i int) error { return k.queue.Cancel(ctx, first+uint64(i), "served") })
		if err != nil {
			return err
		}
	}
	if got, want := k.waiting(), waited+jobs; got != want {
		return fmt.Errorf("%d jobs wait, want %d", got, want)
	}
	return k.idle(ctx) // the hour's old history is removed when there is nothing else to do
}

func (f *filler) accept(ctx context.Context, q *queue.Queue, station string, n int) error {
	f.job += uint64(n)
	return inParallel(ctx, n, func(int) error {
		id := f.b.ids.Add(1)
		r := f.sample
		r.Venue, r.Device, r.ID = venueID, deviceID, fmt.Sprintf("00000000-0000-4000-8000-%012x", id)
		r.Received = time.Now().UTC()
		r.Digest = sha256.Sum256(binary.BigEndian.AppendUint64(nil, id))
		t := r.Drafts[0].Ticket
		t.Request, t.Received = r.ID, r.Received
		r.Drafts = []ticket.Draft{{Station: station, Ticket: t}}
		receipt, err := q.Accept(ctx, r)
		if err == nil && (receipt.Duplicate || receipt.Jobs != 1) {
			err = fmt.Errorf("a new request made %d jobs, duplicate %t", receipt.Jobs, receipt.Duplicate)
		}
		return err
	})
}

// inParallel calls f for 0 to n-1, from inFlight goroutines, about in order.
func inParallel(ctx context.Context, n int, f func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(inFlight, n) {
		wg.Go(func() {
			for i := range work {
				if err := f(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		work <- i
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}
