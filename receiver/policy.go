package receiver

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// Planner turns a print request into tickets. *[plan.Plan] is one.
type Planner interface {
	Split(req contract.PrintRequest, v plan.Venue, device string, received time.Time, names plan.Names) plan.Result
}

// A Policy is everything that a reload may change. Each request is served by one policy to its end. Package config has
// the defaults of its fields, and checks them.
type Policy struct {
	Path string // of the endpoint, of letters, digits and . _ ~ - between slashes
	// Secrets, if there are any, are alternatives for one more path segment that callers must send.
	// There are two while the secret is being replaced.
	Secrets []string

	VenueHeader, DeviceHeader string // the names of the headers

	AllowFrom      []netip.Prefix // callers' addresses; empty: any
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed; empty: none

	Venues []Venue // the allow-list: each id, which is a UUID, once
	// Plan and Names are called concurrently.
	Plan  Planner    // required
	Names plan.Names // may be nil
	// MayBeNewVenue says that an id may be a venue although it is not among Venues, which may be old: then the answer
	// is 503, and the service tries again. It is asked only for a caller that may post, concurrently. Nil: no id may.
	MayBeNewVenue func(ctx context.Context, id string) bool

	MaxBody int64         // bytes: an order has a few thousand; one of 300 items with notes has about 50,000
	Mode    contract.Mode // how far a body may differ from the contract
	// OnlyReportConflict says that other content under a known id does not print.
	OnlyReportConflict bool
	// RespondWithin is the time from the headers to the answer. It must be shorter than the time after which the
	// service gives up (section 6.1), or that answer is lost.
	RespondWithin time.Duration
}

// A Venue is allowed to post.
type Venue struct {
	plan.Venue
	Devices []string // that are allowed to post for it; empty: any
	// Secrets, if there are any, are like Policy.Secrets, for this venue alone: its requests are taken
	// only with one of them, and with them only its requests.
	Secrets []string

	wantsSecretOf string // the venue whose secret its requests must have: its id, or "" for the policy's
}

// A compiledPolicy is a Policy as requests need it. It never changes.
//
// Everything that a request needs is in one value, so that a reload in the middle of a request
// cannot check it by the old policy and plan it by the new one.
type compiledPolicy struct {
	Policy   // with canonical headers
	secrets  []secret
	openPath bool // some venue posts to the path without a secret
	address  echo.IPExtractor
	venues   map[string]*Venue // by canonical id
}

// conflictText says how other content under a known id is treated.
func (p *compiledPolicy) conflictText() string {
	if p.OnlyReportConflict {
		return "nothing of it is printed (receiver.conflict: report)"
	}
	return "what differs is printed again as whole tickets, headed CHANGED"
}

// A secret is hashed, so that the comparison takes the same time for secrets of any length.
type secret struct {
	sum   [sha256.Size]byte
	venue string // the id of its venue; "": the policy's
}

func compile(from *Policy) *compiledPolicy {
	compiled := &compiledPolicy{Policy: *from, address: addressExtractor(from.TrustedProxies),
		venues: make(map[string]*Venue, len(from.Venues))}
	compiled.VenueHeader = http.CanonicalHeaderKey(from.VenueHeader)
	compiled.DeviceHeader = http.CanonicalHeaderKey(from.DeviceHeader)

	compiled.addSecrets(from.Secrets, "")
	// With no venue configured the path is open too: the caller is answered 403, as with venues that have no secret.
	compiled.openPath = len(from.Secrets) == 0 &&
		(len(from.Venues) == 0 || slices.ContainsFunc(from.Venues, func(v Venue) bool { return len(v.Secrets) == 0 }))
	for _, v := range from.Venues {
		v.ID, _ = contract.CanonicalID(v.ID) // it is compared with the header, and stored
		if len(v.Secrets) > 0 {
			v.wantsSecretOf = v.ID
			compiled.addSecrets(v.Secrets, v.ID)
		}
		compiled.venues[v.ID] = &v
	}
	return compiled
}

func (p *compiledPolicy) addSecrets(all []string, venue string) {
	for _, s := range all {
		p.secrets = append(p.secrets, secret{sha256.Sum256([]byte(s)), venue})
	}
}

// addressExtractor finds the caller's address: the connection's, unless that is a trusted proxy. Echo
// trusts all private networks by default, which includes every device in the restaurant.
func addressExtractor(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}

	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		p = p.Masked()
		network := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		trust = append(trust, echo.TrustIPRange(network))
	}

	return echo.ExtractIPFromXFFHeader(trust...)
}
