// Package webhook posts JSON to the programs of others, signed as Standard Webhooks: a ticket to a kitchen display,
// an outcome, a message to people.
//
// A post reports exactly when the first byte of its body goes out, the other side's answer, and nothing that is
// secret. The caller interprets the answer and keeps a message that was not taken: a ticket waits in its
// queue, an outcome in the queue's file.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A Message is one JSON document.
type Message struct {
	ID     string      // the same when it is sent again
	Body   []byte      // JSON
	Header http.Header // beside the headers of every post
	Keys   Keys        // sign it
	// Secrets are removed from the other side's answer, beside the Keys.
	Secrets []string
	// Begin is called when the connection is open and before the first byte of Body; if it fails, none is sent. Nil:
	// nothing needs to be stored.
	Begin   func(context.Context) error
	Timeout time.Duration // for connecting, and again for sending and the answer; 0 is 15 s
}

// errTimeout is the cause with which a post's context is cancelled after Timeout.
var errTimeout = errors.New("no answer in time")

// Post sends m to an address over rt. Its errors never contain the address.
func Post(ctx context.Context, rt http.RoundTripper, to *url.URL, m Message) (Answer, error) {
	m.Timeout = cmp.Or(m.Timeout, 15*time.Second)

	// A timer and not context.WithTimeout, because begin stops it while the disk works and starts it anew.
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sending := &post{ctx: ctx, m: m, timer: time.AfterFunc(m.Timeout, func() { cancel(errTimeout) })}
	defer sending.finish()

	// Not by a client, which follows redirects: another address must receive neither the message nor a secret.
	res, err := rt.RoundTrip(sending.request(timed, to))
	if err != nil {
		return Answer{}, sending.transportError(timed, err)
	}
	defer res.Body.Close()

	// An answer without the message (a proxy's, for example) proves nothing about it.
	if m.Begin != nil && !sending.sent() {
		return Answer{}, sending.transportError(timed, errors.New("it answered before the message was sent"))
	}

	return sending.answer(res), nil
}

// Deliver posts m and returns nil once it was taken. Its errors contain nothing of the address but its host.
func Deliver(ctx context.Context, rt http.RoundTripper, address string, m Message) error {
	to, err := url.Parse(address)
	if err != nil || to.Host == "" {
		return errors.New("the address is not of the form https://HOST/PATH")
	}

	m.Secrets = append(m.Secrets, Pieces(address)...)
	answer, err := Post(ctx, rt, to, m)

	switch {
	case err != nil:
		return errors.New(Redact(err.Error(), m.Secrets...))
	case answer.Code/100 != 2:
		return fmt.Errorf("it answered %s", answer.Said)
	}
	return nil
}

// A post is one HTTP request. The moment of a failure decides: before the first byte of the body
// nothing was sent, after it only the answer tells. bodyReader finds that moment.
type post struct {
	ctx context.Context // the caller's, for Begin
	m   Message

	mu       sync.Mutex // guards the fields below: the HTTP transport reads the body in a goroutine of its own
	timer    *time.Timer
	finished bool
	begun    bool // Begin was called, with this result
	beginErr error
	read     bool // the transport has begun to send the body
}

// request builds the HTTP request. GetBody is set because the transport may need the body twice, on a connection that
// turned out to be closed.
func (p *post) request(timed context.Context, to *url.URL) *http.Request {
	r, _ := http.NewRequestWithContext(timed, http.MethodPost, "", nil) // fails only for another method or address
	r.URL, r.Host, r.ContentLength = to, to.Host, int64(len(p.m.Body))
	r.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(&bodyReader{p, bytes.NewReader(p.m.Body)}), nil
	}
	r.Body, _ = r.GetBody()

	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "ticketrail")
	if to.User != nil {
		password, _ := to.User.Password()
		r.SetBasicAuth(to.User.Username(), password)
	}
	maps.Copy(r.Header, p.m.Header)

	p.m.Keys.sign(r.Header, p.m.ID, time.Now(), p.m.Body)
	return r
}

// A bodyReader is the body of a request. The transport reads its first byte when the connection is open, so that is
// the moment to call Begin: who cannot be reached leaves no doubt.
type bodyReader struct {
	p    *post
	rest *bytes.Reader
}

// Read calls Begin before it returns the first byte. If that fails, the transport gets the error and sends nothing of
// the body.
func (b *bodyReader) Read(to []byte) (int, error) {
	if err := b.p.begin(); err != nil {
		return 0, err
	}
	return b.rest.Read(to)
}

// begin calls Begin before the first byte of the body, once however often the transport reads the body from its
// start.
//
// A crash before Begin has committed: no byte of the message was sent. A crash after it: the other side may have it,
// and the next attempt sends it under the same id.
func (p *post) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.begun && p.m.Begin != nil
	switch {
	case p.finished: // the transport still reads the body after the post has returned
		return errTimeout
	case first && !p.timer.Stop(): // Begin may wait for the disk; that time must not count against the other side
		return errTimeout
	case first:
		p.begun = true
		if p.beginErr = p.m.Begin(p.ctx); p.beginErr == nil {
			p.timer.Reset(p.m.Timeout)
		}
	}

	p.read = p.read || p.beginErr == nil
	return p.beginErr
}

// sent reports whether the body may have been sent.
func (p *post) sent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read
}

// finish makes later reads of the body fail: Begin must not be called after Post has returned.
func (p *post) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	p.timer.Stop()
}

// transportError explains a post without an answer. The order of the cases: an error of Begin is the disk's,
// an ended context the caller's; only the rest is the other side's fault.
func (p *post) transportError(timed context.Context, err error) error {
	p.mu.Lock()
	beginErr, sent := p.beginErr, p.read
	p.mu.Unlock()

	switch {
	case beginErr != nil:
		return beginErr
	case p.ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", context.Cause(p.ctx))
	case errors.Is(context.Cause(timed), errTimeout) && sent:
		return fmt.Errorf("no answer within %v", p.m.Timeout)
	case errors.Is(context.Cause(timed), errTimeout):
		return fmt.Errorf("no connection within %v", p.m.Timeout)
	}
	return err
}

// A Backoff is the pauses between attempts: from First they double up to Last.
type Backoff struct {
	First, Last time.Duration
	pause       time.Duration
}

// Next is the pause after one more failed attempt: half to one and a half times the nominal one, so that the
// boxes of a chain do not come all at once.
func (b *Backoff) Next() time.Duration {
	b.pause = min(max(2*b.pause, b.First), b.Last)
	return b.pause/2 + rand.N(b.pause)
}

// Reset begins anew after a success.
func (b *Backoff) Reset() { b.pause = 0 }
