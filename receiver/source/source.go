// Package source is the box's side of a relay. It fetches the requests of one venue over HTTPS, one after another, and
// has each stored in the box's own queue before it acknowledges it. So no box needs a public address, and an order is
// safe while the box is off. It also has the words that both sides write on that connection.
package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	rng "math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"ticketrail/receiver"
)

const (
	takeTime   = 4 * time.Second  // for one attempt to store a request in the queue
	answerTime = 10 * time.Second // for the beginning of an answer, in addition to the time of a poll
	ackTime    = 5 * time.Second  // for the servers' answer that a request has ended
	firstWait  = 250 * time.Millisecond
	// reportEvery is how often the box looks at itself: a thousand orders that waited must not wait for that.
	reportEvery = 10 * time.Second
	// longestWait is the longest pause after a failure.
	longestWait = 5 * time.Second
	// maxBody is more than a relay accepts.
	maxBody = 32 << 20
)

// An Arrival is a request as the relay accepted it. Its Age is since it was stored, by the servers' clocks: the box's
// own may be years wrong.
type Arrival struct {
	receiver.Relayed
	ID      string // as the relay found it
	Refused *receiver.Reject

	handle string
}

// ErrNever in an error of Take says that no attempt can succeed: the request is not sent again.
var ErrNever = errors.New("it can never be taken")

// ErrToken says that the relay does not accept the token.
var ErrToken = errors.New("the relay refuses the token")

// Options configure a [Source]. All are required.
type Options struct {
	URL       string // of the relay, without a path
	Venue     string // UUID, lower case
	Token     func() (string, error)
	Transport http.RoundTripper

	// Take stores one request. It returns nil only when all of it would survive a power cut. It must know a request
	// that it has taken: the same one comes again after a crash. It is called for one request at a time, in the order
	// of the relay, again with the same one after an error. Arrival.Refused is a body that was refused by the relay.
	Take func(context.Context, Arrival) error

	Report func() Report // the box's report to the relay
	Logger *slog.Logger
}

// A Source fetches the requests of one venue. It is safe for concurrent use; Run is called once.
type Source struct {
	o   Options
	id  string // of this process
	log *slog.Logger

	mu     sync.Mutex // guards the fields below
	status Status     // without Oldest
	stored time.Time  // when the request at hand was stored, by the clock of this process; zero: there is none

	// Only Run uses these: the box as the relay was last told of it, when it was looked at, and that the relay has
	// answered how many wait and no poll since.
	box      string
	looked   time.Time
	pollOnly bool
}

// New makes a [Source]. Nothing is fetched before Run.
func New(o Options) *Source {
	return &Source{o: o, id: rand.Text(), log: o.Logger.With("component", "source"), status: Status{Down: time.Now()}}
}

// Transport is how a box reaches its relay: through the proxy of the environment, and over HTTP/1, because a request
// that is given up then ends its connection, which a network may have cut without a word.
func Transport() *http.Transport {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: answerTime,
		IdleConnTimeout: time.Minute, Protocols: new(http.Protocols),
		DialContext: (&net.Dialer{Timeout: answerTime}).DialContext}
	transport.Protocols.SetHTTP1(true)
	return transport
}

// Run fetches until ctx ends, whatever fails. It returns nil.
func (s *Source) Run(ctx context.Context) error {
	wait := firstWait

	for ctx.Err() == nil {
		start := time.Now()
		goOn, err := s.round(ctx)
		if err == nil && (goOn || time.Since(start) >= time.Second) {
			wait = firstWait
			continue
		}

		// After an answer without a request that came at once, too: a relay that stops must not be asked in a circle.
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rng.N(wait)): // a thousand boxes do not come back at the same moment
		}
		wait = min(2*wait, longestWait)
	}
	return nil
}

// round asks for a request and takes it. goOn says that the next round may follow at once.
//
// A poll without an order is answered only after PollTime. So a box that is not connected first asks how many wait,
// which is answered at once. That does not show that orders can be fetched: if the poll behind it fails, as in a
// network that cuts long answers, the box stays down until a poll is answered.
func (s *Source) round(ctx context.Context) (goOn bool, err error) {
	poll := s.pollOnly || s.Status().Down.IsZero()
	arrival, behind, err := s.next(ctx, poll)
	switch {
	case ctx.Err() != nil && arrival == nil:
		return false, nil
	case err != nil:
		s.failed(err, nil)
		return false, err
	}

	s.pollOnly = !poll
	s.reached(arrival, behind)
	if arrival == nil {
		return !poll, nil
	}
	err = s.take(ctx, *arrival)
	return err == nil, err
}

// take has one request stored and acknowledges it.
//
// A crash before Take returns leaves the request at the relay: it comes again. A crash after it, before the
// acknowledgement is stored there, too: then the queue knows it, and nothing prints twice. A request that cannot be
// stored now is not kept here: the relay hands it out again after a few seconds, to this box or to the one that has
// taken its place, and nothing behind it before.
func (s *Source) take(ctx context.Context, a Arrival) error {
	ctx = context.WithoutCancel(ctx) // a stop interrupts nothing that was begun
	attempt, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()

	err := s.o.Take(attempt, a)
	ack := Ack{Handle: a.handle, Result: Stored}
	switch {
	case errors.Is(err, ErrNever):
		s.log.Error("a request of the relay was given up; see ticketrail rejects list", "request", a.ID, "err", err)
		ack.Result, ack.Reason = Refused, fmt.Sprintf("%.200q", err.Error())
	case err != nil:
		s.failed(err, &a)
		return err
	}

	s.took(err == nil)
	if err = s.ack(ctx, ack); err != nil { // the relay hands out no other request until it has the answer
		s.failed(err, nil)
	}
	return err
}

// next asks the relay for the oldest request that was not acknowledged, nil: there is none, and how many more wait.
// Without poll it only asks how many wait.
func (s *Source) next(ctx context.Context, poll bool) (a *Arrival, behind uint64, err error) {
	method, within := http.MethodHead, answerTime
	if poll {
		method, within = http.MethodGet, PollTime+answerTime
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := time.AfterFunc(within, cancel)
	defer limit.Stop()

	resp, err := s.ask(ctx, method, PathNext, nil)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	limit.Reset(BodyTime(resp.ContentLength))

	behind, err = behindOf(s.o.URL, resp)
	if err != nil || !poll || resp.StatusCode == http.StatusNoContent {
		return nil, behind, err
	}

	came := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxBody))
	if err != nil {
		return nil, 0, fmt.Errorf("read a request of the relay: %w", err)
	}
	return s.decode(resp.Header, body, came), behind, nil
}

// decode reads a request. Headers that cannot be read are no reason to lose an order: its body has the lines to print,
// or is kept with the refused ones.
func (s *Source) decode(h http.Header, body []byte, came time.Time) *Arrival {
	arrival := &Arrival{ID: unquote(h.Get(HeaderID)), handle: h.Get(HeaderHandle),
		Relayed: receiver.Relayed{Venue: s.o.Venue, Device: unquote(h.Get(HeaderDevice)), Body: body}}
	age, err := time.ParseDuration(h.Get(HeaderAge))
	if err == nil {
		arrival.Age = max(0, age) + time.Since(came)
	}

	if arrival.Received, err = time.Parse(time.RFC3339Nano, h.Get(HeaderReceived)); err != nil {
		arrival.Received = time.Now().Add(-arrival.Age)
	}
	arrival.Received = arrival.Received.UTC()

	var one receiver.Reject
	if h.Get(HeaderRefused) != "" && json.Unmarshal(body, &one) == nil {
		arrival.Refused = &one
	}
	return arrival
}

// ack ends a request and waits until the servers have stored that. Without their answer it comes again after a few
// seconds, which Take knows.
func (s *Source) ack(ctx context.Context, a Ack) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	resp, err := s.ask(ctx, http.MethodPost, PathAck, body)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// ask sends one request. An answer that is not 2xx is an error. It follows no redirect: the token is for the relay
// alone.
func (s *Source) ask(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	if s.o.Report != nil && (s.box == "" || time.Since(s.looked) > reportEvery) {
		box, err := json.Marshal(Box{s.id, s.o.Report()})
		if err != nil {
			return nil, err
		}
		s.box, s.looked = string(box), time.Now()
	}

	token, err := s.o.Token()
	if err != nil {
		return nil, err
	}

	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.o.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set(HeaderVenue, s.o.Venue)
	if s.box != "" {
		req.Header.Set(HeaderBox, s.box)
	}

	client := http.Client{Transport: s.o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNoContent {
		return resp, nil
	}

	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // of a proxy it may be a page

	why := fmt.Errorf("%s answers %s: %s", s.o.URL, resp.Status,
		cmp.Or(strings.Join(strings.Fields(string(text)), " "), "no reason"))
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		why = fmt.Errorf("%w: %w", ErrToken, why)
	}
	return nil, why
}

// Waiting asks the relay how many requests wait for a venue's box, without taking any. Of o it needs URL, Venue, Token
// and Transport.
func Waiting(ctx context.Context, o Options) (uint64, error) {
	resp, err := (&Source{o: o}).ask(ctx, http.MethodHead, PathNext, nil)
	if err != nil {
		return 0, err
	}

	_ = resp.Body.Close()
	return behindOf(o.URL, resp)
}

// behindOf is how many requests wait, by an answer. Whatever another server answers, at a wrong address or in the way,
// is no order.
func behindOf(url string, resp *http.Response) (uint64, error) {
	behind, err := strconv.ParseUint(resp.Header.Get(HeaderBehind), 10, 64)
	if err != nil || resp.StatusCode == http.StatusOK && resp.Header.Get(HeaderHandle) == "" {
		return 0, fmt.Errorf("%s is no relay: its answer names no order and does not say how many wait", url)
	}
	return behind, nil
}
