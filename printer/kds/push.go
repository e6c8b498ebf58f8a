package kds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"ticketrail/queue/ticket"
)

// PushOptions say where another kitchen display takes its tickets. Name and URL are required.
// The files are read anew at each attempt: who changes one need not tell anybody.
type PushOptions struct {
	Name       string // the station's
	URL        string // https://kds.example/api/tickets
	TokenFile  string // holds a bearer token; "": none is sent
	SecretFile string // holds Standard Webhooks secrets (whsec_…), one a line; "": nothing is signed
	CAFile     string // PEM certificates of who may vouch for the display; "": the system's
	// Timeout is for connecting, and then for sending and the answer; 0 is 5 s.
	Timeout time.Duration
	// Raw returns the original record of a delivery, which is sent along. It must be the same at
	// each attempt. Nil: it is not sent. One that fails is left out.
	Raw    func(ctx context.Context, d ticket.Delivery) (json.RawMessage, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil: a net.Dialer's
	Logger *slog.Logger                                                         // nil: silent
}

// Headers of an attempt, beside those of [readSecrets].
const (
	headerKey = "Idempotency-Key"
	// headerDoubt is "true" where an earlier attempt, here or at another station, may have
	// arrived. Who does not know the key shows POSSIBLE DUPLICATE; who does has it already. It is
	// a header because the body under one key never changes.
	headerDoubt   = "Ticketrail-Possible-Duplicate"
	headerAttempt = "Ticketrail-Attempt" // 1 for the first
)

// Push is a station that posts its tickets to another kitchen display, one at a time. It is safe
// for concurrent use.
type Push struct {
	o      PushOptions
	url    *url.URL
	log    *slog.Logger
	client pushClient

	mu        sync.Mutex // guards what follows
	notBefore time.Time  // the display asked not to be called before; zero: it did not
}

// NewPush checks the URL. It panics without a name: that is a mistake in the wiring.
func NewPush(o PushOptions) (*Push, error) {
	if o.Name == "" {
		panic("kds.NewPush: Options.Name is empty")
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("url: not a URL; want one like https://kds.example/api/tickets") // err holds all of it
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("url: begins with %.20q; want one like https://kds.example/api/tickets", u.Scheme)
	case u.Host == "":
		return nil, errors.New("url: names no host; want one like https://kds.example/api/tickets")
	case u.User != nil:
		return nil, errors.New("url: holds a user or a password; put a token into token_file")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	orDefault(&o.Timeout, 5*time.Second)
	return &Push{o: o, url: u, log: o.Logger.With("component", "kds", "station", o.Name),
		client: pushClient{dial: o.Dial, connectTimeout: o.Timeout}}, nil
}

// Idempotent says that a ticket that is given again, after an attempt that broke, has the same
// key, by which the other side knows it: however often that happens, no mark and no person is
// needed. Somewhere else it would be a second copy.
func (*Push) Idempotent() bool { return true }

// Print posts one ticket. begin is called when the connection stands and before the first byte
// of the ticket.
//
// The proof is [ticket.Taken]: the display answered 2xx, or 409, by which it says that it has a
// ticket of that key. [ticket.IsPermanent] marks that it will never take it (any other 4xx),
// [ticket.IsNotReady] what a person must do here or that it asked for patience,
// [ticket.IsUntouched] that it said it did not take it. Any other error after begin is doubt: it
// may have it. Each of those is tried again, under the same key.
func (p *Push) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	if err := p.awaitRetryAfter(ctx); err != nil {
		return "", err
	}
	k, err := readCredentials(p.o)
	if err != nil {
		return "", ticket.NotReady(p.errorf("%w", err))
	}
	body, err := p.compose(ctx, d)
	if err != nil {
		return "", ticket.Permanent(p.errorf("%w", err))
	}
	post := &attempt{p: p, creds: k, d: d, body: body, begin: begin}
	defer post.finish()
	if err := post.send(ctx); err != nil {
		return "", err
	}
	return ticket.Taken, nil
}

func (p *Push) compose(ctx context.Context, d ticket.Delivery) ([]byte, error) {
	var raw json.RawMessage
	if p.o.Raw != nil {
		var err error
		if raw, err = p.o.Raw(ctx, d); err != nil {
			p.log.Debug("the original record is not sent along", "job", d.Job, "err", err)
		}
	}
	body, err := json.Marshal(NewDocument(d, raw))
	if err != nil {
		return nil, fmt.Errorf("compose document: %w", err)
	}
	return body, nil
}

// errorf names the display by what is no secret of its address.
func (p *Push) errorf(format string, args ...any) error {
	return fmt.Errorf("display at %s: "+format, append([]any{p.url.Scheme + "://" + p.url.Host}, args...)...)
}

// shortWait is waited out within an attempt; a longer one leaves the station to others.
const maxInlineWait = 5 * time.Second

// patience waits as long as the display asked for.
func (p *Push) awaitRetryAfter(ctx context.Context) error {
	p.mu.Lock()
	resume := p.notBefore
	p.mu.Unlock()
	wait := time.Until(resume)
	switch {
	case wait <= 0:
		return nil
	case wait > maxInlineWait:
		return ticket.NotReady(p.errorf("it asked for patience: calling again in %v", wait.Round(time.Second)))
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return p.errorf("wait until it may be called: %w", context.Cause(ctx))
	}
}

// A posting is one attempt.
type attempt struct {
	p     *Push
	creds credentials
	d     ticket.Delivery
	body  []byte
	begin func(context.Context) error

	mu          sync.Mutex // guards what follows; the transport writes the body when it likes
	beginCalled bool
	finished    bool
	beginErr    error
	timer       *time.Timer
}

var errTimeout = errors.New("no answer in time")

func (a *attempt) send(ctx context.Context) error {
	client, err := a.p.client.client(a.creds.ca)
	if err != nil {
		return ticket.NotReady(a.p.errorf("%w", err))
	}
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.timer = time.AfterFunc(a.p.o.Timeout, func() { cancel(errTimeout) })
	defer a.timer.Stop()
	res, err := client.Do(a.request(ctx, timed))
	if err != nil {
		return a.transportError(ctx, timed, err)
	}
	defer res.Body.Close()
	if !a.begun() {
		return a.transportError(ctx, timed, errors.New("it answered before it had the ticket"))
	}
	return a.interpret(res)
}

func (a *attempt) request(ctx, timed context.Context) *http.Request {
	key := deliveryKey(a.d)
	now := time.Now()
	r := (&http.Request{
		Method: http.MethodPost, URL: a.p.url, Host: a.p.url.Host, ContentLength: int64(len(a.body)),
		Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(timed)
	r.GetBody = func() (io.ReadCloser, error) { return &beginReader{a, ctx, bytes.NewReader(a.body)}, nil }
	r.Body, _ = r.GetBody()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "ticketrail")
	r.Header.Set(headerKey, key)
	r.Header.Set(headerAttempt, strconv.Itoa(a.d.Attempt))
	if a.d.Doubt {
		r.Header.Set(headerDoubt, "true")
	}
	if a.creds.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.creds.token)
	}
	if len(a.creds.signer.keys) > 0 {
		r.Header.Set(headerID, key)
		r.Header.Set(headerTimestamp, unixSeconds(now))
		r.Header.Set(headerSignature, a.creds.signer.sign(key, now, a.body))
	}
	return r
}

// An opening is the body of a request: its first byte is read when the connection stands, so
// that is when doubt begins.
type beginReader struct {
	a    *attempt
	ctx  context.Context
	rest *bytes.Reader
}

func (o *beginReader) Read(b []byte) (int, error) {
	if err := o.a.beginOnce(o.ctx); err != nil {
		return 0, err
	}
	return o.rest.Read(b)
}

func (o *beginReader) Close() error { return nil }

var errFinished = errors.New("the attempt is over")

// start begins, once however often the body is sent (a connection that had gone stale, a
// redirect within the host).
//
// A crash before begin has committed: not a byte of the ticket went out. A crash after it: the
// display may have it, and is asked again under the same key.
func (a *attempt) beginOnce(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.finished:
		return errFinished
	case a.beginCalled:
		return a.beginErr
	case !a.timer.Stop(): // the storage's time is not the display's
		return errTimeout
	}
	a.beginCalled = true
	if a.beginErr = a.begin(ctx); a.beginErr == nil {
		a.timer.Reset(a.p.o.Timeout)
	}
	return a.beginErr
}

// open says whether the body was begun.
func (a *attempt) begun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.beginCalled && a.beginErr == nil
}

func (a *attempt) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished = true
}
