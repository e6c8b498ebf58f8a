package relay

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"
)

const (
	// pollsOfVenue is how many polls of a venue wait here: its box has one, and perhaps one on a connection that is
	// gone.
	pollsOfVenue = 4
	// pollsAtOnce are those, and those to which a request is being written: somebody may read it slowly.
	pollsAtOnce = 16
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

// A room is where the polls of one venue wait.
type room struct {
	polls  []*poll
	idle   *rate.Limiter
	stored time.Time // when somebody last published a request, or may have done so unheard
}

// A poll is a box that waits for a request.
type poll struct {
	venue string
	token string // its hash
	box   string
	wake  chan struct{} // has a value when there may be a request
	end   context.CancelCauseFunc
}

// enter lets a poll wait; why says why it may not. The poll before of the same box is on a connection that is gone.
func (d *Door) enter(p *poll) (why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errStopping.Error()
	}
	if d.tokens[p.token] != p.venue { // since it was let in
		return errRevoked.Error()
	}

	waiting := d.room(p.venue)
	if waiting.idle.Tokens() < 1 || len(waiting.polls) >= pollsAtOnce {
		return "this venue asks too often"
	}

	for i, other := range waiting.polls {
		if other.box == p.box && p.box != "" || i <= len(waiting.polls)-pollsOfVenue {
			other.end(errReplaced)
		}
	}

	waiting.polls = append(waiting.polls, p)
	return ""
}

// mayLook says whether the servers are asked how much waits for a venue.
func (d *Door) mayLook(venue string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.room(venue).idle.Allow()
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
	left := d.rooms[p.venue]
	left.polls = slices.DeleteFunc(left.polls, func(other *poll) bool { return other == p })
	if idle {
		left.idle.Allow()
	}
}

// each calls do for each poll that waits.
func (d *Door) each(do func(*poll)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.rooms {
		for _, p := range r.polls {
			do(p)
		}
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
	for _, p := range r.polls {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// askAgain is how long a poll of a venue for which nothing is there waits until it asks again.
func (d *Door) askAgain(venue string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()

	if time.Since(d.room(venue).stored) < storedWithin {
		return askSoon
	}
	return askLater
}

// A found is a request that was fetched from the stream.
type found struct {
	ack     string // the address of its acknowledgement
	header  nats.Header
	body    []byte
	refused bool // it is a body that the receiver has refused
	behind  uint64
	age     time.Duration // by the servers' clocks
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
		if info := consumer.CachedInfo(); waiting(info) == 0 {
			select {
			case <-p.wake: // it may not be stored yet: the fetch waits for that
			case <-time.After(d.askAgain(p.venue)):
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}

		msg, err := fetchOne(ctx, consumer)
		if err != nil { // perhaps the leader has changed
			select {
			case <-time.After(fetchAgain):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}

		if msg == nil { // of a request that is known, there was a retry
			continue
		}

		meta, err := msg.Metadata()
		if err != nil {
			return nil, err
		}
		now := consumer.CachedInfo().TimeStamp.Add(time.Since(asked))
		return &found{ack: msg.Reply(), header: msg.Headers(), body: msg.Data(), behind: meta.NumPending,
			refused: strings.Split(msg.Subject(), ".")[2] == refused, age: max(0, now.Sub(meta.Timestamp))}, nil
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
