// Package receiver is the door through which orders reach the kitchen: the endpoint that
// the point-of-sale service posts print requests to.
//
// It decides who may post and whether a body is a print request, has it planned, hands it
// to an [Intake] and tells the service what became of it. It stores nothing and knows no
// printer. What it answers decides whether the service tries again: a 4xx means that the
// ticket is lost and nobody retries, so it is sent only for what no retry can cure.
//
// Echo is imported nowhere else, and only as a coat round a plain [http.Handler].
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

	TLS            TLS // zero: plain HTTP
	MaxConnections int // per listener; 0: 1024

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
	Body      []byte    `json:"body"`      // as much as was read, at most Policy.MaxBody
	Truncated bool      `json:"truncated"` // there was, or may have been, more
}

// A Receiver answers print requests. It is an [http.Handler]; [Receiver.Serve] puts it behind
// a server whose limits are set for a hostile network.
type Receiver struct {
	intake   Intake
	classify func(error) Code
	reject   func(Reject)
	tls      TLS
	maxConns int
	log      *slog.Logger
	metrics  *metrics
	echo     *echo.Echo

	policy   atomic.Pointer[snapshot]
	draining atomic.Bool
	parting  atomic.Bool         // each answer is the last on its connection
	running  atomic.Int64        // exchanges that have not been answered
	large    atomic.Int64        // bytes held by bodies that outgrew smallBody
	parsing  *semaphore.Weighted // bytes that bodies being parsed, planned and stored may need
	quiet    *quiet
}

// New checks o and makes a [Receiver].
func New(o Options) (*Receiver, error) {
	if o.Intake == nil || o.Policy == nil {
		return nil, errors.New("make a receiver: Intake and Policy must be set")
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = 1024
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	log := o.Logger.With("component", "receiver")
	r := &Receiver{
		intake:   o.Intake,
		classify: o.Classify,
		reject:   o.Reject,
		tls:      o.TLS,
		maxConns: o.MaxConnections,
		log:      log,
		metrics:  newMetrics(o.Registerer),
		parsing:  semaphore.NewWeighted(parseBytes),
		quiet:    newQuiet(),
	}
	if err := r.SetPolicy(o.Policy); err != nil {
		return nil, err
	}
	r.echo = r.coat()
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
	r.policy.Store(s)
	return nil
}

// Drain makes every print request that is not yet with the Intake be answered 503
// shutting_down from now on. Those that are finish undisturbed.
func (r *Receiver) Drain() { r.draining.Store(true) }

// ServeHTTP answers one request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	spare(req.Context())
	r.echo.ServeHTTP(w, req)
}

// coat is all that Echo does: every path and method comes to the one handler, which compares
// paths itself, in constant time. Binding, body limits, time-outs and recovery are ours.
func (r *Receiver) coat() *echo.Echo {
	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect() // without it Echo believes X-Forwarded-For from anyone
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		code := Internal
		if h, ok := errors.AsType[*echo.HTTPError](err); ok {
			switch h.Code {
			case http.StatusNotFound:
				code = NotFound
			case http.StatusMethodNotAllowed:
				code = MethodNotAllowed
			}
		}
		r.metrics.requests[code].Inc()
		writeError(c.Response().Writer, &refusal{code: code, message: code.plain()}, true)
	}
	e.RouteNotFound("/*", func(c echo.Context) error {
		r.exchange(c.Response().Writer, c.Request())
		return nil
	})
	return e
}
