package kds

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"ticketrail/queue/ticket"
)

const (
	maxAnswerBytes = 16 << 10 // bytes of an answer that are read
	maxShownChars  = 200      // letters of it that people see
	maxRetryAfter  = 5 * time.Minute
)

// answer is what a response means.
func (a *attempt) interpret(res *http.Response) error {
	said := a.statusLine(res)
	code := res.StatusCode
	switch {
	case code >= 200 && code <= 299, code == http.StatusConflict:
		a.p.setNotBefore(0)
		return nil
	case code >= 300 && code <= 399:
		// Not followed, so not taken.
		return ticket.Untouched(a.p.errorf("it answered %d, which sends us to %s: put the address that takes tickets into url", code, redirectHost(res)))
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		a.p.setNotBefore(retryAfter(res))
		return ticket.Untouched(a.p.errorf("it answered %s", said))
	case code >= 400 && code <= 499:
		return ticket.Permanent(a.p.errorf("it refused the ticket: %s", said))
	default: // it may have taken the ticket and failed behind that
		a.p.setNotBefore(retryAfter(res))
		return a.p.errorf("it answered %s", said)
	}
}

// wait notes how long the display wants to be left alone.
func (p *Push) setNotBefore(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notBefore = time.Time{}
	if d > 0 {
		p.notBefore = time.Now().Add(d)
	}
}

// retryAfter is how long the display asks us to wait, at most longestWait: a kitchen cannot wait
// longer without another try. Only 429 and 503 may ask for it; without a readable Retry-After it
// is 0, and the dispatcher's own backoff applies. A number of seconds that overflows a
// time.Duration can come back negative, which is no wait either.
func retryAfter(res *http.Response) time.Duration {
	return min(retryablehttp.DefaultBackoff(0, maxRetryAfter, 0, res), maxRetryAfter)
}

// firstLine is the status and the first line of the answer that says anything, for people. It
// reads the rest as well, up to a limit, so that the connection can be used again.
func (a *attempt) statusLine(res *http.Response) string {
	said := strconv.Itoa(res.StatusCode)
	if s := http.StatusText(res.StatusCode); s != "" {
		said += " " + s
	}
	in := io.LimitReader(res.Body, maxAnswerBytes)
	r := bufio.NewScanner(in)
	r.Buffer(nil, maxAnswerBytes+1)
	for r.Scan() {
		if l := oneLine(a.creds.redact(r.Text())); l != "" {
			said += ": " + truncate(l)
			break
		}
	}
	_, _ = io.Copy(io.Discard, in)
	return said
}

func truncate(s string) string {
	if r := []rune(s); len(r) > maxShownChars {
		return string(r[:maxShownChars]) + "…"
	}
	return s
}

// elsewhere is the host that a redirect names; the rest of an address may hold secrets.
func redirectHost(res *http.Response) string {
	u, err := res.Location()
	if err != nil || u.Host == "" {
		return "nowhere"
	}
	return truncate(oneLine(u.Scheme + "://" + u.Host))
}

// failed is what an attempt without an answer means.
func (a *attempt) transportError(ctx, timed context.Context, err error) error {
	a.mu.Lock()
	beginErr := a.beginErr
	a.mu.Unlock()
	if beginErr != nil {
		return fmt.Errorf("begin: %w", beginErr)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // it prints the whole address
	}
	switch {
	case ctx.Err() != nil:
		return a.p.errorf("interrupted: %w", context.Cause(ctx))
	case errors.Is(context.Cause(timed), errTimeout) && a.begun():
		return a.p.errorf("no answer within %v", a.p.o.Timeout)
	case errors.Is(context.Cause(timed), errTimeout):
		return a.p.errorf("no connection within %v", a.p.o.Timeout)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			return a.p.errorf("nobody we trust vouches for its certificate; put the certificate of who does into ca_file: %w", err)
		}
	}
	return a.p.errorf("%w", err)
}

// sameHost lets a display send us on within itself, as long as the ticket goes along. Anything else
// is left as the answer it is.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0]
	if r.Method != http.MethodPost || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}
