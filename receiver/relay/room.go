package relay

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"
)

const (
	// pollsOfVenue are the one that waits and those to which a request is being written: somebody may read it slowly.
	pollsOfVenue = 16
	// idlePolls of a venue may end without a request at once, and then one in each idleEvery; a question for how much
	// waits is one of them. An honest box has one in PollTime.
	idlePolls = 30
	idleEvery = time.Second
	// fetchTime is for one fetch at the servers, which replicate that it begins: so there is one only while something
	// waits. A fetch that a dead server has forgotten costs as much.
	fetchTime = 5 * time.Second
	// fetchAgain is the pause after one that failed.
	fetchAgain = 250 * time.Millisecond
	// A request is heard of before it is stored, and the consumer's leader may be behind. So after one the consumer is
	// asked again and again for storedWithin, which costs no disk; else now and then.
	storedWithin = 5 * time.Second
	askSoon      = 100 * time.Millisecond
	askLater     = 10 * time.Second
)

// A room is where the box of one venue waits.
type room struct {
	newest *poll // nil: none
	polls  int
	idle   *rate.Limiter
	stored time.Time // when somebody last published a request, or may have done so unheard
}

// A poll is a box that waits for a request.
type poll struct {
	venue string
	room  *room
	token string        // its hash
	wake  chan struct{} // has a value when there may be a request
	end   context.CancelCauseFunc
}

// enter lets a poll wait; why says why it may not. The one before ends: mostly its connection is gone, and a request
// that is handed to it is late by AckWait.
func (d *Door) enter(p *poll) (why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return "the relay stops"
	}
	if d.tokens[p.token] != p.venue { // since it was let in
		return errRevoked.Error()
	}

	if p.room.idle.Tokens() < 1 || p.room.polls >= pollsOfVenue {
		return "this venue asks too often"
	}
	p.room.end(nil)
	p.room.newest = p
	p.room.polls++
	return ""
}

// room finds or makes the room of a venue. It is called with d.mu. Requests that were published before the relay
// listened were not heard.
func (d *Door) room(venue string) *room {
	found := d.rooms[venue]
	if found == nil {
		found = &room{idle: rate.NewLimiter(rate.Every(idleEvery), idlePolls), stored: time.Now()}
		d.rooms[venue] = found
	}
	return found
}

// leave ends a poll. idle says that it found nothing, for no fault of the servers.
func (d *Door) leave(p *poll, idle bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.room.polls--
	if p.room.newest == p {
		p.room.newest = nil
	}
	if idle {
		p.room.idle.Allow()
	}
}

// each calls do for each room.
func (d *Door) each(do func(*room)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.rooms {
		do(r)
	}
}

// stored wakes the box of a request that somebody publishes.
func (d *Door) stored(m *nats.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.rooms[strings.Split(m.Subject, ".")[1]]; found != nil {
		found.stir()
	}
}

// stir is called with the mutex of the door.
func (r *room) stir() {
	r.stored = time.Now()
	if r.newest != nil {
		ring(r.newest.wake)
	}
}

// end ends the poll that waits, if there is one. It is called with the mutex of the door.
func (r *room) end(why error) {
	if r.newest != nil {
		r.newest.end(why)
	}
}

// askAgain is how long a poll of a venue for which nothing is there waits until it asks again.
func (d *Door) askAgain(in *room) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()

	if time.Since(in.stored) < storedWithin {
		return askSoon
	}
	return askLater
}

// A found is a request that was fetched from the stream.
type found struct {
	jetstream.Msg
	behind uint64
	age    time.Duration // by the servers' clocks
}

// fetch waits for a request until ctx ends. Requests that waited before, and the one in the hands of a box that died,
// it finds by asking the consumer; of a new one it hears.
func (d *Door) fetch(ctx context.Context, p *poll) (*found, error) {
	for {
		consumer, err := d.stream.consumer(ctx, p.venue)
		if err != nil {
			return nil, err
		}

		asked := time.Now()
		if waiting(consumer.CachedInfo()) == 0 {
			select {
			case <-p.wake: // it may not be stored yet: the fetch waits for that
			case <-time.After(d.askAgain(p.room)):
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}

		msg, err := fetchOne(ctx, consumer)
		if err != nil { // perhaps the leader has changed
			time.Sleep(fetchAgain)
		}
		if msg == nil { // of a request that is known, there was a retry
			continue
		}

		meta, err := msg.Metadata()
		if err != nil {
			return nil, err
		}
		now := consumer.CachedInfo().TimeStamp.Add(time.Since(asked))
		return &found{msg, meta.NumPending, max(0, now.Sub(meta.Timestamp))}, nil
	}
}

// fetchOne is nil if nothing came within fetchTime. A request for a box that is gone is given back at once: another one
// need not wait for it.
func fetchOne(ctx context.Context, consumer jetstream.Consumer) (jetstream.Msg, error) {
	limited, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	msg, err := consumer.Next(jetstream.FetchContext(limited))
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return nil, nil
	case err == nil && ctx.Err() != nil:
		_ = msg.Nak()
		return nil, ctx.Err()
	}
	return msg, err
}
