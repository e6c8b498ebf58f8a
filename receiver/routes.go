package receiver

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"ticketrail/receiver/contract"
)

// routes builds the endpoint for one policy. The checks that need no body are middleware, in the order
// of the table in README.md; [Receiver.handle] does the rest. Each failure is an error, and
// [Receiver.refuse] answers it.
//
// These parts of Echo are not used: its server (no time-outs), BodyLimit (one large read passes the
// limit, and the answer is 500), Bind (accepts a body that is not one JSON object, and keys in any case)
// and the time-out middleware (races with the handler).
//
// The order of the checks keeps secrets too: a caller whose address or path is wrong learns nothing
// about the venues. It also saves work: no byte of a body is read before its sender is allowed to
// post.
func (r *Receiver) routes(p *compiledPolicy) *echo.Echo {
	e := echo.New()
	e.IPExtractor = p.address // without one, Echo believes X-Forwarded-For from any caller
	e.HTTPErrorHandler = r.refuse
	// Pre runs before routing, so that a request that matches no route has an exchange too.
	e.Pre(p.startExchange)
	// Recover runs after routing (Use): a body that causes a panic must not stop the orders of others.
	e.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{
		// Only the stack of the request that panicked: the stacks of all goroutines would fill the
		// journal. The error goes on to refuse, which keeps the body.
		StackSize: 16 << 10, DisableStackAll: true, DisableErrorHandler: true,
		LogErrorFunc: func(_ echo.Context, err error, stack []byte) error { return r.panicked(err, stack) },
	}))
	checks := []echo.MiddlewareFunc{p.checkAddress, p.checkVenue, p.checkDevice, r.recordArrival, p.checkContentType}
	// Without these two, Echo would answer an OPTIONS with 204, and a method that it does not know with
	// 405, before the secret is checked: that would reveal the path.
	methodNotAllowed := func(echo.Context) error { return echo.ErrMethodNotAllowed }
	add := func(path string, first ...echo.MiddlewareFunc) {
		e.Any(path, methodNotAllowed, first...)
		e.RouteNotFound(path, methodNotAllowed, first...)
		e.POST(path, r.handle, append(first, checks...)...)
	}
	if p.openPath {
		add(p.Path)
	}
	if len(p.secrets) > 0 {
		add(strings.TrimSuffix(p.Path, "/")+"/:secret", p.checkSecret)
	}
	return e
}

// An exchange is the state of one request and its answer. Only the goroutine of the request uses
// it, so it needs no lock.
type exchange struct {
	policy   *compiledPolicy // for all of the request, even if a reload replaces it meanwhile
	mode     contract.Mode
	start    time.Time // just after the headers were read
	deadline time.Time // for the answer

	path    string // the id of the venue whose secret the path ends with; "": none, or the policy's
	secret  bool   // the path ends with a secret
	venue   *venue // nil until it was checked
	device  string
	address string // of the caller

	body    []byte
	request contract.PrintRequest // what was parsed of it
	// bodyRead: the body was read to its end. truncated: reading began or was refused, and body lacks the
	// rest. Both false: nothing was read yet.
	bodyRead  bool
	truncated bool
	reserved  int64 // bytes of Receiver.largeReserved that this body uses
	answered  bool

	refusedFor  string        // of a request that was refused before, see [Receiver.PrintLate]: why
	age         time.Duration // of a relayed request, see [ticket.Request.Age]
	storeWithin time.Duration // 0: until the end of the context
}

const exchangeKey = "exchange" // in echo.Context

func exchangeOf(c echo.Context) *exchange { return c.Get(exchangeKey).(*exchange) }

// startExchange starts the clock for the answer and fixes the policy of the request. It runs before
// everything else, so that no later step, not even the router, takes time that is not counted.
func (p *compiledPolicy) startExchange(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		c.Set(exchangeKey, &exchange{policy: p, mode: p.Mode, start: start, deadline: start.Add(p.RespondWithin),
			address: c.RealIP()})
		// Some byte of the path is percent-encoded. No configured path and no secret needs that, and a proxy
		// in front may read such a spelling as another path than we would.
		if c.Request().URL.RawPath != "" {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// checkSecret compares the last path segment with each secret, in constant time: the time of an
// answer must not reveal how much of a guess was right. A wrong one is answered like any other
// path. All secrets are compared even after a match, for the same reason.
func (p *compiledPolicy) checkSecret(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		sum := sha256.Sum256([]byte(c.Param("secret")))
		found := -1
		for i := range p.secrets {
			found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], p.secrets[i].sum[:]), i, found)
		}
		if found < 0 {
			return echo.ErrNotFound
		}
		exchangeOf(c).path, exchangeOf(c).secret = p.secrets[found].venue, true
		return next(c)
	}
}

// recordArrival passes the venue of a request to Options.Arrived.
func (r *Receiver) recordArrival(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r.arrived != nil {
			r.arrived(exchangeOf(c).venue.ID)
		}
		return next(c)
	}
}

// panicked logs a panic. The request is answered 500, which the service retries.
func (r *Receiver) panicked(cause any, stack []byte) error {
	r.log.Error("print request panicked; report this with the stack", "err", cause, "stack", string(stack))
	return refused(Internal)
}
