package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"ticketrail/receiver/contract"
)

// JobState is what the service's log says of a print job in the end.
type JobState string

// The states. SENT and CONSUMED are the contract's words for a success; which of the two
// statuses makes which is not shown.
const (
	Sent     JobState = "SENT"     // 200
	Consumed JobState = "CONSUMED" // 202
	Aborted  JobState = "ABORTED"  // an answer that nobody retries
	Failed   JobState = "FAILED"   // all retries were in vain
)

// JobStates lists them.
func JobStates() []JobState { return []JobState{Sent, Consumed, Aborted, Failed} }

// A Job is what became of an order.
type Job struct {
	State    JobState
	Status   int    // of the last answer; 0: there was none
	Problem  string // why it was not accepted; also what the last attempt of a success was not
	Alert    bool   // the venue's admin is alerted
	Attempts []Attempt
	Answer   []byte // the body of the last answer, cut off
}

// Accepted says whether the integrator took the order.
func (j Job) Accepted() bool { return j.State == Sent || j.State == Consumed }

// An Attempt is one POST.
type Attempt struct {
	Status  int // 0: no whole answer came
	Took    time.Duration
	TimeOut bool // the answer was not there in time
	Err     error
}

var errTimeOut = fmt.Errorf("no answer within %s", contract.WebhookTimeout)

// Sender posts print requests as the service does. It is safe for concurrent use.
type Sender struct {
	// URL is the integrator's webhook. Required.
	URL string
	// Transport is what requests go through; see [Transport]. Default: net/http's. Redirects are
	// never followed.
	Transport http.RoundTripper
	// Backoff is the pause before the first retry; each further one is twice as long. The
	// contract shows no figure. Default 1 s.
	Backoff time.Duration
	// Logger gets a line per job. Default: none.
	Logger *slog.Logger
}

const (
	defaultBackoff = time.Second
	maxAnswer      = 64 << 10 // bytes of an answer that are read
)

// Send posts an order until it is accepted or given up: an answer within 5 s, and up to three
// retries with exponential backoff after 500, 502, 503, 504, a time-out or a broken connection.
// Once ctx is done it gives up where it is.
func (s *Sender) Send(ctx context.Context, o Order) Job {
	var j Job
	log := cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	pause := cmp.Or(s.Backoff, defaultBackoff)
	for n := 0; ; n++ {
		a, answer := s.post(ctx, o, n)
		j.Attempts, j.Status, j.Answer = append(j.Attempts, a), a.Status, answer
		if !j.judge(a) || ctx.Err() != nil || n == contract.WebhookRetries {
			break
		}
		log.Debug("retry", "id", o.ID, "attempt", n+1, "problem", j.Problem, "in", pause)
		if !sleep(ctx, pause) {
			break
		}
		pause *= 2
	}
	j.report(log, o)
	return j
}

// judge is the contract's table of answers. It says whether the service tries again.
func (j *Job) judge(a Attempt) (retry bool) {
	j.Alert, j.Problem = false, ""
	switch a.Status {
	case http.StatusOK:
		j.State = Sent
		return false
	case http.StatusAccepted:
		j.State = Consumed
		return false
	case http.StatusBadRequest:
		j.State, j.Problem = Aborted, "400: configuration error"
		return false
	case http.StatusUnauthorized, http.StatusForbidden:
		j.State, j.Alert = Aborted, true
		j.Problem = fmt.Sprintf("%d: alert to the venue admin", a.Status)
		return false
	case 0:
		j.State, j.Problem = Failed, a.Err.Error()
		return true
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		j.State, j.Problem = Failed, fmt.Sprintf("%d: server error", a.Status)
		return true
	}
	j.State, j.Problem = Aborted, fmt.Sprintf("%d: not an answer that the contract knows", a.Status)
	return false
}

// post is one attempt. The five seconds hold from dialling to the last byte of the answer.
func (s *Sender) post(ctx context.Context, o Order, n int) (a Attempt, answer []byte) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, contract.WebhookTimeout, errTimeOut)
	defer cancel()
	p := webhookPost{venue: []string{o.Venue}, device: []string{o.Device}, body: o.Body(n)}
	a.Status, answer, a.Err = p.exchange(ctx, cmp.Or(s.Transport, http.DefaultTransport), s.URL)
	a.Took = time.Since(began)
	a.TimeOut = errors.Is(a.Err, errTimeOut)
	return a, answer
}

// A probe is a request to a webhook, right or wrong.
type webhookPost struct {
	method        string // default POST
	contentType   string // default application/json
	venue, device []string
	upperCase     bool // header names in capitals
	chunked       bool
	body          []byte
}

// exchange makes the request. Headers are spelled as in the contract.
func (p webhookPost) exchange(ctx context.Context, through http.RoundTripper, to string) (status int, answer []byte, err error) {
	var body io.Reader = bytes.NewReader(p.body)
	if p.chunked {
		body = struct{ io.Reader }{body} // of unknown length
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(p.method, http.MethodPost), to, body)
	if err != nil {
		return 0, nil, errors.New("the URL cannot be used")
	}
	req.Header.Set("Content-Type", cmp.Or(p.contentType, contract.ContentType))
	for name, value := range map[string][]string{contract.HeaderVenue: p.venue, contract.HeaderDevice: p.device} {
		if p.upperCase {
			name = strings.ToUpper(name)
		}
		if value != nil {
			req.Header[name] = value
		}
	}
	resp, err := through.RoundTrip(req)
	if err != nil {
		return 0, nil, withoutURL(ctx, err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, withoutURL(ctx, err)
	}
	return resp.StatusCode, answer, nil
}

// plain says what broke, without the URL, which may hold a secret.
func withoutURL(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return errTimeOut
	}
	return errors.New(excerpt([]byte(err.Error()))) // it may quote what the other side sent
}

// wait is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Transport keeps as many connections to one integrator as there are senders at once.
func Transport(concurrency int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = concurrency
	return t
}

// report writes the line in the service's log.
func (j Job) report(log *slog.Logger, o Order) {
	last := j.Attempts[len(j.Attempts)-1]
	args := []any{
		"state", j.State, "id", o.ID, "kind", o.Kind, "venue", o.Venue, "device", o.Device,
		"status", j.Status, "attempts", len(j.Attempts), "took", last.Took.Round(10 * time.Microsecond),
	}
	level := slog.LevelInfo
	if !j.Accepted() {
		level = slog.LevelError
		args = append(args, "problem", j.Problem, "answer", excerpt(j.Answer))
	}
	log.Log(context.Background(), level, "job", args...)
}

// excerpt is the beginning of an answer, on one line and with nothing that a terminal obeys.
func excerpt(b []byte) string {
	const most = 200
	s := strings.ToValidUTF8(string(b[:min(len(b), most)]), "")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(s))
}
