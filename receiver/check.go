package receiver

import (
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"ticketrail/receiver/contract"
)

// checkAddress says whether the caller's address is one of allow_from.
func (s *snapshot) checkAddress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if len(s.allowFrom) == 0 {
			return next(c)
		}
		a, err := netip.ParseAddr(c.RealIP()) // an error: a socket without an address, or a proxy that sent none
		a = a.Unmap().WithZone("")
		if err != nil || !slices.ContainsFunc(s.allowFrom, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return &refusal{AddressNotAllowed, "the caller's address is not in allow_from"}
		}
		return next(c)
	}
}

// checkVenue looks at every value of a header sent more than once: a proxy in between might
// look at another one than we do.
func (s *snapshot) checkVenue(next echo.HandlerFunc) echo.HandlerFunc {
	name := strings.ToLower(s.venueHeader)
	return func(c echo.Context) error {
		values := c.Request().Header[s.venueHeader]
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
		v := s.venues[id]
		if v == nil {
			return &refusal{VenueNotAllowed, name + ": not on the allow-list"}
		}
		exchangeOf(c).venue = v
		return next(c)
	}
}

// checkDevice looks at every value too. Blank ones do not count.
func (s *snapshot) checkDevice(next echo.HandlerFunc) echo.HandlerFunc {
	name := strings.ToLower(s.deviceHeader)
	return func(c echo.Context) error {
		x := exchangeOf(c)
		for _, v := range c.Request().Header[s.deviceHeader] {
			v = strings.TrimSpace(v)
			if v == "" {
				continue
			}
			if x.venue.devices != nil && !x.venue.devices[v] {
				return &refusal{DeviceNotAllowed, name + ": not one of the venue's devices"}
			}
			if x.device == "" {
				x.device = clip(v)
			}
		}
		if x.device == "" {
			return &refusal{DeviceMissing, name + ": missing"}
		}
		return next(c)
	}
}

// checkContentType accepts any parameters, well-formed or not: what the body is, the parser decides.
func (s *snapshot) checkContentType(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		media, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";")
		if !strings.EqualFold(strings.TrimSpace(media), contract.ContentType) {
			return &refusal{ContentType, "Content-Type: want " + contract.ContentType}
		}
		return next(c)
	}
}

// maxDevice bounds what is stored of a device id, in bytes. Real ones have twenty.
const maxDevice = 200

// clip makes a header's value fit to be stored: valid UTF-8 of bounded length.
func clip(s string) string {
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
