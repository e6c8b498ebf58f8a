// Package receiver is the HTTP endpoint to which the point-of-sale service posts print requests: the way
// by which orders reach the kitchen.
//
// It checks who posts and whether the body is a print request, has the tickets planned, passes them to
// an [Intake] and answers the service. It stores nothing and knows no printer. The answer decides
// whether the service tries again. After a 4xx it does not and the ticket is lost, so a 4xx is sent only
// where no retry could succeed.
//
// A request passes through the files in this order: routes.go checks its headers; handle.go reads its body, plans and
// stores it (late.go: one that was refused before, or comes from a relay); answer.go answers it; log.go logs it.
// rejects.go keeps the requests that a person should look at, shapes.go which fields the others have. policy.go is what
// a reload replaces.
//
// Echo is imported nowhere else. Each policy has its own Echo instance, whose middleware is the list of
// checks; the server is from net/http.
package receiver

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// Intake stores a planned request. It returns a nil error only when all of r would survive a power cut.
// After an error the outcome is unknown, and a retry is safe. Accept must return when ctx ends, even if
// the disk hangs, so that the service gets its answer in time. The request may still be stored later;
// the retry is then a duplicate. It is called concurrently.
type Intake interface {
	Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error)
}

// Options configure a [Receiver].
type Options struct {
	Intake Intake  // required
	Policy *Policy // required, see [Receiver.SetPolicy]

	// Classify returns the code for an error of Intake: one of those that are answered 503; any
	// other counts as [StorageFailed]. It is not called if the time for the answer is over, which
	// is [TooSlow]. Required. It is a function because this package does not
	// import the queue, whose errors these are.
	Classify func(error) Code

	// Reject is called with requests that a person should look at:
	//   - a body from an allowed venue that was answered 400, or 500 after it was read (each time it is sent
	//     again), or was refused for its device, or was a conflict, or printed only in part;
	//   - any other refused body of a proven caller: it has the secret or, where the path needs none, an address of
	//     allow_from;
	//   - without a body, a caller that was turned away (401, 403, and 404 if it names a venue): once for each log line
	//     about it. Reject.Count is the number of its requests since the line before.
	// It is called after the answer was sent, concurrently, and may keep the body. Required.
	Reject func(Reject)

	// LastRequests has the times of the venues before the start, by id: see [Receiver.LastRequest].
	LastRequests map[string]time.Time

	// Shapes keeps which fields the stored requests have. Nil: they are not kept.
	Shapes *Shapes

	Logger     *slog.Logger // required
	Registerer prometheus.Registerer
}

// A Reject is an entry of "ticketrail rejects", a request that a person should look at. Most were refused: a body of a
// venue that is allowed to post, or a caller that was turned away, of which no body is read. An accepted one was in
// conflict with an earlier one, or printed only in part.
type Reject struct {
	Time      time.Time `json:"time"`                // of arrival, UTC; of the newest, if Count is above 1
	Venue     string    `json:"venue"`               // UUID, lower case; empty if the caller named none
	Device    string    `json:"device"`              // as the caller named it, at most 200 bytes
	Address   string    `json:"address,omitempty"`   // of the caller, as far as receiver.trusted_proxies tell
	Count     int       `json:"count,omitempty"`     // requests of a caller that was turned away; 0 with a body
	Code      string    `json:"code"`                // error.code of the answer, or wrong_path, conflict, over_limit
	Message   string    `json:"message"`             // the cause and the advice
	Secret    bool      `json:"secret,omitempty"`    // it came by the secret path of its venue, or from its relay
	Body      []byte    `json:"body,omitempty"`      // as much as was read, at most 8 MiB
	Truncated bool      `json:"truncated,omitempty"` // there was, or may have been, more
	// Fetched is when the box got it from a relay, to which Time belongs; zero: it came directly.
	Fetched time.Time `json:"fetched,omitzero"`
	// Printed is when it was printed after all; zero: it was not.
	Printed time.Time `json:"printed,omitzero"`
}

// A Receiver answers print requests. It is an [http.Handler]; [Receiver.HTTPServer] makes a server for
// it whose limits are set for the public internet.
type Receiver struct {
	o       Options
	log     *slog.Logger
	metrics *metrics

	// A reload makes a new Echo instance and swaps it in here: routes of an instance that serves
	// must not be changed.
	router        atomic.Pointer[echo.Echo] // of the compiled policy
	policy        atomic.Pointer[compiledPolicy]
	largeReserved atomic.Int64        // bytes of bodies larger than maxSmallBody
	small, large  *semaphore.Weighted // of bodies that are parsed, planned and stored, see maxParsed
	limiter       *logLimiter
	strangers     *rate.Limiter // of log lines about callers that name none of our venues
	lastRequests  sync.Map      // of each venue: [time.Time] by id
}

// New makes a [Receiver].
func New(o Options) *Receiver {
	receiver := &Receiver{
		o:       o,
		log:     o.Logger.With("component", "receiver"),
		metrics: newMetrics(o.Registerer),
		small:   semaphore.NewWeighted(maxParsed),
		large:   semaphore.NewWeighted(1),
		limiter: newLogLimiter(),
		// Ten at once, then one in six seconds: a new box shows its faults, a flood from many addresses
		// writes little.
		strangers: rate.NewLimiter(rate.Every(6*time.Second), 10),
	}

	for venue, at := range o.LastRequests {
		receiver.lastRequests.Store(venue, at)
	}
	receiver.SetPolicy(o.Policy)
	return receiver
}

// LastRequest is when the last request of an allowed venue and device came, whatever its body was: it tells whether the
// service still reaches the box. Zero: never.
func (r *Receiver) LastRequest(venue string) time.Time {
	at, _ := r.lastRequests.Load(venue)
	last, _ := at.(time.Time)
	return last
}

// SetPolicy applies p to requests that arrive from now on. Requests that have begun finish with the policy they began
// with. The caller must not change p afterwards.
func (r *Receiver) SetPolicy(p *Policy) {
	compiled := compile(p)
	r.policy.Store(compiled)
	r.router.Store(r.routes(compiled))
}

// ServeHTTP answers one request, by the policy that is active now.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.router.Load().ServeHTTP(w, req)
}

// Limits of a connection, so that slow or silent callers cannot use up the box's connections.
const (
	// An honest caller sends its headers in one packet; 3 s still allow for a lost packet or two.
	// It is also the time for the TLS handshake before the first request.
	headerTimeout = 3 * time.Second
	// For a whole request. The handler sets a shorter deadline of its own, respond_within, and
	// answers 503 when that ends; this one is for requests that are refused before the handler. 2 s more
	// than the service waits: a connection must not be cut off before the service gives it up.
	readTimeout = contract.WebhookTimeout + 2*time.Second
	// Until the answer, of about 100 bytes, is written. It counts from the headers, so it includes
	// all of the time that the request may take; 10 s more, so that an answer that is due is never cut off.
	writeTimeout = contract.WebhookTimeout + 10*time.Second
)

const (
	// The service sends one order after another for each venue; a chain of restaurants may share an address.
	maxConnsOfAddress = 128
	// Enough to answer them 403 and to show it in the list of rejects.
	maxConnsNotAllowed = 16
)

// Group says with which others the connections of a caller are counted, and how many these may have
// together; ("", 0) is no limit. Behind a trusted proxy a connection has no known owner before its
// requests are read. Those that allow_from refuses are few, and not none: the service must get its 403,
// and the operator must see it, when its address has changed.
func (r *Receiver) Group(caller netip.Addr) (name string, most int) {
	switch policy := r.policy.Load(); {
	case within(policy.TrustedProxies, caller):
		return "", 0
	case len(policy.AllowFrom) > 0 && !within(policy.AllowFrom, caller):
		return "not allowed", maxConnsNotAllowed
	}
	return network(caller.String()), maxConnsOfAddress
}

// Caller is the network of who sends a request, by the active policy: for limits on strangers.
func (r *Receiver) Caller(req *http.Request) string { return network(r.policy.Load().address(req)) }

// HTTPServer returns a server for r, not yet started, with every time-out set.
func (r *Receiver) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           r,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		// Mostly failed TLS handshakes of scanners, which would hide important lines at a higher level.
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
}
