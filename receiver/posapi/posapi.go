// Package posapi is the client of the point-of-sale service's read API: what a token is good for,
// who works at a venue, and which payroll periods it has. The kitchen needs it for the names on
// tickets and for the venue's time zone. Accepting and printing orders never waits for it.
//
// A token is valid for one venue (service contract, section 4.1), so each [Venue] requests,
// keeps and renews its own. What the contract does not state is an option.
//
// Answers are hostile until parsed: their size, records and pages are limited, and redirects are
// refused. Of an answer to the token request an [Error] repeats nothing but an error code of
// OAuth 2.0; of other answers it repeats the text of known error fields. The client secret and
// the token are removed from every answer before it is read, and error texts are quoted without
// words that could be a part or an encoding of one. Names and ids are otherwise passed
// on as they came: the caller must clean them before showing them.
package posapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/receiver/contract"
)

// AuthHeader is the [Options.AuthStyle] that sends the client id and secret in the Authorization
// header (HTTP Basic).
const AuthHeader = "header"

// Options of a [Client]. The configuration validates their values and has the defaults; only what
// says so may be left out.
type Options struct {
	// BaseURL is the address that the contract's paths are below, with /api if the service has
	// that: https://api.example.com/api.
	BaseURL string
	// ClientID is the integrator's. It is sent as it is.
	ClientID string
	// Secret is called for each token request, so that a rotated file is noticed. White space
	// around the secret is dropped. It may be called concurrently, and its error is shown.
	Secret func() (string, error)
	// Transport sends the requests. Default: one of the client's own, with time-outs, that obeys
	// the proxy variables of the environment.
	Transport http.RoundTripper

	// TokenPath is where a token is requested, below BaseURL. The contract names it, but not the
	// fields of the request.
	TokenPath string
	// MePath is where a token is explained, and LaborPrefix what is put before the paths of the labor
	// calls, both below BaseURL: some services have only the latter under /api. Defaults:
	// [contract.PathMe] and none.
	MePath, LaborPrefix string
	// TokenVenueParam is the field of the form that names the venue.
	TokenVenueParam string
	// AuthStyle is [AuthHeader], or "params": the client id and secret are fields of the form.
	AuthStyle string
	// RenewBefore is how long before its expiry a token is renewed, but no longer than half its life.
	RenewBefore time.Duration
	// Scopes are requested. Default: none, the service decides.
	Scopes []string

	// PageLimit is the limit parameter for employees. Default 0: none is sent, and the service's
	// default of 20 holds.
	PageLimit int
	// CursorAt is where an answer names its next page: a dotted path into the envelope, or
	// "header:" and a name. Default: all of [contract.NextCursorPlaces],
	// [contract.HeaderNextCursor] and Link. What is an address there stands for its parameter
	// cursor; it is never followed.
	CursorAt string
	// PayrollVenueParam is the parameter that names the venue for payroll periods.
	PayrollVenueParam string
	// Timeout is for one exchange, from the request to the last byte of the answer. An exchange
	// that took that long is not retried. A call, with its token and its retries, takes no more
	// than six times as long, or two minutes if that is longer; the pages of a list are one call
	// each.
	Timeout time.Duration
	// Logger gets what is not returned to a caller, such as retries. Default: none.
	Logger *slog.Logger
	// Metrics count the requests. Clients may share them. Default: they are not counted.
	Metrics *Metrics
}

// A Client sends requests to one service for one integrator. It is safe for concurrent use.
type Client struct {
	o    Options
	base *url.URL

	mu     sync.Mutex
	venues map[string]*Venue // by canonical id; guarded by mu
}

// A Venue sends requests about one venue, with tokens of its own. It is safe for concurrent use:
// a caller that needs a token while one is being fetched waits for that.
type Venue struct {
	c     *Client
	id    string
	drift atomic.Pointer[float64] // see [Venue.Drift]

	cursorAt atomic.Pointer[string] // where a list named its next page; see [Venue.Reading]

	fetching chan struct{}         // holds one element while a caller checks or fetches the token
	grant    atomic.Pointer[grant] // nil: none
}

// New makes a client. It sends nothing yet.
func New(o Options) (*Client, error) {
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	base, err := url.Parse(o.BaseURL + "/")
	if err != nil { // the text is not repeated: it may contain a password
		return nil, errors.New("point-of-sale service: base address: want one such as https://api.example.com/api")
	}
	o.MePath = cmp.Or(o.MePath, contract.PathMe)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("component", "posapi")
	o.Metrics = cmp.Or(o.Metrics, NewMetrics(nil))
	host := base.Hostname()
	if base.Scheme == "http" && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		o.Logger.Warn("the client secret and tokens cross the network unencrypted; use an https address",
			"base_url", o.BaseURL)
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	return &Client{o: o, base: base, venues: map[string]*Venue{}}, nil
}

// newTransport limits the parts of an exchange to less than its whole time-out, so that the
// error says which part it was.
func newTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 5 * time.Second
	t.MaxResponseHeaderBytes = 64 << 10
	// Without pings, requests would keep failing on a connection that died silently.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second}
	return t
}

// Venue is the venue with that id; it is the same one each time, whatever the id's case. It is
// for ids from the configuration: each is kept until [Client.Keep] drops it.
func (c *Client) Venue(id string) *Venue {
	id, _ = contract.CanonicalID(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.venues[id] == nil {
		c.venues[id] = &Venue{c: c, id: id, fetching: make(chan struct{}, 1)}
	}
	return c.venues[id]
}

// Employees is [Venue.Employees] of the venue with that id.
func (c *Client) Employees(ctx context.Context, venue string) iter.Seq2[Employee, error] {
	return c.Venue(venue).Employees(ctx)
}

// PayrollPeriods is [Venue.PayrollPeriods] of the venue with that id.
func (c *Client) PayrollPeriods(ctx context.Context, venue string) ([]PayrollPeriod, error) {
	return c.Venue(venue).PayrollPeriods(ctx)
}

// Me is [Venue.Me] of the venue with that id.
func (c *Client) Me(ctx context.Context, venue string) (Me, error) { return c.Venue(venue).Me(ctx) }

// Keep drops all venues but those with these ids, with their tokens. A call about a dropped
// venue that is under way still ends normally.
func (c *Client) Keep(ids []string) {
	stay := make(map[string]bool, len(ids))
	for _, id := range ids {
		id, _ = contract.CanonicalID(id)
		stay[id] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.venues, func(id string, _ *Venue) bool { return !stay[id] })
}

// Close closes idle connections and removes the ages of the client's tokens from the metrics.
// The client can still be used.
func (c *Client) Close() {
	(&http.Client{Transport: c.o.Transport}).CloseIdleConnections()
	c.o.Metrics.client.CompareAndSwap(c, nil)
}

// String names the service. It ensures that printing a client shows no secret.
func (c *Client) String() string { return "client of " + c.o.BaseURL }

// String is the venue's id. It ensures that printing a venue does not show its token.
func (v *Venue) String() string { return v.id }
