package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// CheckOptions configure [Check]. URL and Venues are required.
type CheckOptions struct {
	// URL is the address of the webhook.
	URL string
	// Venues are on the integrator's allow-list. Each gets at least one order; the first gets all
	// others.
	Venues []string
	// Device is a device that the integrator allows. Default: POSSIM-1.
	Device string
	// Transport sends the requests. Default: a new one, closed at the end.
	Transport http.RoundTripper
	// Load is how many orders the load test sends, Concurrency of them at a time. Defaults: 200
	// and 16.
	Load, Concurrency int
	// Backoff is [Sender.Backoff].
	Backoff time.Duration
	// Seed determines what is ordered. Ids are new in every run: an endpoint that has seen one
	// would take the order for a duplicate.
	Seed uint64
	// Output sees what the endpoint prints or shows. Default: nothing sees it, and the rows that
	// need it are [Unseen].
	Output *Output
	// Restart kills the endpoint without warning and starts it again. Default: it cannot be
	// restarted, and the rows that need it are [Unseen].
	Restart func(context.Context) error
	// OnResult is called with each result as soon as it is known. May be nil.
	OnResult func(Result)
}

// A Verdict says whether the endpoint meets a requirement.
type Verdict string

// The verdicts. Unseen is neither of the others: nothing could see whether the requirement is met.
const (
	Pass   Verdict = "pass"
	Fail   Verdict = "fail"
	Unseen Verdict = "unseen"
)

// verdict is that of a row that only looks at answers.
func verdict(pass bool) Verdict {
	if pass {
		return Pass
	}
	return Fail
}

// A Result is one requirement of the contract, and whether the endpoint meets it.
type Result struct {
	Section string        `json:"section"` // of the contract
	Name    string        `json:"name"`    // what was sent
	Want    string        `json:"want"`    // the required answer or effect
	Got     string        `json:"got"`     // the answer or the effect
	Verdict Verdict       `json:"verdict"`
	Took    time.Duration `json:"-"`
}

// Check tests whether an endpoint does what the contract requires. It sends a few hundred real
// orders, and whatever is behind the endpoint prints them. When ctx ends, it returns the results
// so far.
//
// The rows run one after another and share nothing but the endpoint. The ones about all requests
// come last, so that they see every answer.
func Check(ctx context.Context, o CheckOptions) []Result {
	o.Device = cmp.Or(o.Device, "POSSIM-1")
	o.Load = cmp.Or(o.Load, 200)
	o.Concurrency = cmp.Or(o.Concurrency, 16)
	c := &checker{
		ctx: ctx,
		o:   o,
		orders: NewOrders(
			OrderOptions{Seed: o.Seed, Venues: o.Venues[:1], Device: o.Device, Employees: 5, FreshIDs: true},
		),
	}
	if c.o.Transport == nil {
		t := Transport(o.Concurrency)
		defer t.CloseIdleConnections()
		c.o.Transport = t
	}
	var results []Result
	test := func(section, name, want string, run func(*checker) (string, Verdict)) {
		// The result of a row that was interrupted says nothing.
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		got, v := run(c)
		if ctx.Err() != nil {
			return
		}
		result := Result{section, name, want, got, v, time.Since(began)}
		results = append(results, result)
		if o.OnResult != nil {
			o.OnResult(result)
		}
	}
	for _, r := range rows(o) {
		test(r.section, r.name, r.want, func(c *checker) (string, Verdict) {
			got, pass := r.run(c)
			return got, verdict(pass)
		})
	}
	for _, r := range append(outputRows(o), restartRows()...) {
		test(r.section, r.name, r.want, r.run)
	}
	return results
}

// A row is one requirement and its test. want is text for people; run judges.
type row struct {
	section, name, want string
	run                 func(*checker) (got string, pass bool)
}

// A checker is one run of [Check].
type checker struct {
	ctx    context.Context
	o      CheckOptions
	orders *Orders
	copies int // how often the name of a dish is on the tickets of one order; 0: not seen

	mu              sync.Mutex // guards what follows
	unknownStatuses []int      // statuses that the contract does not list
	slowest         time.Duration
	late            int // requests without an answer in time
	replies         int // answers received
}

// A reply is the answer to one request, or the error instead of one.
type reply struct {
	status int
	body   []byte
	err    error
}

func (r reply) String() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case r.accepted():
		if dup, seen := r.duplicate(); seen {
			return fmt.Sprintf("%d, duplicate: %t", r.status, dup)
		}
	}
	return strconv.Itoa(r.status)
}

// accepted says whether the service would consider the order delivered. Only the status counts: the
// contract says nothing about the body.
func (r reply) accepted() bool {
	return r.err == nil && (r.status == http.StatusOK || r.status == http.StatusAccepted)
}

// duplicate returns the answer's field "duplicate". The contract does not require it, so an
// endpoint without it (seen is false) is not wrong.
func (r reply) duplicate() (dup, seen bool) { return duplicateField(r.body) }

// duplicateField reads "duplicate" from an answer. Anything that is not JSON, or has another type there,
// counts as an answer without the field.
func duplicateField(answer []byte) (dup, seen bool) {
	var said map[string]json.RawMessage
	if json.Unmarshal(answer, &said) != nil {
		return false, false
	}
	b, there := said[contract.FieldAnswerDuplicate]
	return dup, there && json.Unmarshal(b, &dup) == nil
}

// newOrder is an order with an id that was never sent. A repeated run against the same endpoint
// must not meet its own ids.
func (c *checker) newOrder() Order {
	o := c.orders.Next()
	return o.WithID(uuid.NewString())
}

// postOf is a correct request for an order.
func (c *checker) postOf(o Order) webhookPost {
	return webhookPost{venue: []string{c.o.Venues[0]}, device: []string{c.o.Device}, body: o.Body(0)}
}

// send makes the request and waits for the answer as long as the service does.
func (c *checker) send(p webhookPost) reply {
	ctx, cancel := context.WithTimeoutCause(c.ctx, contract.WebhookTimeout, errTimeOut)
	defer cancel()
	began := time.Now()
	r := c.exchange(ctx, p)
	c.record(r, time.Since(began), p.method == "")
	return r
}

func (c *checker) exchange(ctx context.Context, p webhookPost) (r reply) {
	r.status, r.body, r.err = p.exchange(ctx, c.o.Transport, c.o.URL)
	return r
}

// record keeps what the last rows, about all requests together, need. Requests that are not a POST
// are left out of the statuses: the contract lists none for them.
func (c *checker) record(r reply, took time.Duration, posted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(r.err, errTimeOut) {
		c.late++
	}
	if r.err == nil {
		c.replies++
	}
	c.slowest = max(c.slowest, took)
	if posted && r.err == nil && !known(r.status) && !slices.Contains(c.unknownStatuses, r.status) {
		c.unknownStatuses = append(c.unknownStatuses, r.status)
	}
}

// known says whether the contract's table of answers (section 6.3) lists a status.
func known(status int) bool {
	return slices.Contains([]int{200, 202, 400, 401, 403, 500, 502, 503, 504}, status)
}

// sendAndHangUp sends a request and closes the connection before the answer, as the service does
// after 5 s. The millisecond lets the request leave: when the transport reports it as written, it
// may still be in a buffer. Whether the endpoint has stored the order then is open; the retries
// must be accepted in either case.
func (c *checker) sendAndHangUp(p webhookPost) {
	ctx, cancel := context.WithTimeout(c.ctx, contract.WebhookTimeout)
	defer cancel()
	c.exchange(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		time.AfterFunc(time.Millisecond, cancel)
	}}), p)
}

// acceptedRow is a row whose request must be accepted. The request is new: an endpoint that takes
// it for a duplicate loses the order.
func acceptedRow(section, name string, build func(*checker) webhookPost) row {
	return row{
		section,
		name,
		"200 or 202, not as a duplicate",
		func(c *checker) (string, bool) { return c.sendNew(build(c)) },
	}
}

// refusedRow is a row whose request must be answered with one of some statuses. Where the contract
// leaves a choice, such as 401 or 403 for a missing header, both are right.
func refusedRow(section, name string, build func(*checker) webhookPost, statuses ...int) row {
	want := either(statuses)
	return row{section, name, want, func(c *checker) (string, bool) {
		r := c.send(build(c))
		return r.String(), r.err == nil && slices.Contains(statuses, r.status)
	}}
}

// either lists the statuses that are allowed, for the column of required answers.
func either(statuses []int) string {
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = strconv.Itoa(s)
	}
	return strings.Join(words, " or ")
}
