// Package receiver is the door through which orders reach the kitchen: the endpoint that
// the point-of-sale service posts print requests to.
//
// It decides who may post and whether a body is a print request, has it planned, hands it
// to an [Intake] and tells the service what became of it. It stores nothing and knows no
// printer. What it answers decides whether the service tries again: a 4xx means that the
// ticket is lost and nobody retries, so it is sent only for what no retry can cure.
//
// Echo is imported nowhere else. It has one instance for each policy, whose middleware is the
// list of checks; the server is net/http's.
package receiver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// Intake takes a planned request. It returns a nil error only when all of r would survive
// a power cut. After an error the outcome is unknown; the service's retry is safe. It returns
// when ctx ends, whatever the disk does: that is how the service gets its answer in time. The
// request may still be stored later, for the retry is then a duplicate. It is called concurrently.
type Intake interface {
	Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error)
}

// Options configure a [Receiver].
type Options struct {
	Intake Intake  // required
	Policy *Policy // required, see [Receiver.SetPolicy]

	// Classify names the reason why Intake returned an error: one of the codes that are
	// answered 503, anything else counts as [StorageFailed]. An error after the time for an
	// answer is over is [TooSlow] without asking. Nil: always StorageFailed.
	Classify func(error) Code

	// Reject is given each body from an allowed venue that was answered 400, or 500 after it
	// was read: those come again, and each time is given. It is called after the answer
	// went out, concurrently, and may keep the body. Nil: nobody looks.
	Reject func(Reject)

	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// A Reject is a body that was refused although its venue may post: a lost ticket that a
// person must be able to look into.
type Reject struct {
	Time      time.Time `json:"time"`  // when it came in, UTC
	Venue     string    `json:"venue"` // UUID, lower case
	Device    string    `json:"device"`
	Code      string    `json:"code"` // error.code of the answer
	Message   string    `json:"message"`
	Body      []byte    `json:"body,omitempty"`      // as much as was read; [Rejects] keeps 2 MiB
	Truncated bool      `json:"truncated,omitempty"` // there was, or may have been, more
}

// A Receiver answers print requests. It is an [http.Handler]; [Receiver.HTTPServer] puts it behind
// a server whose limits are set for a hostile network.
type Receiver struct {
	intake   Intake
	classify func(error) Code
	reject   func(Reject)
	log      *slog.Logger
	metrics  *metrics

	policy  atomic.Pointer[echo.Echo] // a snapshot's routes
	large   atomic.Int64              // bytes held by bodies that outgrew smallBody
	parsing *semaphore.Weighted       // bytes that bodies being parsed, planned and stored may need
	limiter *logLimiter
}

// New checks o and makes a [Receiver].
func New(o Options) (*Receiver, error) {
	if o.Intake == nil || o.Policy == nil {
		return nil, errors.New("make a receiver: Intake and Policy must be set")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	log := o.Logger.With("component", "receiver")
	r := &Receiver{
		intake:   o.Intake,
		classify: o.Classify,
		reject:   o.Reject,
		log:      log,
		metrics:  newMetrics(o.Registerer),
		parsing:  semaphore.NewWeighted(parseBytes),
		limiter:  newLogLimiter(),
	}
	if err := r.SetPolicy(o.Policy); err != nil {
		return nil, err
	}
	return r, nil
}

// SetPolicy checks p and puts it in force for requests that arrive from now on; those under
// way finish with the one they began with. p is copied where it matters and may not be
// changed deeper. On an error nothing changes.
func (r *Receiver) SetPolicy(p *Policy) error {
	s, err := compile(p)
	if err != nil {
		return fmt.Errorf("set the receiver's policy: %w", err)
	}
	r.policy.Store(r.routes(s))
	return nil
}

// ServeHTTP answers one request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.policy.Load().ServeHTTP(w, req)
}

// Time-outs of a connection: whoever is slow or silent loses it, and never holds more than that.
const (
	headerTime  = 3 * time.Second                          // for the headers; of the first request, TLS included
	readTime    = contract.WebhookTimeout + 2*time.Second  // for what the handler does not govern itself
	answerTime  = contract.WebhookTimeout + 10*time.Second // until an answer of 100 bytes is written
	idleTime    = 10 * time.Second                         // between two requests, and for the first one of HTTP/2
	headerBytes = 16 << 10
)

// HTTPServer is a server for r, not yet started, with every time-out set.
func (r *Receiver) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           r,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		// What arrives here is the noise of the internet, mostly failed handshakes.
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
}
