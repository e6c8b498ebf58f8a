package sim

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// JobState is the final state of a print job in the service's log.
type JobState string

// The states. The contract calls a success SENT or CONSUMED; it does not show which of the two
// statuses makes which.
const (
	Sent     JobState = "SENT"     // 200
	Consumed JobState = "CONSUMED" // 202
	Aborted  JobState = "ABORTED"  // an answer that is not retried
	Failed   JobState = "FAILED"   // no attempt succeeded
)

// A Job is the outcome of sending one order.
type Job struct {
	Attempt  // the last one
	State    JobState
	Problem  string // why the order was not accepted; empty if it was
	Attempts []Attempt
}

// An Attempt is one request and its answer, or the error instead of one. An answer that came late counts as none: the
// service has stopped listening.
type Attempt struct {
	Status int    // 0: no complete answer came
	Answer []byte // the body, at most 64 KiB
	Took   time.Duration
	Err    error
}

// Accepted says whether the service would consider the order delivered. Only the status counts: the
// contract says nothing about the body.
func (a Attempt) Accepted() bool { return a.Status == http.StatusOK || a.Status == http.StatusAccepted }

// duplicate returns the answer's field "duplicate". The contract does not require it, so an endpoint without it (seen
// is false) is not wrong. An answer that is not JSON, or has another type there, is one without it.
func (a Attempt) duplicate() (dup, seen bool) {
	var said map[string]json.RawMessage
	if json.Unmarshal(a.Answer, &said) != nil {
		return false, false
	}
	repeated, there := said[contract.FieldAnswerDuplicate]
	return dup, there && json.Unmarshal(repeated, &dup) == nil
}

func (a Attempt) isLate() bool { return errors.Is(a.Err, errTimeOut) }

func (a Attempt) String() string {
	if a.Err != nil {
		return a.Err.Error()
	}
	if dup, seen := a.duplicate(); seen && a.Accepted() {
		return fmt.Sprintf("%d, duplicate: %t", a.Status, dup)
	}
	return strconv.Itoa(a.Status)
}

// errTimeOut is the error of an attempt that took as long as the service waits.
var errTimeOut = fmt.Errorf("no answer within %s", contract.WebhookTimeout)

// Sender posts print requests as the service does. It is safe for concurrent use.
type Sender struct {
	// URL is the integrator's webhook. Required.
	URL string
	// Transport sends the requests; see [Transport]. Default: http.DefaultTransport. Redirects are
	// never followed: the contract knows no such answer.
	Transport http.RoundTripper
	// Once says that no order is sent again. Default: up to 3 times, the contract's most.
	Once bool
	// Logger gets one line for each job. Default: none.
	Logger *slog.Logger
}

const (
	// firstPause is before the first retry. Each further pause is twice as long. The contract says
	// "exponential backoff" and gives no figure.
	firstPause = time.Second
	maxAnswer  = 64 << 10 // bytes of an answer that are read; ticketrail's have about 60
	mostQuoted = 200      // bytes of an answer, or of an error, that are shown
)

// Send posts an order by the service's rules (section 6.3): it waits 5 s for an answer, and
// retries up to three times with exponential backoff after 500, 502, 503, 504, a timeout or
// a broken connection. When ctx ends it stops at once.
//
// An order for which all attempts fail is lost: the service does not keep it. A receiver must not
// need more than the four attempts.
func (s *Sender) Send(ctx context.Context, o Order) Job {
	var j Job

	log := cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	pause := firstPause
	for retry := 0; ; retry++ {
		p := webhookPost{venue: []string{o.Venue}, device: []string{o.Device}, body: o.Body(retry)}
		j.Attempt = p.send(ctx, cmp.Or(s.Transport, http.DefaultTransport), s.URL)
		j.Attempts = append(j.Attempts, j.Attempt)
		if !j.judge() || ctx.Err() != nil || s.Once || retry == contract.WebhookRetries {
			break
		}

		log.Debug("retry", "id", o.ID, "attempt", retry+1, "problem", j.Problem, "in", pause)
		if !sleep(ctx, pause) {
			break
		}
		pause *= 2
	}

	j.report(log, o)
	return j
}

// judge applies the contract's table of answers. It says whether the service retries. A status that
// the contract does not list is not retried; the real service's reaction is unknown, and guessing
// the worse one finds more mistakes.
func (j *Job) judge() (retry bool) {
	j.State, j.Problem = Aborted, fmt.Sprintf("%d: not a status of the contract", j.Status)

	switch j.Status {
	case 200:
		j.State, j.Problem = Sent, ""
	case 202:
		j.State, j.Problem = Consumed, ""
	case 400:
		j.Problem = "400: configuration error"
	case 401, 403:
		j.Problem = fmt.Sprintf("%d: alert to the venue admin", j.Status)
	case 500, 502, 503, 504:
		j.State, j.Problem = Failed, fmt.Sprintf("%d: server error", j.Status)
	case 0:
		j.State, j.Problem = Failed, j.Err.Error()
	}
	return j.State == Failed
}

// A webhookPost is a request to a webhook, correct or not. Send uses it correctly; Check also to
// make mistakes on purpose.
type webhookPost struct {
	method        string // default: POST
	contentType   string // default: application/json
	venue, device []string
	upperCase     bool // write header names in capitals
	chunked       bool // send no Content-Length
	body          []byte
}

// send sends the request and waits for the answer as long as the service does: the 5 s run from dialling to the last
// byte of it.
func (p webhookPost) send(ctx context.Context, through http.RoundTripper, to string) (a Attempt) {
	ctx, cancel := context.WithTimeoutCause(ctx, contract.WebhookTimeout, errTimeOut)
	defer cancel()

	began := time.Now()
	a.Status, a.Answer, a.Err = p.exchange(ctx, through, to)
	a.Took = time.Since(began)
	return a
}

// exchange is send without a time limit. Header names are written exactly as in the contract, which net/http would
// otherwise change to canonical case.
func (p webhookPost) exchange(ctx context.Context, through http.RoundTripper, to string) (
	status int, answer []byte, err error) {
	var body io.Reader = bytes.NewReader(p.body)
	if p.chunked {
		body = struct{ io.Reader }{body} // hides the length from net/http
	}

	req, err := http.NewRequestWithContext(ctx, cmp.Or(p.method, http.MethodPost), to, body)
	if err != nil {
		return 0, nil, errors.New("the URL is not valid")
	}

	req.Header.Set("Content-Type", cmp.Or(p.contentType, contract.ContentType))
	for name, value := range map[string][]string{contract.HeaderVenue: p.venue, contract.HeaderDevice: p.device} {
		if p.upperCase {
			name = strings.ToUpper(name)
		}
		// Assigned and not Set, which would change the case of the name.
		if value != nil {
			req.Header[name] = value
		}
	}

	resp, err := through.RoundTrip(req)
	if err != nil {
		return 0, nil, reasonOf(ctx, err)
	}

	defer resp.Body.Close()
	// The rest of a longer answer is not read: the status alone decides.
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, reasonOf(ctx, err)
	}
	return resp.StatusCode, answer, nil
}

// reasonOf is an error of a RoundTripper, for people. It has no URL, which may contain a secret.
func reasonOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New(contract.OneLine(err.Error(), mostQuoted)) // net/http quotes the other side's bytes
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Transport returns a transport that keeps as many idle connections to one integrator as there are
// senders. net/http's default of two would make each further order pay for a new connection.
func Transport(concurrency int) *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = concurrency
	return transport
}

// report writes the job's line in the service's log.
func (j Job) report(log *slog.Logger, o Order) {
	args := []any{
		"state", j.State, "id", o.ID, "kind", o.Kind, "venue", o.Venue, "device", o.Device,
		"status", j.Status, "attempts", len(j.Attempts), "took", j.Took.Round(10 * time.Microsecond),
	}

	level := slog.LevelInfo
	if !j.Accepted() {
		level = slog.LevelError
		args = append(args, "problem", j.Problem, "answer", contract.OneLine(string(j.Answer), mostQuoted))
	}

	log.Log(context.Background(), level, "job", args...)
}
