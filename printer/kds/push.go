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

// An attempt is one HTTP request. What it costs the ticket depends on when it fails: before the
// first byte of the body nothing was sent (no doubt), after it only the answer tells. beginReader
// finds that moment.

// PushOptions configure a third-party kitchen display. Name and URL are required. The files are
// read at each attempt, so a secret can be changed without a reload.
type PushOptions struct {
	Name       string // of the station
	URL        string // https://kds.example/api/tickets
	TokenFile  string // contains a bearer token; "": none is sent
	SecretFile string // contains Standard Webhooks secrets (whsec_…), one on each line; "": nothing is signed
	CAFile     string // PEM certificates of trusted authorities; "": those of the system
	// Timeout limits connecting, and then sending and the answer; 0 is 5 s.
	Timeout time.Duration
	// Raw returns the original record of a delivery, which is sent too. It must be the same at each
	// attempt. Nil, or an error: the document is sent without it.
	Raw    func(ctx context.Context, d ticket.Delivery) (json.RawMessage, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil: a net.Dialer's
	Logger *slog.Logger                                                         // nil: silent
}

// Headers of an attempt, beside those of push_sign.go.
const (
	headerKey = "Idempotency-Key"
	// headerDoubt is "true" if an earlier attempt, here or at another station, may have arrived. A
	// display that does not know the key shows POSSIBLE DUPLICATE; one that does has the ticket
	// already. It is a header because the body under one key never changes.
	headerDoubt   = "Ticketrail-Possible-Duplicate"
	headerAttempt = "Ticketrail-Attempt" // 1 for the first
)

// Push is a station that posts its tickets to a third-party kitchen display, one at a time. It is
// safe for concurrent use.
type Push struct {
	o      PushOptions
	url    *url.URL
	log    *slog.Logger
	client pushClient

	mu        sync.Mutex // guards what follows
	notBefore time.Time  // the display asked for no request before this time; zero: it did not ask
}

// NewPush checks the URL. It panics without a name, which is a mistake of the caller. Errors never
// contain the whole URL: its path may be a secret.
func NewPush(o PushOptions) (*Push, error) {
	if o.Name == "" {
		panic("kds.NewPush: Options.Name is empty")
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		// err contains the whole URL
		return nil, errors.New("url: not a URL; want one like https://kds.example/api/tickets")
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

// Idempotent reports that a ticket may be posted again after an attempt that broke: it has the same
// key, by which the display recognises it. So however often that happens, the ticket needs no mark
// and no decision of a person. At another station it would be a second copy, and is marked.
func (*Push) Idempotent() bool { return true }

// Print posts one ticket. begin is called when the connection is open and before the first byte of
// the ticket is sent.
//
// The proof is [ticket.Taken]: the display answered 2xx, or 409, which says that it has a ticket of
// this key. [ticket.IsPermanent] marks a refusal for good (any other 4xx), [ticket.IsNotReady] a
// problem that a person must solve here or a wait that the display asked for, [ticket.IsUntouched]
// an answer which says that the ticket was not taken. Any other error after begin leaves doubt: the
// display may have the ticket. All but the refusal are tried again under the same key.
func (p *Push) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	if err := p.awaitRetryAfter(ctx); err != nil {
		return "", err
	}
	// A file that cannot be read is a mistake here, not at the display: the ticket waits until an
	// operator has repaired it.
	k, err := readCredentials(p.o)
	if err != nil {
		return "", ticket.NotReady(p.errorf("%w", err))
	}
	body, err := p.compose(ctx, d)
	if err != nil {
		return "", ticket.Permanent(p.errorf("%w", err))
	}
	a := &attempt{p: p, creds: k, d: d, body: body, begin: begin}
	defer a.finish()
	if err := a.send(ctx); err != nil {
		return "", err
	}
	return ticket.Taken, nil
}

// compose returns the body of the request. The raw record is an addition that a display may use;
// the ticket must not wait for it.
func (p *Push) compose(ctx context.Context, d ticket.Delivery) ([]byte, error) {
	var raw json.RawMessage
	if p.o.Raw != nil {
		var err error
		if raw, err = p.o.Raw(ctx, d); err != nil {
			p.log.Debug("cannot read the original record; the document is sent without it", "job", d.Job, "err", err)
		}
	}
	body, err := json.Marshal(NewDocument(d, raw))
	if err != nil {
		return nil, fmt.Errorf("compose document: %w", err)
	}
	return body, nil
}

// errorf names the display by scheme and host only: the rest of its address may be secret.
func (p *Push) errorf(format string, args ...any) error {
	return fmt.Errorf("display at %s: "+format, append([]any{p.url.Scheme + "://" + p.url.Host}, args...)...)
}

// maxInlineWait is how long a wait may be to be spent within an attempt. During a longer one the
// station reports that it is not ready, so that its backup can take over.
const maxInlineWait = 5 * time.Second

// awaitRetryAfter waits as long as the display asked for.
func (p *Push) awaitRetryAfter(ctx context.Context) error {
	p.mu.Lock()
	notBefore := p.notBefore
	p.mu.Unlock()
	wait := time.Until(notBefore)
	switch {
	case wait <= 0:
		return nil
	case wait > maxInlineWait:
		return ticket.NotReady(p.errorf("it asked for a pause (Retry-After): next attempt in %v",
			wait.Round(time.Second)))
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return p.errorf("wait for Retry-After: %w", context.Cause(ctx))
	}
}

// An attempt is one try to deliver a ticket.
type attempt struct {
	p     *Push
	creds credentials
	d     ticket.Delivery
	body  []byte
	begin func(context.Context) error

	mu          sync.Mutex // guards what follows: the HTTP transport reads the body in a goroutine of its own
	beginCalled bool
	finished    bool
	beginErr    error
	timer       *time.Timer
}

// errTimeout is the cause with which an attempt's context is cancelled after Timeout.
var errTimeout = errors.New("no answer in time")

// send posts the ticket and interprets the answer. ctx is the dispatcher's; timed also ends after
// Timeout.
func (a *attempt) send(ctx context.Context) error {
	client, err := a.p.client.client(a.creds.ca)
	if err != nil {
		return ticket.NotReady(a.p.errorf("%w", err))
	}
	// A timer and not context.WithTimeout, because beginOnce stops it while the disk works and
	// starts it anew.
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.timer = time.AfterFunc(a.p.o.Timeout, func() { cancel(errTimeout) })
	defer a.timer.Stop()
	res, err := client.Do(a.request(ctx, timed))
	if err != nil {
		return a.transportError(ctx, timed, err)
	}
	defer res.Body.Close()
	// An answer without the ticket (a proxy's, for example) proves nothing about it.
	if !a.begun() {
		return a.transportError(ctx, timed, errors.New("it answered before the ticket was sent"))
	}
	return a.interpret(res)
}

// request builds the HTTP request. GetBody is set because the transport may need the body twice, on
// a connection that turned out to be closed or after a redirect.
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

// A beginReader is the body of a request. The transport reads its first byte when the connection is
// open, so that is the moment to call begin: a display that cannot be reached leaves no doubt.
type beginReader struct {
	a    *attempt
	ctx  context.Context
	rest *bytes.Reader
}

// Read calls begin before it returns the first byte. If begin fails, the transport gets the error
// and sends nothing of the body.
func (o *beginReader) Read(b []byte) (int, error) {
	if err := o.a.beginOnce(o.ctx); err != nil {
		return 0, err
	}
	return o.rest.Read(b)
}

func (o *beginReader) Close() error { return nil }

// errFinished answers a transport that still reads the body after the attempt has returned.
var errFinished = errors.New("the attempt is over")

// beginOnce calls begin before the first byte of the body, once however often the transport reads
// the body from its start.
//
// A crash before begin has committed: no byte of the ticket was sent. A crash after it: the display
// may have the ticket, and the next attempt sends it under the same key.
func (a *attempt) beginOnce(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.finished:
		return errFinished
	case a.beginCalled:
		return a.beginErr
	case !a.timer.Stop(): // begin may wait for the disk; that time must not count against the display
		return errTimeout
	}
	a.beginCalled = true
	if a.beginErr = a.begin(ctx); a.beginErr == nil {
		a.timer.Reset(a.p.o.Timeout)
	}
	return a.beginErr
}

// begun reports whether begin was called and succeeded.
func (a *attempt) begun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.beginCalled && a.beginErr == nil
}

// finish makes later reads of the body fail: begin must not be called after Print has returned.
func (a *attempt) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished = true
}
