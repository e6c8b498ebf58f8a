package posapi

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ticketrail/receiver/contract"
)

const (
	tries       = 3                      // of one question, the first included
	firstWait   = 500 * time.Millisecond // before the second; doubled before each other
	longestWait = 30 * time.Second       // of a Retry-After; whoever asked is told of a longer one

	callPatience = 2 * time.Minute
	userAgent    = "ticketrail"
)

// A question can be asked again: request makes it anew each time, and read judges an answer
// that is 2xx and came whole.
type question struct {
	call    Call
	request func(context.Context) (*http.Request, error)
	read    func(answer) *Error
}

// An answer came whole and has no secret in it.
type answer struct {
	status     int
	header     http.Header
	body       []byte
	sent, came time.Time // by our clock: the request, the last byte of the answer
}

// errPatience is why a call is over that took as long as it may.
var errPatience = errors.New("patience")

// patience is how long a call may take, its tokens and all tries included. The parts of the worst
// call add up to far more, and somebody may sit and wait.
func (v *Venue) patience() time.Duration { return max(callPatience, 6*v.c.o.Timeout) }

// get asks with the venue's token, once more if the service does not know that any longer.
func (v *Venue) get(ctx context.Context, call Call, path string, query url.Values, read func(answer) *Error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, v.patience(), errPatience)
	defer cancel()
	target := v.c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	for again := false; ; again = true {
		token, err := v.tokens.get(ctx)
		if err != nil {
			return err
		}
		q := question{call: call, read: read, request: func(ctx context.Context) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
			if err == nil {
				r.Header.Set("Authorization", contract.TokenTypeBearer+" "+token.value)
			}
			return r, err
		}}
		e := v.persist(ctx, q)
		switch {
		case e == nil:
			return nil
		case e.kind == ErrUnauthorized && !again:
			v.tokens.drop(token)
			continue
		case e.kind == ErrForbidden:
			v.explain(ctx, e)
		}
		return e
	}
}

// persist asks until there is an answer, or an error that another try does not cure soon.
func (v *Venue) persist(ctx context.Context, q question) *Error {
	for try := 1; ; try++ {
		e := v.once(ctx, q)
		if e == nil {
			return nil
		}
		wait, again := e.wait(try)
		if deadline, ok := ctx.Deadline(); !again || ok && time.Until(deadline) <= wait {
			return e
		}
		v.c.log.Debug("asked in vain, asking again", "call", q.call, "venue", v.id, "try", try, "wait", wait, "err", e)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return v.givenUp(ctx, q.call)
		}
	}
}

// wait says how long to wait before the next try, if there should be one.
func (e *Error) wait(try int) (time.Duration, bool) {
	if !e.passing || try >= tries || e.RetryAfter > longestWait {
		return 0, false
	}
	wait := firstWait << (try - 1)
	jitter := rand.N(wait/2 + 1)
	if e.RetryAfter > 0 {
		return e.RetryAfter + jitter, true
	}
	return wait/2 + jitter, true
}

func (v *Venue) once(ctx context.Context, q question) *Error {
	a, e := v.exchange(ctx, q)
	if e == nil {
		e = v.judge(q.call, a)
	}
	if e == nil {
		e = q.read(a)
	}
	v.c.metrics.count(q.call, e)
	return e
}

// exchange has one time-out over all of it, the body included.
func (v *Venue) exchange(ctx context.Context, q question) (answer, *Error) {
	timed, cancel := context.WithTimeout(ctx, v.c.o.Timeout)
	defer cancel()
	req, err := q.request(timed)
	if err != nil {
		return answer{}, v.fault(q.call, ErrRefused, resultMalformed, "the request cannot be made: "+v.hush.text([]byte(err.Error())))
	}
	req.Header.Set("Accept", contract.ContentType)
	req.Header.Set("User-Agent", userAgent)
	a := answer{sent: time.Now()}
	resp, err := v.c.http.Do(req)
	if err != nil {
		return answer{}, v.lost(ctx, timed, q.call, err)
	}
	defer resp.Body.Close()
	a.status, a.header = resp.StatusCode, resp.Header
	limit := v.c.o.MaxResponse
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, limit))
	if err == nil && int64(len(a.body)) == limit {
		if n, _ := io.ReadFull(resp.Body, make([]byte, 1)); n > 0 && a.good() {
			return answer{}, v.fault(q.call, ErrMalformed, resultMalformed, fmt.Sprintf("the answer is larger than %d bytes", limit))
		}
	}
	a.came = time.Now()
	if err != nil && a.good() { // what came with another status is told all the same
		e := v.lost(ctx, timed, q.call, err)
		if timed.Err() == nil {
			e.Problem = fmt.Sprintf("the answer broke off after %d bytes", len(a.body))
		}
		return answer{}, e
	}
	if err != nil {
		a.body = v.hush.broken(a.body)
	} else {
		a.body = v.hush.body(a.body)
	}
	return a, nil
}

func (a answer) good() bool { return a.status >= 200 && a.status <= 299 }

func (v *Venue) fault(call Call, kind error, result result, problem string) *Error {
	return &Error{Call: call, Venue: v.id, Problem: problem, kind: kind, result: result}
}

// lost is the error of an exchange without a whole answer. Whatever a library says about it may
// hold the address with the cursor in it, or a proxy's password.
func (v *Venue) lost(ctx, timed context.Context, call Call, err error) *Error {
	if ctx.Err() != nil {
		return v.givenUp(ctx, call)
	}
	if timed.Err() != nil {
		return v.fault(call, ErrUnavailable, resultTimeout, fmt.Sprintf("no answer within %v", v.c.o.Timeout))
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	e := v.fault(call, ErrUnavailable, resultUnreachable, "no answer: "+v.hush.text([]byte(err.Error())))
	e.passing = true
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		e.passing, e.result = false, resultTimeout
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok {
		e.Advice = fmt.Sprintf("check service.base_url (%s) and this machine's name server", v.c.base)
		e.passing = !d.IsNotFound
	}
	if untrusted(err) {
		e.passing, e.Advice = false, "check the name in service.base_url, this machine's clock and its ca-certificates"
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		e.passing, e.Advice = false, "service.base_url says https and the service speaks http there"
	}
	return e
}

func untrusted(err error) bool {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return authority || name || invalid
}

func (v *Venue) givenUp(ctx context.Context, call Call) *Error {
	if context.Cause(ctx) == errPatience {
		return v.fault(call, ErrUnavailable, resultTimeout, fmt.Sprintf("no good answer within %v, however often it was asked", v.patience()))
	}
	e := v.fault(call, nil, resultCanceled, "given up before there was an answer")
	e.cause = context.Canceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.cause = context.DeadlineExceeded
		e.Problem = "no answer in the time there was"
	}
	return e
}

// retryAfter reads the header of that name: seconds, or a date by the service's own clock.
func retryAfter(h http.Header, now time.Time) time.Duration {
	s := h.Get("Retry-After")
	if n, err := strconv.ParseUint(s, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) { // then n is the most
		return time.Duration(n) * time.Second
	}
	until, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	if d, err := http.ParseTime(h.Get("Date")); err == nil {
		now = d
	}
	return max(0, until.Sub(now))
}
