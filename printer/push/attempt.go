package push

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"ticketrail/queue/ticket"
)

// An attempt is one HTTP request. What it costs the ticket depends on when it fails: before the
// first byte of the body nothing was sent (no doubt), after it only the answer tells. beginReader
// finds that moment.
type attempt struct {
	display *Display
	creds   credentials
	d       ticket.Delivery
	body    []byte
	begin   func(context.Context) error

	mu          sync.Mutex // guards what follows: the HTTP transport reads the body in a goroutine of its own
	beginCalled bool
	finished    bool
	beginErr    error
	sendings    int // how often the transport has begun to send the body
	timer       *time.Timer
}

// errTimeout is the cause with which an attempt's context is cancelled after Timeout.
var errTimeout = errors.New("no answer in time")

// send posts the ticket and interprets the answer. ctx is the dispatcher's; timed also ends after
// Timeout.
func (a *attempt) send(ctx context.Context) error {
	client, err := a.display.client.client(a.creds.ca)
	if err != nil {
		return ticket.NotReady(a.display.errorf("%w", err))
	}
	// A timer and not context.WithTimeout, because beginOnce stops it while the disk works and
	// starts it anew.
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.timer = time.AfterFunc(a.display.o.Timeout, func() { cancel(errTimeout) })
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
		Method: http.MethodPost, URL: a.display.url, Host: a.display.url.Host, ContentLength: int64(len(a.body)),
		Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(timed)
	r.GetBody = func() (io.ReadCloser, error) {
		return &beginReader{a: a, ctx: ctx, rest: bytes.NewReader(a.body)}, nil
	}
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
	a.creds.signer.Sign(r.Header, key, now, a.body)
	return r
}

// A beginReader is the body of a request. The transport reads its first byte when the connection is
// open, so that is the moment to call begin: a display that cannot be reached leaves no doubt.
type beginReader struct {
	a       *attempt
	ctx     context.Context
	rest    *bytes.Reader
	started bool
}

// Read calls begin before it returns the first byte. If begin fails, the transport gets the error
// and sends nothing of the body.
func (o *beginReader) Read(b []byte) (int, error) {
	if err := o.a.beginOnce(o.ctx); err != nil {
		return 0, err
	}
	if !o.started {
		o.started = true
		o.a.mu.Lock()
		o.a.sendings++
		o.a.mu.Unlock()
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
		a.timer.Reset(a.display.o.Timeout)
	}
	return a.beginErr
}

// begun reports whether begin was called and succeeded.
func (a *attempt) begun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.beginCalled && a.beginErr == nil
}

// untouched marks err, which the answer res stands for, as [ticket.Untouched]. But the transport sends the ticket
// again if a connection breaks before the answer, and then nobody knows what became of the first sending.
func (a *attempt) untouched(res *http.Response, err error) error {
	answers := 1
	for r := res.Request.Response; r != nil; r = r.Request.Response { // the redirects that were followed
		answers++
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sendings > answers {
		return err
	}
	return ticket.Untouched(err)
}

// finish makes later reads of the body fail: begin must not be called after Print has returned.
func (a *attempt) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished = true
}
