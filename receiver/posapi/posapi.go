// Package posapi asks the point-of-sale service what it knows about a venue: what a token is
// good for, who works there, and which payroll periods it has. The kitchen needs it for names
// on tickets and for the venue's time zone; nothing in the accept path waits for it.
//
// [Client.Venue] has a venue's token got, kept and renewed; a token is pinned to one venue and
// never used for another. What the contract does not show is a default here and an option.
//
// The answers are hostile until parsed: they are capped, redirects are refused, and what is
// quoted from them in an [Error] is short, printable, and free of the secret and of tokens. The
// names and ids in an answer are handed on as they came; who shows them must clean them.
package posapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/receiver/contract"
)

// Auth styles of [TokenOptions].
const (
	AuthParams = "params" // client id and secret are fields of the form
	AuthHeader = "header" // they are in the Authorization header (HTTP Basic)
)

// TokenOptions say how a token is got: POST /oauth/token, whose fields the contract does not
// show. The zero value is a good default.
type TokenOptions struct {
	// Path is below the base address. Default /oauth/token.
	Path string
	// VenueParam is the field of the form that names the venue. Default venue_id.
	VenueParam string
	// AuthStyle is [AuthParams] (the default) or [AuthHeader].
	AuthStyle string
	// RenewBefore is how long before its end a token is renewed. Default 60 s; of a token that
	// lives for less than twice as long, half its life.
	RenewBefore time.Duration
	// Scopes are asked for in the request. Default: none, the service decides.
	Scopes []string
}

// Options of a [Client]. BaseURL, ClientID and Secret are required.
type Options struct {
	// BaseURL is the address that the contract's paths are below, with /api if the service has
	// that: https://api.example.com/api.
	BaseURL string
	// ClientID is the integrator's. It is sent as it is.
	ClientID string
	// Secret is called for each token request, so that a rotated file is noticed. White space
	// around it is dropped. It may be called for several venues at the same time.
	Secret func() (string, error)
	// Transport is what requests go through. Default: one of the client's own, with time-outs,
	// that obeys the proxy variables of the environment.
	Transport http.RoundTripper
	// Token says how a token is got.
	Token TokenOptions
	// PageLimit is the limit that employees are asked for with. Default 0: none is sent, and
	// the service's default of 20 holds.
	PageLimit int
	// CursorAt is where an answer names its next page: a dotted path into the envelope, or
	// "header:" and a name. Default: all of [contract.NextCursorPlaces] and
	// [contract.HeaderNextCursor].
	CursorAt string
	// PayrollVenueParam is the parameter that names the venue for payroll periods. Default
	// venueId.
	PayrollVenueParam string
	// Timeout is for one exchange with the service, from the request to the last byte of the
	// answer. Default 10 s. An exchange that took that long is not tried again. A call, with its
	// token and all that is tried again, takes no more than six times as long, and two minutes at
	// least; of a list that holds for each page.
	Timeout time.Duration
	// MaxResponse is how many bytes an answer may have. Default 16 MiB.
	MaxResponse int64
	// Logger gets what no caller is told. Default: none.
	Logger *slog.Logger
	// Registerer gets the metrics. Default: none. Clients at the same Registerer, as around a
	// reload, share them; one that is not used any more must be closed.
	Registerer prometheus.Registerer
}

// A Client asks one service for one integrator. It is safe for concurrent use.
type Client struct {
	o       Options
	base    string
	http    *http.Client
	log     *slog.Logger
	metrics *metrics
	ages    *ages // nil: nobody sees them

	mu     sync.Mutex
	venues map[string]*Venue // by canonical id; guarded by mu
}

// A Venue asks about one venue, with tokens that are pinned to it. It is safe for concurrent
// use: whoever needs a token while it is being fetched waits for that fetch.
type Venue struct {
	c      *Client
	id     string
	hush   *hush
	tokens *tokens
	clock  clock
	scopes atomic.Pointer[[]string] // of the latest token that told; nil: none did
}

const (
	defaultTimeout     = 10 * time.Second
	defaultRenewBefore = 60 * time.Second
	defaultMaxResponse = 16 << 20
	headerPlace        = "header:"
)

// New makes a client. It talks to nobody yet. The error names every option that cannot be.
func New(o Options) (*Client, error) {
	o.fill()
	base, err := o.check()
	if err != nil {
		return nil, err
	}
	c := &Client{o: o, base: base, log: o.Logger.With("component", "posapi"), venues: map[string]*Venue{}}
	c.http = &http.Client{
		Transport: o.Transport,
		// The answer that redirects is judged like any other: following it could carry the
		// secret or a token to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if c.metrics, err = newMetrics(o.Registerer, c); err != nil {
		return nil, fmt.Errorf("point-of-sale service: register metrics: %w", err)
	}
	if exposed(base) {
		c.log.Warn("the client secret and tokens cross the network unencrypted; use an https address", "base_url", base)
	}
	return c, nil
}

func (o *Options) fill() {
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	def(&o.Token.Path, contract.PathToken)
	def(&o.Token.VenueParam, contract.ParamTokenVenue)
	def(&o.Token.AuthStyle, AuthParams)
	def(&o.PayrollVenueParam, contract.ParamPayrollVenue)
	if o.Token.RenewBefore == 0 {
		o.Token.RenewBefore = defaultRenewBefore
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxResponse == 0 {
		o.MaxResponse = defaultMaxResponse
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = transport()
	}
	o.Token.Scopes = slices.Clone(o.Token.Scopes)
}

// check returns the base address without a slash at its end.
func (o *Options) check() (string, error) {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	u, err := url.Parse(o.BaseURL)
	switch {
	case o.BaseURL == "":
		bad(true, "base address: missing")
	case err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "":
		// It is not repeated: who pasted a password into it does not want to read it here.
		bad(true, "base address: want one such as https://api.example.com/api")
	case u.User != nil:
		bad(true, "base address: has a user name or password in it; the client id and secret have places of their own")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		bad(true, "base address: ends in a query or fragment; want one such as https://api.example.com/api")
	}
	bad(o.ClientID == "", "client id: missing")
	bad(o.Secret == nil, "client secret: missing")
	bad(!strings.HasPrefix(o.Token.Path, "/"), "token path: %q does not begin with a slash", o.Token.Path)
	reserved := []string{contract.ParamGrantType, contract.ParamClientID, contract.ParamClientSecret, contract.ParamScope}
	bad(slices.Contains(reserved, o.Token.VenueParam), "token venue parameter: %q has a meaning of its own in a token request", o.Token.VenueParam)
	bad(o.Token.AuthStyle != AuthParams && o.Token.AuthStyle != AuthHeader, "token auth style: %q is neither %s nor %s", o.Token.AuthStyle, AuthParams, AuthHeader)
	bad(o.Token.RenewBefore < 0, "renew before: %v is negative", o.Token.RenewBefore)
	bad(o.PageLimit < 0, "page limit: %d is negative", o.PageLimit)
	bad(o.CursorAt == headerPlace, "cursor place: %q names no header", o.CursorAt)
	bad(o.PayrollVenueParam == contract.ParamCursor || o.PayrollVenueParam == contract.ParamLimit, "payroll venue parameter: %q has a meaning of its own", o.PayrollVenueParam)
	bad(o.Timeout < 0, "time-out: %v is negative", o.Timeout)
	bad(o.MaxResponse < 0, "largest answer: %d is negative", o.MaxResponse)
	if errs != nil {
		return "", fmt.Errorf("point-of-sale service: %w", errors.Join(errs...))
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// exposed says that others can read along on the way to base.
func exposed(base string) bool {
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "https" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// transport gives up on connections that do not get on, in parts of the time that an exchange
// has, so that the error says which part it was.
func transport() http.RoundTripper {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		// A connection that died silently must not take the next hour's requests with it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// Venue is the venue with that id; it is the same one each time, whatever the id's case. It is
// for ids from the configuration: each is kept until [Client.Keep] lets it go.
func (c *Client) Venue(id string) *Venue {
	id, _ = contract.CanonicalID(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.venues[id]
	if v == nil {
		v = &Venue{c: c, id: id, hush: new(hush)}
		v.tokens = newTokens(v)
		c.venues[id] = v
	}
	return v
}

// Me is [Venue.Me] of the venue with that id.
func (c *Client) Me(ctx context.Context, venue string) (Me, error) { return c.Venue(venue).Me(ctx) }

// Employees is [Venue.Employees] of the venue with that id.
func (c *Client) Employees(ctx context.Context, venue string) iter.Seq2[Employee, error] {
	return c.Venue(venue).Employees(ctx)
}

// PayrollPeriods is [Venue.PayrollPeriods] of the venue with that id.
func (c *Client) PayrollPeriods(ctx context.Context, venue string) ([]PayrollPeriod, error) {
	return c.Venue(venue).PayrollPeriods(ctx)
}

// Keep forgets all venues but those with these ids, their tokens with them. Calls about another
// that are under way end as they would have.
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

// Close gives up idle connections, and the ages of its tokens are not told any more. The client
// can still be used.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	if c.ages != nil {
		c.ages.leave(c)
	}
}

// String says which service it is. It is there so that no way of printing a client shows more.
func (c *Client) String() string { return "client of " + c.base }

// GoString is [Client.String].
func (c *Client) GoString() string { return c.String() }

// ID is the venue's, in canonical form.
func (v *Venue) ID() string { return v.id }

// String is the venue's id. It is there so that no way of printing a venue shows its token.
func (v *Venue) String() string { return v.id }

// GoString is [Venue.String].
func (v *Venue) GoString() string { return v.String() }
