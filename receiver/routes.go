package receiver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/netip"
	"slices"
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

	checks := inOrder(p.checkAddress, p.checkVenue, p.checkDevice, r.recordArrival, checkContentType)
	methodNotAllowed := func(echo.Context) error { return echo.ErrMethodNotAllowed }

	add := func(path string, first ...echo.MiddlewareFunc) {
		// Without Any and RouteNotFound, Echo would answer an OPTIONS with 204, and a method that it does not know
		// with 405, before the secret is checked: that would reveal the path.
		e.Any(path, methodNotAllowed, first...) // POST too, which is then replaced
		e.RouteNotFound(path, methodNotAllowed, first...)
		e.POST(path, r.handle, append(first, checks)...)
	}

	if p.openPath {
		add(p.Path)
	}
	if len(p.secrets) > 0 {
		add(strings.TrimSuffix(p.Path, "/")+"/:secret", inOrder(p.checkSecret))
	}
	return e
}

// A check refuses a request because of its headers, or notes their values, in x or in the Receiver.
type check func(c echo.Context, x *exchange) error

// inOrder is middleware that makes checks up to the first that refuses.
func inOrder(checks ...check) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			for _, check := range checks {
				if err := check(c, exchangeOf(c)); err != nil {
					return err
				}
			}
			return next(c)
		}
	}
}

// An exchange is the state of one request and its answer. Only the goroutine of the request uses
// it, so it needs no lock.
type exchange struct {
	policy   *compiledPolicy // for all of the request, even if a reload replaces it
	mode     contract.Mode
	start    time.Time // just after the headers were read
	deadline time.Time // for the answer

	// secretOwner is the id of the venue whose secret the path ends with. "": it ends with the policy's secret, or with
	// none, which is possible only if the policy has none.
	secretOwner string
	hasSecret   bool // the path ends with a secret, or the request came from the relay
	// venueID and device are those that the headers name: most refusals come before they were checked. A venue that is
	// no UUID counts as none, because it is stored and shown.
	venueID, device string
	venue           *Venue // nil until it was checked
	address         string // of the caller

	body    []byte
	request contract.PrintRequest // the body, parsed
	// bodyRead: the body was read to its end. truncated: reading began, and body lacks the rest.
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
		x := &exchange{policy: p, mode: p.Mode, start: start, deadline: start.Add(p.RespondWithin), address: c.RealIP()}
		c.Set(exchangeKey, x)

		headers := c.Request().Header
		if id, isUUID := contract.CanonicalID(strings.TrimSpace(headers.Get(p.VenueHeader))); isUUID {
			x.venueID = id
		}
		x.device = truncateDevice(strings.TrimSpace(headers.Get(p.DeviceHeader)))

		// Some byte of the path is percent-encoded. No configured path and no secret needs that, and a proxy
		// in front may read such a spelling as another path than we would.
		if c.Request().URL.RawPath != "" {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// panicked logs a panic. The request is answered 500, which the service retries.
func (r *Receiver) panicked(cause any, stack []byte) error {
	r.log.Error("print request panicked; report this with the stack", "err", cause, "stack", string(stack))
	return refused(Internal)
}

// The checks that need only the headers, in the order in which they run. A refusal is a 4xx: the service gives the
// order up and, after a 401 or 403, alerts the venue's admin. That is intended, because only a person can correct a
// wrong venue, device or address; 503 only if the venues are not known now. No message quotes text that the caller
// chose, because it would go into the log; a venue id has the form of a UUID there.

// checkSecret compares the last path segment with each secret, in constant time: the time of an
// answer must not reveal how much of a guess was right. A wrong one is answered like any other
// path. All secrets are compared even after a match, for the same reason.
func (p *compiledPolicy) checkSecret(c echo.Context, x *exchange) error {
	sum := sha256.Sum256([]byte(c.Param("secret")))
	found := -1
	for i := range p.secrets {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], p.secrets[i].sum[:]), i, found)
	}

	if found < 0 {
		return echo.ErrNotFound
	}

	x.secretOwner, x.hasSecret = p.secrets[found].venue, true
	return nil
}

// checkAddress refuses callers whose address is not in allow_from.
func (p *compiledPolicy) checkAddress(_ echo.Context, x *exchange) error {
	if len(p.AllowFrom) == 0 {
		return nil
	}
	caller, err := netip.ParseAddr(x.address) // fails for a Unix socket, and if a proxy sent no address
	if err != nil || !within(p.AllowFrom, caller) {
		return &refusal{AddressNotAllowed, "the caller's address is not in allow_from"}
	}
	return nil
}

func within(networks []netip.Prefix, a netip.Addr) bool {
	// On a dual-stack socket an IPv4 caller is ::ffff:192.0.2.1, and a link-local one has a
	// zone such as %eth0. Neither would ever match a prefix in the configuration.
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// checkVenue refuses venues that are not configured. It checks every value of a header that was
// sent more than once: a proxy in front may have checked another one than we would use. A UUID in
// capitals is the same venue.
func (p *compiledPolicy) checkVenue(c echo.Context, x *exchange) error {
	values := c.Request().Header[p.VenueHeader]
	if len(values) == 0 {
		return badHeader(VenueMissing, p.VenueHeader, "missing")
	}
	var id string
	for i, v := range values {
		one, ok := contract.CanonicalID(strings.TrimSpace(v))
		switch {
		case !ok:
			return badHeader(VenueNotAllowed, p.VenueHeader, "not a UUID")
		case i > 0 && one != id:
			return badHeader(VenueNotAllowed, p.VenueHeader, "sent twice, with different values")
		}
		id = one
	}

	found := p.venues[id]
	if found == nil && p.MayBeNewVenue != nil && p.MayBeNewVenue(c.Request().Context(), id) {
		return &refusal{StorageFailed, "the list of venues cannot be read now"} // after a 403 the service would give up
	}
	if found == nil {
		return badHeader(VenueNotAllowed, p.VenueHeader, "venue "+id+" is not listed under venues")
	}
	if x.secretOwner != found.wantsSecretOf { // the secret in its path, or none, proves nothing about this venue
		return echo.ErrNotFound
	}

	x.venue = found
	return nil
}

// badHeader is the refusal for a header, named as people write it.
func badHeader(code Code, name, problem string) error {
	return &refusal{code, strings.ToLower(name) + ": " + problem}
}

// checkDevice refuses devices that are not the venue's. It checks every value too; blank ones do
// not count. Ids are compared exactly: the contract does not say that they have a fixed form.
func (p *compiledPolicy) checkDevice(c echo.Context, x *exchange) error {
	for _, v := range c.Request().Header[p.DeviceHeader] {
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}
		if !x.venue.allows(v) {
			return badHeader(DeviceNotAllowed, p.DeviceHeader, "not one of the venue's devices")
		}
		if x.device == "" {
			x.device = truncateDevice(v)
		}
	}

	if x.device == "" {
		return badHeader(DeviceMissing, p.DeviceHeader, "missing")
	}
	return nil
}

// allows says whether a device may post for the venue.
func (v *Venue) allows(device string) bool {
	is := func(d string) bool { return strings.TrimSpace(d) == device }
	return len(v.Devices) == 0 || slices.ContainsFunc(v.Devices, is)
}

// recordArrival keeps the time of a request for [Receiver.LastRequest].
func (r *Receiver) recordArrival(_ echo.Context, x *exchange) error {
	r.lastRequests.Store(x.venue.ID, time.Now())
	return nil
}

// checkContentType accepts any parameters, well-formed or not. A strange charset is no reason to lose
// an order: the parser decides whether the body can be read.
func checkContentType(c echo.Context, _ *exchange) error {
	media, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";")
	media = strings.ToLower(strings.TrimSpace(media))

	// application/problem+json and the like are JSON too (RFC 6839).
	if media != contract.ContentType &&
		!(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")) {
		return &refusal{ContentType, "Content-Type: want " + contract.ContentType}
	}
	return nil
}

// maxDevice limits the stored part of a device id, in bytes. Real ones have about twenty.
const maxDevice = 200

// truncateDevice makes a header's value safe to store: valid UTF-8 of at most maxDevice bytes. The
// id is stored with each job and shown on pages and terminals. checkDevice compares the complete value.
func truncateDevice(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ToValidUTF8(s[:min(len(s), maxDevice)], "") // without half a character
}
