package push

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
	"slices"
	"strconv"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

const (
	maxAnswerBytes = 16 << 10 // bytes of an answer that are read, in case it never ends
	maxShownChars  = 200      // characters of it that appear in messages
	// maxRetryAfter bounds what a display may ask for: a kitchen cannot wait longer without a try.
	maxRetryAfter = 5 * time.Minute
)

// stationFaults are the answers that say nothing about the ticket: the display, or a proxy before it, does not
// accept this box, its credentials or its address. It would answer the next ticket in the same way.
var stationFaults = []int{
	http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
	http.StatusMethodNotAllowed, http.StatusProxyAuthRequired,
}

// askAgainAfter is the pause after such an answer. It is less than a minute because a ticket comes here only
// every 25 to 30 s while a backup prints.
const askAgainAfter = 50 * time.Second

// interpret says what a response means for the ticket.
func (a *attempt) interpret(res *http.Response) error {
	said := a.statusLine(res)
	code := res.StatusCode
	switch {
	case code >= 200 && code <= 299, code == http.StatusConflict:
		a.display.setPause(0, nil)
		return nil
	case code >= 300 && code <= 399:
		// The redirect was not followed, so nobody has taken the ticket.
		return a.untouched(res, a.display.errorf(
			"it answered %d, a redirect to %s: set url to the address that accepts tickets", code, redirectHost(res)))
	// By these the display says that it has not processed the ticket.
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		a.display.setPause(retryAfter(res), nil)
		return a.untouched(res, a.display.errorf("it answered %s", said))
	case slices.Contains(stationFaults, code):
		err := a.display.errorf("it takes no tickets: %s; it is asked again within a minute", said)
		a.display.setPause(askAgainAfter, err)
		return a.untouched(res, ticket.NotReady(err))
	case code >= 400 && code <= 499:
		a.display.setPause(0, nil)
		return a.untouched(res, ticket.Permanent(a.display.errorf("%s", said)))
	default: // it may have taken the ticket and failed after that
		a.display.setPause(retryAfter(res), nil)
		return a.display.errorf("it answered %s", said)
	}
}

// setPause begins a pause of length d, or ends one if d is 0. refusal is why the display takes no ticket; nil:
// it asked for the pause. It is kept in memory only: after a restart one request too many does no harm.
func (s *Display) setPause(d time.Duration, refusal error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.pause
	switch s.pause = (Pause{}); {
	case d <= 0:
		return
	case refusal != nil && was.Refusal != nil:
		s.pause.Since = was.Since
	case refusal != nil:
		s.pause.Since = time.Now()
	}
	s.pause.Until, s.pause.Refusal = time.Now().Add(d), refusal
}

// retryAfter is the pause that the display asks for: whole seconds, at most maxRetryAfter. A date is
// not used, because the clock of this box or of the display may be wrong by years. Without a number
// only the dispatcher's own backoff applies.
func retryAfter(res *http.Response) time.Duration {
	seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range, seconds is the largest number
		return 0
	}
	return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
}

// statusLine is the status and the first line of the answer that has any text, for messages. It
// reads the rest of the body too, up to a limit, so that the connection can be used again.
func (a *attempt) statusLine(res *http.Response) string {
	said := strconv.Itoa(res.StatusCode)
	if s := http.StatusText(res.StatusCode); s != "" {
		said += " " + s
	}
	in := io.LimitReader(res.Body, maxAnswerBytes)
	r := bufio.NewScanner(in)
	r.Buffer(nil, maxAnswerBytes+1)
	for r.Scan() {
		if l := layout.OneLine(a.creds.redact(r.Text())); l != "" {
			said += ": " + truncate(l)
			break
		}
	}
	_, _ = io.Copy(io.Discard, in)
	return said
}

// truncate cuts text of the other side to what fits a log line.
func truncate(s string) string {
	if r := []rune(s); len(r) > maxShownChars {
		return string(r[:maxShownChars]) + "…"
	}
	return s
}

// redirectHost is the scheme and host of a redirect; the rest of an address may be secret.
func redirectHost(res *http.Response) string {
	u, err := res.Location()
	if err != nil || u.Host == "" {
		return "no readable address"
	}
	return truncate(layout.OneLine(u.Scheme + "://" + u.Host))
}

// transportError says what an attempt without a response means. It never contains the display's
// whole address. The order of the cases: an error of begin is the disk's, an ended context the
// dispatcher's; only what remains is the display's fault.
func (a *attempt) transportError(ctx, timed context.Context, err error) error {
	a.mu.Lock()
	beginErr := a.beginErr
	a.mu.Unlock()
	if beginErr != nil {
		return fmt.Errorf("begin: %w", beginErr)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // a url.Error prints the whole address
	}
	switch {
	case ctx.Err() != nil:
		return a.display.errorf("interrupted: %w", context.Cause(ctx))
	case errors.Is(context.Cause(timed), errTimeout) && a.begun():
		return a.display.errorf("no answer within %v", a.display.o.Timeout)
	case errors.Is(context.Cause(timed), errTimeout):
		return a.display.errorf("no connection within %v", a.display.o.Timeout)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			return a.display.errorf("its certificate is signed by an unknown authority; "+
				"put that authority's certificate into ca_file: %w", err)
		}
	}
	return a.display.errorf("%w", err)
}

// sameHost follows redirects within the same scheme and host if the method, and so the ticket, is
// kept. Any other redirect is treated as the answer: another host must not receive the token.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0]
	if r.Method != http.MethodPost || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}
