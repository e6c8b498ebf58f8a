package receiver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"ticketrail/receiver/contract"
)

// The checks that need only the headers, in the order in which routes.go runs them. Each refusal is
// a 4xx: the service gives the order up and, after a 401 or 403, alerts the venue's admin. That is
// intended, because only a person can correct a wrong venue, device or address. No message quotes
// text that the caller chose, because it would go into the log; a venue id has the form of a UUID there.

// checkAddress refuses callers whose address is not in allow_from.
func (p *compiledPolicy) checkAddress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if len(p.AllowFrom) == 0 {
			return next(c)
		}
		a, err := netip.ParseAddr(exchangeOf(c).address) // fails for a Unix socket, and if a proxy sent no address
		if err != nil || !within(p.AllowFrom, a) {
			return &refusal{AddressNotAllowed, "the caller's address is not in allow_from"}
		}
		return next(c)
	}
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
func (p *compiledPolicy) checkVenue(next echo.HandlerFunc) echo.HandlerFunc {
	name := strings.ToLower(p.VenueHeader)
	return func(c echo.Context) error {
		values := c.Request().Header[p.VenueHeader]
		if len(values) == 0 {
			return &refusal{VenueMissing, name + ": missing"}
		}
		var id string
		for i, v := range values {
			one, ok := contract.CanonicalID(strings.TrimSpace(v))
			switch {
			case !ok:
				return &refusal{VenueNotAllowed, name + ": not a UUID"}
			case i > 0 && one != id:
				return &refusal{VenueNotAllowed, name + ": sent twice, with different values"}
			}
			id = one
		}
		v := p.venues[id]
		if v == nil {
			return &refusal{VenueNotAllowed, fmt.Sprintf("%s: venue %s is not listed under venues", name, id)}
		}
		x := exchangeOf(c)
		if x.path != v.path { // the secret of another venue, or of none, proves nothing about this one
			return echo.ErrNotFound
		}
		x.venue = v
		return next(c)
	}
}

// checkDevice refuses devices that are not the venue's. It checks every value too; blank ones do
// not count. Ids are compared exactly: the contract does not say that they have a fixed form.
func (p *compiledPolicy) checkDevice(next echo.HandlerFunc) echo.HandlerFunc {
	name := strings.ToLower(p.DeviceHeader)
	return func(c echo.Context) error {
		x := exchangeOf(c)
		for _, v := range c.Request().Header[p.DeviceHeader] {
			v = strings.TrimSpace(v)
			if v == "" {
				continue
			}
			if x.venue.devices != nil && !x.venue.devices[v] {
				return &refusal{DeviceNotAllowed, name + ": not one of the venue's devices"}
			}
			if x.device == "" {
				x.device = truncateDevice(v)
			}
		}
		if x.device == "" {
			return &refusal{DeviceMissing, name + ": missing"}
		}
		return next(c)
	}
}

// checkContentType accepts any parameters, well-formed or not. A strange charset is no reason to lose
// an order: the parser decides whether the body can be read.
func (p *compiledPolicy) checkContentType(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		media, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";")
		media = strings.ToLower(strings.TrimSpace(media))
		// application/problem+json and the like are JSON too (RFC 6839).
		if media != contract.ContentType &&
			!(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")) {
			return &refusal{ContentType, "Content-Type: want " + contract.ContentType}
		}
		return next(c)
	}
}

// maxDevice limits what is stored of a device id, in bytes. Real ones have about twenty.
const maxDevice = 200

// truncateDevice makes a header's value safe to store: valid UTF-8 of at most maxDevice bytes. The
// id is stored with each job and shown on pages and terminals. The complete value was compared with
// the allow-list before.
func truncateDevice(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxDevice {
		return s
	}
	n := maxDevice
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
