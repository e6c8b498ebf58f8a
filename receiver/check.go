package receiver

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"ticketrail/receiver/contract"
)

// admit makes the checks that need no body, in the order of the specification, and fills in
// venue and device.
func (x *exchange) admit() *refusal {
	switch {
	case !x.policy.knows(x.req.URL.Path):
		return &refusal{NotFound, NotFound.plain()}
	case x.req.Method != http.MethodPost:
		return &refusal{MethodNotAllowed, MethodNotAllowed.plain()}
	case !x.policy.allows(x.req):
		return &refusal{AddressNotAllowed, "the caller's address is not in allow_from"}
	}
	if no := x.admitVenue(); no != nil {
		return no
	}
	if no := x.admitDevice(); no != nil {
		return no
	}
	x.received = true
	if !isJSON(x.req.Header["Content-Type"]) {
		return &refusal{ContentType, "Content-Type: want " + contract.ContentType}
	}
	return nil
}

// admitVenue looks at every value of a header sent more than once: a proxy in between might
// look at another one than we do.
func (x *exchange) admitVenue() *refusal {
	name := strings.ToLower(x.policy.venueHeader)
	values := x.req.Header[x.policy.venueHeader]
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
	v := x.policy.venues[id]
	if v == nil {
		return &refusal{VenueNotAllowed, name + ": not on the allow-list"}
	}
	x.venue = v
	return nil
}

func (x *exchange) admitDevice() *refusal {
	name := strings.ToLower(x.policy.deviceHeader)
	first := ""
	for _, v := range x.req.Header[x.policy.deviceHeader] {
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}
		if x.venue.devices != nil && !x.venue.devices[v] {
			return &refusal{DeviceNotAllowed, name + ": not one of the venue's devices"}
		}
		if first == "" {
			first = v
		}
	}
	if first == "" {
		return &refusal{DeviceMissing, name + ": missing"}
	}
	x.device = clip(first)
	return nil
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

// isJSON accepts any parameters, well-formed or not: what the body is, the parser decides.
func isJSON(values []string) bool {
	if len(values) == 0 {
		return false
	}
	media, _, _ := strings.Cut(values[0], ";")
	return strings.EqualFold(strings.TrimSpace(media), contract.ContentType)
}
