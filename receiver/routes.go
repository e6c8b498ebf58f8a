package receiver

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// routes is the endpoint as one policy has it: the checks that need no body are middleware, in
// the order of the specification, and [Receiver.take] does the rest. Whatever fails is an
// error, and [Receiver.refuse] answers it.
//
// Not used of Echo: its server (no time-outs), BodyLimit (one large read passes the limit, and
// the answer is 500), Bind (takes a body that is not one JSON object, and keys in any case) and
// the time-out middleware (races with the handler).
func (r *Receiver) routes(s *snapshot) *echo.Echo {
	e := echo.New()
	e.IPExtractor = s.address // without one Echo believes X-Forwarded-For from anyone
	e.HTTPErrorHandler = r.refuse
	e.Pre(s.begin)
	e.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{
		StackSize: 16 << 10, DisableStackAll: true, DisableErrorHandler: true,
		LogErrorFunc: func(_ echo.Context, err error, stack []byte) error { return &panicked{err, stack} },
	}))
	path, known := s.path, []echo.MiddlewareFunc{}
	if len(s.secrets) > 0 {
		path, known = strings.TrimSuffix(path, "/")+"/:secret", append(known, s.checkSecret)
	}
	// Without these an OPTIONS would be answered 204, and a method that Echo does not know 405,
	// whatever the secret.
	notPost := func(echo.Context) error { return echo.ErrMethodNotAllowed }
	e.Any(path, notPost, known...)
	e.RouteNotFound(path, notPost, known...)
	e.POST(path, r.take, append(known, s.checkAddress, s.checkVenue, s.checkDevice, r.heardOf, s.checkContentType)...)
	return e
}

// An exchange is one request on its way to its answer.
type exchange struct {
	policy   *snapshot // the one that serves all of it
	start    time.Time // about when the headers were read
	deadline time.Time // for the answer

	venue  *venue // nil until it is known to be allowed
	device string

	body      []byte
	bodyRead  bool  // to its end
	truncated bool  // body is not all of it
	held      int64 // what of Receiver.large is for body
	answered  bool
}

const exchangeKey = "exchange"

func exchangeOf(c echo.Context) *exchange { return c.Get(exchangeKey).(*exchange) }

func (s *snapshot) begin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		c.Set(exchangeKey, &exchange{policy: s, start: start, deadline: start.Add(s.respondWithin)})
		c.Request().URL.RawPath = "" // the router would compare paths as they are escaped
		return next(c)
	}
}

// checkSecret compares the last segment of the path with each secret, in a time that tells
// nothing about them. A wrong one is answered like any other path.
func (s *snapshot) checkSecret(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		sum := sha256.Sum256([]byte(c.Param("secret")))
		found := 0
		for i := range s.secrets {
			found |= subtle.ConstantTimeCompare(sum[:], s.secrets[i][:])
		}
		if found != 1 {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// heardOf notes when a venue and device that may post were last heard of.
func (r *Receiver) heardOf(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r.metrics.last.SetToCurrentTime()
		return next(c)
	}
}

// panicked is a programming error in a handler.
type panicked struct {
	err   error
	stack []byte
}

func (p *panicked) Error() string { return p.err.Error() }
