package receiver

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// Planner turns a print request into tickets. *[plan.Plan] is one.
type Planner interface {
	Split(req contract.PrintRequest, v plan.Venue, device string, received time.Time, names plan.Names) plan.Result
}

// A Policy is everything a reload may change. One policy serves a whole request.
type Policy struct {
	// Paths that are answered, compared whole and exactly; several while a secret segment is
	// being changed. Empty: the contract's path.
	Paths []string

	VenueHeader  string // empty: as in the contract
	DeviceHeader string // empty: as in the contract

	AllowFrom      []netip.Prefix // callers' addresses; empty: any
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed; empty: nobody's

	Venues []Venue    // the allow-list
	Plan   Planner    // required
	Names  plan.Names // may be nil

	MaxBody       int64         // bytes; 0: 1 MiB
	Mode          contract.Mode // what may differ from the contract
	RespondWithin time.Duration // from the headers to the answer; 0: 4 s
}

// A Venue may post.
type Venue struct {
	plan.Venue
	Devices []string // that may post for it; empty: any
}

// snapshot is a Policy made ready for use. It never changes.
type snapshot struct {
	paths         [][sha256.Size]byte
	venueHeader   string // canonical
	deviceHeader  string
	allowFrom     []netip.Prefix
	address       func(*http.Request) string
	venues        map[string]*venue // by canonical id
	plan          Planner
	names         plan.Names
	maxBody       int64
	mode          contract.Mode
	respondWithin time.Duration
}

type venue struct {
	plan.Venue
	devices map[string]bool // nil: any
}

func compile(p *Policy) (*snapshot, error) {
	s := &snapshot{
		venueHeader:   http.CanonicalHeaderKey(cmp.Or(p.VenueHeader, contract.HeaderVenue)),
		deviceHeader:  http.CanonicalHeaderKey(cmp.Or(p.DeviceHeader, contract.HeaderDevice)),
		allowFrom:     slices.Clone(p.AllowFrom),
		address:       addressFrom(p.TrustedProxies),
		venues:        make(map[string]*venue, len(p.Venues)),
		plan:          p.Plan,
		names:         p.Names,
		maxBody:       p.MaxBody,
		mode:          p.Mode,
		respondWithin: p.RespondWithin,
	}
	var problems []error
	if s.plan == nil {
		problems = append(problems, errors.New("plan: missing"))
	}
	if s.maxBody == 0 {
		s.maxBody = 1 << 20
	}
	if s.respondWithin == 0 {
		s.respondWithin = 4 * time.Second
	}
	if s.maxBody < 0 || s.respondWithin < 0 {
		problems = append(problems, fmt.Errorf("max_body %d, respond_within %s: must not be negative", p.MaxBody, p.RespondWithin))
	}
	paths := p.Paths
	if len(paths) == 0 {
		paths = []string{contract.PathWebhook}
	}
	for i, path := range paths {
		if !strings.HasPrefix(path, "/") {
			problems = append(problems, fmt.Errorf("path %d of %d: want one that begins with /", i+1, len(paths))) // never the path: it may be secret
		}
		s.paths = append(s.paths, sha256.Sum256([]byte(path)))
	}
	for i, v := range p.Venues {
		problems = append(problems, s.addVenue(i, v))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *snapshot) addVenue(i int, v Venue) error {
	id, ok := contract.CanonicalID(v.ID)
	if !ok {
		return fmt.Errorf("venues[%d].id: %q is not a UUID", i, v.ID)
	}
	if s.venues[id] != nil {
		return fmt.Errorf("venues[%d].id: %s is there twice", i, id)
	}
	added := &venue{Venue: v.Venue}
	added.ID = id
	if len(v.Devices) > 0 {
		added.devices = make(map[string]bool, len(v.Devices))
		for _, d := range v.Devices {
			added.devices[strings.TrimSpace(d)] = true
		}
	}
	s.venues[id] = added
	return nil
}

// knows compares path with every valid one in a time that tells nothing about them.
func (s *snapshot) knows(path string) bool {
	sum := sha256.Sum256([]byte(path))
	found := 0
	for i := range s.paths {
		found |= subtle.ConstantTimeCompare(sum[:], s.paths[i][:])
	}
	return found == 1
}

// allows says whether the caller's address is one of allow_from.
func (s *snapshot) allows(req *http.Request) bool {
	if len(s.allowFrom) == 0 {
		return true
	}
	a, err := netip.ParseAddr(s.address(req))
	if err != nil {
		return false // a socket without an address, or a proxy that sent none
	}
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(s.allowFrom, func(p netip.Prefix) bool { return p.Contains(a) })
}

// addressFrom finds the caller's address: the connection's, unless that is a trusted proxy.
// Echo trusts whole private networks on its own, which on a restaurant's LAN is everybody.
func addressFrom(proxies []netip.Prefix) func(*http.Request) string {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		p = p.Masked()
		trust = append(trust, echo.TrustIPRange(&net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}
