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

// CheckOptions say what to check. URL and Venues are required.
type CheckOptions struct {
	// URL is the webhook.
	URL string
	// Venues are on the integrator's allow-list. All are tried, the first most.
	Venues []string
	// Device is one that the integrator allows. Default POSSIM-1.
	Device string
	// Transport is what requests go through. Default: one of the check's own.
	Transport http.RoundTripper
	// Load is how many orders are sent under load, Concurrency of them at a time. Defaults 200
	// and 16.
	Load, Concurrency int
	// Backoff is [Sender.Backoff].
	Backoff time.Duration
	// Seed decides what is ordered; ids are new in every run.
	Seed uint64
	// OnResult gets each result when it is there. May be nil.
	OnResult func(Result)
}

// A Result is one thing that the contract asks for, and whether the endpoint does it.
type Result struct {
	Section string // of the contract
	Name    string // what was sent
	Want    string // the answer that was expected
	Got     string // the answer that came
	Pass    bool
}

// Check finds out whether an endpoint does what the contract asks of it. It sends real orders,
// a few hundred of them: whatever stands behind the endpoint prints them. When ctx ends, what
// was found so far is returned.
func Check(ctx context.Context, o CheckOptions) []Result {
	o.Device = cmp.Or(o.Device, "POSSIM-1")
	o.Load = cmp.Or(o.Load, 200)
	o.Concurrency = cmp.Or(o.Concurrency, 16)
	c := &checker{ctx: ctx, o: o, orders: NewOrders(OrderOptions{Seed: o.Seed, Venues: o.Venues[:1], Device: o.Device, Employees: 5, FreshIDs: true})}
	if c.o.Transport == nil {
		t := Transport(o.Concurrency)
		defer t.CloseIdleConnections()
		c.o.Transport = t
	}
	var results []Result
	for _, r := range rows(o) {
		got, pass := r.run(c)
		if ctx.Err() != nil {
			break
		}
		result := Result{r.section, r.name, r.want, got, pass}
		results = append(results, result)
		if o.OnResult != nil {
			o.OnResult(result)
		}
	}
	return results
}

// A row is one expectation.
type row struct {
	section, name, want string
	run                 func(*checker) (got string, pass bool)
}

// A checker is one run.
type checker struct {
	ctx    context.Context
	o      CheckOptions
	orders *Orders

	mu              sync.Mutex // guards what follows
	unknownStatuses []int      // statuses that the contract does not know
	slowest         time.Duration
	late            int // without an answer in time
	replies         int // answers that came
}

// A reply is what came back.
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

func (r reply) accepted() bool {
	return r.err == nil && (r.status == http.StatusOK || r.status == http.StatusAccepted)
}

// duplicate is what the answer says about the order having come before. Not every endpoint
// says anything.
func (r reply) duplicate() (dup, seen bool) { return duplicateField(r.body) }

func duplicateField(answer []byte) (dup, seen bool) {
	var said map[string]json.RawMessage
	if json.Unmarshal(answer, &said) != nil {
		return false, false
	}
	b, there := said[contract.FieldAnswerDuplicate]
	return dup, there && json.Unmarshal(b, &dup) == nil
}

// fresh is an order that never was.
func (c *checker) newOrder() Order {
	o := c.orders.Next()
	return o.WithID(uuid.NewString())
}

// probe is a request that should be accepted.
func (c *checker) postOf(o Order) webhookPost {
	return webhookPost{venue: []string{c.o.Venues[0]}, device: []string{c.o.Device}, body: o.Body(0)}
}

// send makes the request and waits as long as the service does.
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

// note keeps what the last rows are about.
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

// known says whether the contract's table of answers has a status.
func known(status int) bool {
	return slices.Contains([]int{200, 202, 400, 401, 403, 500, 502, 503, 504}, status)
}

// sendAndHangUp sends a request and hangs up as soon as it is under way, as the service does after 5 s.
// When the transport says that the request is written, it is still in a buffer.
func (c *checker) sendAndHangUp(p webhookPost) {
	ctx, cancel := context.WithTimeout(c.ctx, contract.WebhookTimeout)
	defer cancel()
	c.exchange(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		time.AfterFunc(time.Millisecond, cancel)
	}}), p)
}

// taken is a row whose request must be accepted: it is new, and whoever takes it for a duplicate
// loses it.
func acceptedRow(section, name string, build func(*checker) webhookPost) row {
	return row{section, name, "200 or 202, not as a duplicate", func(c *checker) (string, bool) { return c.sendNew(build(c)) }}
}

// refused is a row whose request must be answered by one of some statuses.
func refusedRow(section, name string, build func(*checker) webhookPost, statuses ...int) row {
	want := either(statuses)
	return row{section, name, want, func(c *checker) (string, bool) {
		r := c.send(build(c))
		return r.String(), r.err == nil && slices.Contains(statuses, r.status)
	}}
}

func either(statuses []int) string {
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = strconv.Itoa(s)
	}
	return strings.Join(words, " or ")
}
