package posapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"ticketrail/receiver/contract"
)

// Three tries within seconds cure a dropped connection or a restart of one of the service's
// servers. An outage that lasts longer is the caller's: the directory tries again in a minute, and
// an operator at the command line should see the error.
//
// One try is an exchange, which is an http.RoundTripper. Above it go-retryablehttp repeats tries,
// and above that get repeats the call once with a new token. So each layer sees only errors that it
// can act on.
const (
	tries       = 3                      // of one request, the first included
	firstWait   = 500 * time.Millisecond // before the second try; doubled before the third
	longestWait = 30 * time.Second       // a longer Retry-After is reported to the caller instead

	callTimeout = 2 * time.Minute // an operator may sit and wait for it
	maxResponse = 8 << 20         // bytes of an answer: ten thousand employees on one page
)

// An answer has come completely, unless its status is not 2xx. Of an answer that is not 2xx the
// body may be incomplete: only its error text is read.
type answer struct {
	*http.Response
	body       []byte
	sent, came time.Time // by our clock: the request, the last byte of the answer
}

func (a *answer) good() bool { return a.StatusCode >= 200 && a.StatusCode <= 299 }

// get requests path with the venue's token. If the service no longer accepts the token, as after
// its restart, get fetches another one and tries again; a second 401 is not about the token's age.
// read reads an answer that is 2xx. It is called for each try, so it must not add to what an
// earlier try left.
func (v *Venue) get(ctx context.Context, call Call, path string, query url.Values, read func(*answer) *Error) error {
	// Waits, retries and the token request add up to far more in the worst case.
	ctx, cancel := context.WithTimeout(ctx, max(callTimeout, 6*v.c.o.Timeout))
	defer cancel()
	target := v.c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	for again := false; ; again = true {
		g, err := v.bearer(ctx)
		if err != nil {
			return err
		}
		req := &http.Request{Method: http.MethodGet, URL: target, Header: http.Header{}, Body: http.NoBody}
		g.token.SetAuthHeader(req)
		_, err = v.httpClient(call, []string{g.token.AccessToken, g.secret}, read).Do(req.WithContext(ctx))
		if err == nil {
			return nil
		}
		e := v.asError(ctx, call, err)
		switch {
		case e.kind == ErrUnauthorized && !again:
			v.grant.CompareAndSwap(g, nil) // not one that another caller has fetched meanwhile
			continue
		// Only now, not for each try: it costs another request.
		case e.kind == ErrForbidden:
			v.explain(ctx, e)
		case e.kind == ErrNotFound:
			v.findElsewhere(ctx, e, req, []string{g.token.AccessToken, g.secret})
		}
		return e
	}
}

// httpClient sends the requests of one call: it retries failures that may pass, and hands each good
// answer to read. The errors of its requests are [*Error], see [Venue.asError]. It is made for each
// call, because it knows the secrets that this call must not show.
func (v *Venue) httpClient(call Call, secrets []string, read func(*answer) *Error) *http.Client {
	var last *Error
	var wait time.Duration
	backoff := firstWait
	retrying := retryablehttp.Client{ // without a Logger: nothing is logged
		HTTPClient: &http.Client{Transport: &exchange{v: v, call: call, secrets: secrets, read: read}},
		RetryMax:   tries - 1,
		CheckRetry: func(ctx context.Context, _ *http.Response, err error) (bool, error) {
			// Kept for Backoff, which is called next and is not given the error.
			last, _ = errors.AsType[*Error](err)
			if last == nil || !last.retryable || last.RetryAfter > longestWait {
				return false, nil
			}
			// The random part keeps the venues of a chain from retrying at the same moment.
			wait = max(last.RetryAfter, backoff/2) + rand.N(backoff/2+1)
			backoff *= 2
			// A caller whose time ends before the next try gets the real error, at once.
			deadline, ok := ctx.Deadline()
			return !ok || time.Until(deadline) > wait, nil
		},
		Backoff: func(time.Duration, time.Duration, int, *http.Response) time.Duration {
			v.c.o.Logger.Debug("request failed, will retry", "call", call, "venue", v.id, "wait", wait, "err", last)
			return wait
		},
	}
	return retrying.StandardClient()
}

// An exchange is one try of a request. Nothing above it sees an answer that is not good: neither
// the retries nor the oauth2 library, whose errors hold the whole answer.
type exchange struct {
	v       *Venue
	call    Call
	secrets []string // are removed from the answer
	read    func(*answer) *Error
}

// RoundTrip implements [http.RoundTripper]. Its errors are [*Error].
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	a, e := x.send(req)
	if e == nil {
		if e = x.v.judge(x.call, a); e == nil {
			e = x.read(a)
		}
		if e != nil {
			e.Status = a.StatusCode
		}
	}
	// Each try counts, by what its answer meant: a 200 with half a list is malformed, not ok.
	x.v.c.o.Metrics.requests.WithLabelValues(string(x.call), e.result()).Inc()
	if e != nil {
		return nil, e
	}
	// The oauth2 library chooses a format by the type, and some services send JSON as text/plain.
	header := http.Header{"Content-Type": {contract.ContentType}}
	body := io.NopCloser(bytes.NewReader(a.body))
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: body, Request: req}, nil
}

// send has one time-out for all of it, the body included. It follows no redirect, which could
// carry the secret or a token to another host.
func (x *exchange) send(req *http.Request) (*answer, *Error) {
	ctx, cancel := context.WithTimeout(req.Context(), x.v.c.o.Timeout)
	defer cancel()
	timed := req.Clone(ctx)
	timed.Header.Set("Accept", contract.ContentType)
	timed.Header.Set("User-Agent", "ticketrail")
	a := &answer{sent: time.Now()}
	var err error
	if a.Response, err = x.v.c.o.Transport.RoundTrip(timed); err != nil {
		return nil, x.v.lost(req.Context(), ctx, x.call, err)
	}
	defer a.Body.Close()
	// One byte more than allowed tells an answer that is too large from one that just fits.
	body, err := io.ReadAll(io.LimitReader(a.Body, maxResponse+1))
	a.came = time.Now()
	a.body = redact(body, x.secrets...)
	// Logs and the terminal get errors, and a proxy may put the request's token into its redirect.
	// All that an error may quote of an answer is redacted here, before anything reads it.
	a.Header.Set("Location", string(redact([]byte(a.Header.Get("Location")), x.secrets...)))
	switch {
	case !a.good(): // the status is what counts; what came of the body may explain it
	case err != nil:
		e := x.v.lost(req.Context(), ctx, x.call, err)
		if ctx.Err() == nil {
			e.Problem = fmt.Sprintf("the answer broke off after %d bytes", len(body))
		}
		return nil, e
	case len(body) > maxResponse:
		return nil, x.v.fault(x.call, ErrMalformed, "the answer is larger than %d bytes", maxResponse)
	}
	return a, nil
}
