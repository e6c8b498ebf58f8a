package posapi

import (
	"context"
	"crypto/tls"
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
	tries       = 3                      // of one request, the first included
	firstWait   = 500 * time.Millisecond // before the second; doubled before each other
	longestWait = 30 * time.Second       // of a Retry-After; whoever asked is told of a longer one

	callPatience = 2 * time.Minute
)

// An answer came whole, unless its status says that it is of no use anyway.
type answer struct {
	status     int
	header     http.Header
	body       []byte
	sent, came time.Time // by our clock: the request, the last byte of the answer
}

func (a answer) good() bool { return a.status >= 200 && a.status <= 299 }

// get asks with the venue's token, once more if the service does not know that any longer. read
// judges an answer that is 2xx.
func (v *Venue) get(ctx context.Context, call Call, path string, query url.Values, read func(answer) *Error) error {
	// The parts of the worst call add up to far more, and somebody may sit and wait.
	ctx, cancel := context.WithTimeout(ctx, max(callPatience, 6*v.c.o.Timeout))
	defer cancel()
	target := v.c.o.BaseURL + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	for again := false; ; again = true {
		token, err := v.bearer(ctx)
		if err != nil {
			return err
		}
		e := v.persist(ctx, call, func(ctx context.Context) *Error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
			if err != nil {
				return v.fault(call, ErrRefused, "the request cannot be made; check service.base_url")
			}
			token.SetAuthHeader(req)
			a, e := v.exchange(call, req)
			if e == nil {
				a.body = v.secrets.hide(a.body)
				if e = v.judge(call, a); e == nil {
					e = read(a)
				}
			}
			return e
		})
		switch {
		case e == nil:
			return nil
		case e.kind == ErrUnauthorized && !again:
			if v.token.CompareAndSwap(token, nil) {
				v.c.metrics.forget(v)
			}
			continue
		case e.kind == ErrForbidden:
			v.explain(ctx, e)
		}
		return e
	}
}

// persist tries until it works, or there is an error that another try does not cure soon.
func (v *Venue) persist(ctx context.Context, call Call, once func(context.Context) *Error) *Error {
	for try := 1; ; try++ {
		e := once(ctx)
		v.c.metrics.count(call, e)
		if e == nil || !e.passing || try == tries || e.RetryAfter > longestWait {
			return e
		}
		wait := firstWait << (try - 1)
		wait = max(e.RetryAfter, wait/2) + rand.N(wait/2+1)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
			return e
		}
		v.c.log.Debug("asked in vain, asking again", "call", call, "venue", v.id, "try", try, "wait", wait, "err", e)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return v.givenUp(ctx, call)
		}
	}
}

// exchange has one time-out over all of it, the body included. It follows no redirect, which
// could carry the secret or a token to somebody else.
func (v *Venue) exchange(call Call, req *http.Request) (answer, *Error) {
	timed, cancel := context.WithTimeout(req.Context(), v.c.o.Timeout)
	defer cancel()
	ctx, req := req.Context(), req.Clone(timed)
	req.Header.Set("Accept", contract.ContentType)
	req.Header.Set("User-Agent", "ticketrail")
	a := answer{sent: time.Now()}
	resp, err := v.c.o.Transport.RoundTrip(req)
	if err != nil {
		return a, v.lost(ctx, timed, call, err)
	}
	defer resp.Body.Close()
	a.status, a.header = resp.StatusCode, resp.Header
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, v.c.o.MaxResponse+1))
	a.came = time.Now()
	switch {
	case !a.good(): // what came of it is told
	case err != nil:
		e := v.lost(ctx, timed, call, err)
		if timed.Err() == nil {
			e.Problem = fmt.Sprintf("the answer broke off after %d bytes", len(a.body))
		}
		return a, e
	case int64(len(a.body)) > v.c.o.MaxResponse:
		return a, v.fault(call, ErrMalformed, "the answer is larger than %d bytes", v.c.o.MaxResponse)
	}
	return a, nil
}

// lost is the error of an exchange without a whole answer.
func (v *Venue) lost(ctx, timed context.Context, call Call, err error) *Error {
	if ctx.Err() != nil {
		return v.givenUp(ctx, call)
	}
	e := v.fault(call, ErrUnavailable, "no answer within %v", v.c.o.Timeout)
	if e.late = timed.Err() != nil; e.late {
		return e
	}
	e.passing = true
	_, ours := errors.AsType[*net.OpError](err) // no other side had a hand in what it says
	dns, name := errors.AsType[*net.DNSError](err)
	record, noTLS := errors.AsType[tls.RecordHeaderError](err)
	wait, ok := errors.AsType[net.Error](err)
	e.late = ok && wait.Timeout()
	switch {
	case untrusted(err):
		e.passing, e.Advice = false, "check the name in service.base_url, this machine's clock and its ca-certificates"
	case noTLS && string(record.RecordHeader[:]) == "HTTP/":
		e.passing, e.Advice, err = false, "service.base_url says https and the service speaks http there", http.ErrSchemeMismatch
	case name:
		e.passing, e.Advice = !dns.IsNotFound, fmt.Sprintf("check service.base_url (%s) and this machine's name server", v.c.o.BaseURL)
	case e.late:
		e.passing = false
	case !ours:
		e.Problem = "no answer: " + v.secrets.plain([]byte(err.Error()))
		return e
	}
	e.Problem = "no answer: " + printable(err.Error())
	return e
}

func untrusted(err error) bool {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return authority || name || invalid
}

// givenUp is the error of a call whose ctx is over.
func (v *Venue) givenUp(ctx context.Context, call Call) *Error {
	e := v.fault(call, nil, "given up before there was an answer")
	e.cause = ctx.Err()
	if e.late = errors.Is(e.cause, context.DeadlineExceeded); e.late {
		e.Problem = "no good answer in the time there was, however often it was asked"
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
