package sim

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptrace"
	"slices"
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
	// Burst is how many orders come at once. Default: 300.
	Burst int
	// Output sees the tickets that the endpoint prints or shows. Default: nothing sees them, and the rows that
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

func verdict(pass bool) Verdict {
	if pass {
		return Pass
	}
	return Fail
}

// A Result is one requirement of the contract, and whether the endpoint meets it.
type Result struct {
	Section string  `json:"section"` // of the contract
	Name    string  `json:"name"`    // the requests, by id
	Want    string  `json:"want"`    // the required answer or effect
	Got     string  `json:"got"`     // the answer or the effect
	Verdict Verdict `json:"verdict"`
	TookMS  int64   `json:"took_ms"`
}

const (
	// atOnce is how many rows are tried at the same time, so that an endpoint that needs seconds for each
	// answer is judged within two minutes.
	atOnce = 17
	// burstAtOnce is how many orders of the burst wait for their answers at the same time.
	burstAtOnce = 64
	// tooLate is after how many answers that did not come in time the check ends: nothing that comes later
	// could change its result.
	tooLate = 5
)

// Check tests whether an endpoint meets the contract. It sends a few hundred real
// orders, and whatever is behind the endpoint prints them. At the end everything that was sent is
// compared with everything that came out. When ctx ends, it returns the results so far.
//
// It ends early if the first order is not accepted, or answers do not come in time: the rest would
// explain nothing.
func Check(ctx context.Context, o CheckOptions) []Result {
	o.Device, o.Burst = cmp.Or(o.Device, "POSSIM-1"), cmp.Or(o.Burst, 300)
	if o.Transport == nil {
		transport := Transport(burstAtOnce)
		defer transport.CloseIdleConnections()
		o.Transport = transport
	}

	c := &checker{o: o, sheets: map[Slip]*sheet{}, sent: map[string]*sentRequest{}}
	c.ctx, c.stop = context.WithCancel(ctx)
	defer c.stop()

	c.number = firstNumber()
	c.try(table(o))
	if ctx.Err() == nil && c.replies > 0 {
		tooSlow := c.ctx.Err() != nil
		c.ctx = ctx
		c.try(totalRows())
		if !tooSlow && !c.broken {
			c.try(c.paperRows())
		}
	}
	return c.results
}

// A row is one requirement and its test. want is text for people; run judges.
type row struct {
	section, name, want string
	alone               bool // not at the same time as others
	run                 func(*tester) (got string, v Verdict)
}

// A checker is one run of [Check].
type checker struct {
	ctx     context.Context // of the rows; ends also when the answers are too slow
	stop    context.CancelFunc
	o       CheckOptions
	results []Result
	first   webhookPost // the first order
	broken  bool        // it was not accepted
	// restarted says that the endpoint was killed and answers again.
	restarted bool
	gaveUp    int             // orders that were waited for in vain
	sheets    map[Slip]*sheet // the tickets that came out so far

	mu              sync.Mutex // guards the fields below
	number          int        // of the last order
	sent            map[string]*sentRequest
	unknownStatuses []int // statuses that the contract does not list
	slowest         time.Duration
	late            int    // requests without an answer in time
	lateIn          string // the row that sent the first of them
	replies         int    // answers received
}

// A tester runs one row.
type tester struct {
	*checker
	row   string
	alone bool
	doubt bool // its orders may come out twice: one was printing when something broke
}

// try tries rows, up to atOnce at a time, and reports them in their order.
func (c *checker) try(rows []row) {
	for len(rows) > 0 && !c.broken {
		times := 1
		for !rows[0].alone && times < min(len(rows), atOnce) && !rows[times].alone {
			times++
		}

		done := make([]Result, times)
		var wg sync.WaitGroup
		for i, r := range rows[:times] {
			wg.Go(func() {
				began := time.Now()
				got, verdict := r.run(&tester{checker: c, row: r.name, alone: r.alone})
				done[i] = Result{r.section, r.name, r.want, got, verdict, time.Since(began).Milliseconds()}
			})
		}

		wg.Wait()

		// The result of a row that was interrupted says nothing.
		if c.ctx.Err() != nil {
			return
		}
		for _, result := range done {
			c.results = append(c.results, result)
			if c.o.OnResult != nil {
				c.o.OnResult(result)
			}
		}

		rows = rows[times:]
	}
}

// newOrder is an order with an id and a number that were never sent. A repeated run against the same
// endpoint must not meet its own ids.
func (c *checker) newOrder(items ...map[string]any) Order {
	return c.orderOf(c.newRecord(items...))
}

func (c *checker) newRecord(items ...map[string]any) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.number++
	return map[string]any{
		contract.FieldID: uuid.NewString(), contract.FieldItems: list(items...), contract.FieldRetryCount: 0,
		contract.FieldVenueID: c.o.Venues[0], fieldNumber: c.number, "checkName": "T4",
	}
}

func (c *checker) orderOf(records ...map[string]any) Order {
	return orderOf("check", c.o.Venues[0], c.o.Device, records...)
}

// postOf is a correct request for an order.
func (c *checker) postOf(o Order) webhookPost { return c.attempt(o, 0) }

func (c *checker) attempt(o Order, n int) webhookPost {
	return webhookPost{venue: []string{o.Venue}, device: []string{o.Device}, body: o.Body(n)}
}

// send makes the request, and remembers it and its answer.
func (t *tester) send(p webhookPost) Attempt {
	a := p.send(t.ctx, t.o.Transport, t.o.URL)
	if p.method == "" {
		request, _ := decode(p.body)
		t.expect(request, a.Status)
	}
	t.record(a, p.method == "")
	return a
}

// record keeps the data for the rows about all requests. Requests that are not a POST are left out of the
// statuses: the contract lists none for them.
func (t *tester) record(a Attempt, posted bool) {
	checker := t.checker
	checker.mu.Lock()
	defer checker.mu.Unlock()

	if a.isLate() {
		checker.late++
		checker.lateIn = cmp.Or(checker.lateIn, t.row)
		if checker.late >= tooLate {
			checker.stop()
		}
	}

	checker.slowest = max(checker.slowest, a.Took)
	if a.Err != nil {
		return
	}

	checker.replies++
	if posted && !slices.Contains(listedStatuses, a.Status) && !slices.Contains(checker.unknownStatuses, a.Status) {
		checker.unknownStatuses = append(checker.unknownStatuses, a.Status)
	}
}

// listedStatuses are those in the contract's table of answers (section 6.3).
var listedStatuses = []int{200, 202, 400, 401, 403, 500, 502, 503, 504}

// sendAndHangUp sends a request and closes the connection before the answer, as the service does
// after 5 s. The millisecond lets the request leave: when the transport reports it as written, it
// may still be in a buffer. Whether the endpoint has stored the order then is open; the retries
// must be accepted in either case.
func (t *tester) sendAndHangUp(p webhookPost) {
	ctx, cancel := context.WithTimeout(t.ctx, contract.WebhookTimeout)
	defer cancel()
	_, _, _ = p.exchange(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { time.AfterFunc(time.Millisecond, cancel) },
	}), t.o.Transport, t.o.URL)

	request, _ := decode(p.body)
	t.expect(request, 0)
}

// load sends many orders by the service's rules, and remembers each for the comparison with the paper.
func (t *tester) load(once bool, l Load) *Summary {
	l.Done = func(o Order, j Job) {
		t.expect(o.request, j.Status)
		for _, a := range j.Attempts {
			t.record(a, true)
		}
	}

	sender := Sender{URL: t.o.URL, Transport: t.o.Transport, Once: once}
	return sender.Run(t.ctx, l)
}
