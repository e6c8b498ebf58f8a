package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/receiver"
)

const (
	takeTime = 4 * time.Second // for one attempt to store a request in the queue
	takeWait = 4 * time.Second // at most, between two attempts
	ackTime  = 5 * time.Second // for the servers' answer that a request has ended
	// reconnectWait is the longest pause before the consumer is looked for again.
	reconnectWait = 15 * time.Second
	reportTime    = 20 * time.Second // between two reports to the relay
	askTime       = 5 * time.Second  // for one answer of a server
	// A fetch that a dead server has forgotten is noticed after two heartbeats.
	fetchHeartbeat = 2 * time.Second
	// fetchTime is for one fetch without an order. The servers replicate and sync that it begins and that it ends, so
	// many boxes with a short one cost more disk than all orders. A server that has not noticed that a box is gone
	// sends the next order to its last fetch until that ends, and after AckWait to the box that started meanwhile.
	fetchTime = 30 * time.Second
)

// An Arrival is a request as the relay accepted it.
type Arrival struct {
	ID, Device string        // as the relay found them
	Received   time.Time     // by the relay's clock
	Age        time.Duration // since it was stored, by the servers' clocks: the box's own may be years wrong
	Body       []byte        // as received
	Refused    *receiver.Reject
}

// ErrNever in an error of Take says that no attempt can succeed: the request is not sent again.
var ErrNever = errors.New("it can never be taken")

// SourceOptions configure a [Source]. All but Logger and Registerer are required.
type SourceOptions struct {
	Conn  *nats.Conn
	Venue string // UUID, lower case

	// Take stores one request. It returns nil only when all of it would survive a power cut. It must know a request
	// that it has taken: the same one comes again after a crash. It is called for one request at a time, in the order
	// of the stream, again with the same one after an error. Arrival.Refused is a body that was refused by the relay.
	Take func(context.Context, Arrival) error

	Report func() Report // what the relay is told of the box
	Logger *slog.Logger

	Registerer prometheus.Registerer
}

// A Source fetches the requests of one venue. It is safe for concurrent use; Run is called once.
type Source struct {
	o   SourceOptions
	js  jetstream.JetStream
	log *slog.Logger
	sourceState
}

// NewSource makes a [Source]. Nothing is fetched before Run.
func NewSource(o SourceOptions) *Source {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(o.Conn)
	if err != nil {
		panic(err) // only for options, and there are none
	}
	s := &Source{o: o, js: js, log: o.Logger.With("component", "source")}
	s.metrics = newSourceMetrics(s, o.Registerer)
	s.status.Down = time.Now()
	return s
}

// Run fetches until ctx ends, whatever fails meanwhile. It returns nil.
func (s *Source) Run(ctx context.Context) error {
	reporting := make(chan struct{})
	go func() {
		defer close(reporting)
		s.report(ctx)
	}()
	wait := time.Second
	for ctx.Err() == nil {
		took, err := s.fetch(ctx)
		if ctx.Err() != nil {
			break
		}
		if took {
			wait = time.Second
		}
		if s.failed(err) {
			s.log.Warn("nothing can be fetched from the relay", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(jitter(wait)):
		}
		wait = min(2*wait, reconnectWait)
	}
	<-reporting
	return nil
}

// jitter keeps a thousand boxes from coming back at the same moment.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// fetch takes one request after the other until something fails. took says that it worked until then.
func (s *Source) fetch(ctx context.Context) (took bool, err error) {
	consumer, err := s.ask(ctx)
	if err != nil {
		return false, err
	}
	// One at a time: the next is fetched when this one was acknowledged.
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1), jetstream.PullExpiry(fetchTime),
		jetstream.PullHeartbeat(fetchHeartbeat))
	if err != nil {
		return false, err
	}
	defer messages.Stop()
	if s.recovered() {
		s.log.Info("connected to the relay", "behind", s.Status().Behind)
	}
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return took, err
		}
		if err := s.take(ctx, msg); err != nil {
			return took, err
		}
		took = true
	}
}

// ask finds the consumer and notes what it says: the server's time and how much waits.
func (s *Source) ask(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	consumer, err := consumerAt(ctx, s.js, s.o.Venue)
	if err != nil {
		return nil, err
	}
	s.asked(consumer.CachedInfo())
	return consumer, nil
}

func consumerAt(ctx context.Context, js jetstream.JetStream, venue string) (jetstream.Consumer, error) {
	consumer, err := js.Consumer(ctx, StreamName, venue)
	if err == nil && isRemoved(consumer.CachedInfo()) {
		err = jetstream.ErrConsumerNotFound
	}
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("the relay does not know venue %s: run `ticketrail relay venues add` there (%w)",
			venue, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ask for what waits: %w", err)
	}
	return consumer, nil
}

// Waiting asks the relay how many requests wait for a venue's box, without taking any.
func Waiting(ctx context.Context, nc *nats.Conn, venue string) (uint64, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	consumer, err := consumerAt(ctx, js, venue)
	if err != nil {
		return 0, err
	}
	info := consumer.CachedInfo()
	return info.NumPending + uint64(info.NumAckPending), nil
}

// take has one message stored and acknowledges it.
//
// A crash before Take returns leaves the request in the stream: it comes again. A crash after it, before the
// acknowledgement is stored, too: then the queue knows it, and nothing prints twice.
func (s *Source) take(ctx context.Context, msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("read a message of the relay: %w", err)
	}
	s.begun(meta)
	defer s.ended()
	arrival, err := decode(msg, meta)
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go sayWorking(working, msg)
	for wait := takeWait / 16; err == nil; wait = min(2*wait, takeWait) {
		if err = s.takeOnce(ctx, arrival, meta.Timestamp); err == nil {
			s.took()
			return s.settle(ctx, msg, "+ACK")
		}
		if ctx.Err() != nil {
			return giveBack(ctx, msg)
		}
		if errors.Is(err, ErrNever) {
			break
		}
		if s.refusedToTake(err) {
			s.log.Error("an order of the relay cannot be stored; it is tried again, and the next ones wait",
				"request", arrival.ID, "err", err)
		}
		err = nil
		select {
		case <-ctx.Done():
			return giveBack(ctx, msg)
		case <-time.After(wait):
		}
	}
	s.log.Error("a request of the relay was given up; see ticketrail rejects list", "request", arrival.ID, "err", err)
	s.metrics.givenUp.Inc()
	return s.settle(ctx, msg, fmt.Sprintf("+TERM %.200q", err.Error()))
}

// sayWorking keeps the stream from sending a message again that this box still has, until ctx ends. So AckWait can be
// short: it is how long an order waits that was sent to a box that is gone.
func sayWorking(ctx context.Context, msg jetstream.Msg) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(AckWait / 3):
			_ = msg.InProgress() // if it gets lost, the request comes again, and is known by then
		}
	}
}

// giveBack lets a box that starts now have the message at once: after a crash it waits for AckWait.
func giveBack(ctx context.Context, msg jetstream.Msg) error {
	_ = msg.Nak()
	return ctx.Err()
}

func (s *Source) takeOnce(ctx context.Context, a Arrival, stored time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	a.Age = s.age(stored)
	return s.o.Take(ctx, a)
}

// settle ends a message and waits until the servers have stored that. Without their answer it may come again, which
// Take knows; but the stream would wait for AckWait first, so it is told until it answers.
func (s *Source) settle(ctx context.Context, msg jetstream.Msg, how string) error {
	// Also at a stop: what was taken is told, or the next start would wait for AckWait before its first order.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer cancel()
	for {
		attempt, cancel := context.WithTimeout(ctx, ackTime/2)
		_, err := s.o.Conn.RequestWithContext(attempt, msg.Reply(), []byte(how))
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("tell the relay that a request was taken: %w", err)
		case <-time.After(ackTime / 20):
		}
	}
}

// decode reads a message. Headers that cannot be read are no reason to lose an order: its body says what to print.
func decode(msg jetstream.Msg, meta *jetstream.MsgMetadata) (Arrival, error) {
	if tokens := strings.Split(msg.Subject(), "."); len(tokens) == 4 && tokens[2] == refused {
		var one receiver.Reject
		if err := json.Unmarshal(msg.Data(), &one); err != nil {
			return Arrival{}, fmt.Errorf("read a refused body of the relay: %w: %w", ErrNever, err)
		}
		return Arrival{Device: one.Device, Received: one.Time, Body: one.Body, Refused: &one}, nil
	}
	h := msg.Headers()
	received, err := time.Parse(time.RFC3339Nano, h.Get(headerReceived))
	if err != nil {
		received = meta.Timestamp
	}
	return Arrival{ID: unquote(h.Get(headerID)), Device: unquote(h.Get(headerDevice)), Received: received.UTC(),
		Body: msg.Data()}, nil
}

func unquote(s string) string {
	if text, err := strconv.Unquote(s); err == nil {
		return text
	}
	return s
}
