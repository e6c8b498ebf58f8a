// Package posapi asks the point-of-sale service what it knows about a venue: what a token is
// good for, who works there, and which payroll periods it has. The kitchen needs it for names
// on tickets and for the venue's time zone; nothing in the accept path waits for it.
//
// [Client.Venue] has a venue's token got, kept and renewed; a token is pinned to one venue and
// never used for another. What the contract does not show is a default here and an option.
//
// The answers are hostile until parsed: they are capped, redirects are refused, nothing that
// the token endpoint sends is repeated, and what an [Error] repeats of other answers is a few
// plain words. The names and ids in an answer are handed on as they came, without the client
// secret and the token; who shows them must clean them.
package posapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/oauth2"

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

// Options of a [Client]. BaseURL, ClientID and Secret are required. The values of the others
// are checked by whoever reads them from a person.
type Options struct {
	// BaseURL is the address that the contract's paths are below, with /api if the service has
	// that: https://api.example.com/api.
	BaseURL string
	// ClientID is the integrator's. It is sent as it is.
	ClientID string
	// Secret is called for each token request, so that a rotated file is noticed. White space
	// around it is dropped. It may be called for several venues at the same time, and what its
	// error says is shown.
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
	// MaxResponse is how many bytes an answer may have. Default 8 MiB:
	// ten thousand employees on one page.
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
	log     *slog.Logger
	metrics *metrics

	mu     sync.Mutex
	venues map[string]*Venue // by canonical id; guarded by mu
}

// A Venue asks about one venue, with tokens that are pinned to it. It is safe for concurrent
// use: whoever needs a token while it is being fetched waits for that.
type Venue struct {
	c       *Client
	id      string
	secrets *secrets
	clock   clock
	scopes  atomic.Pointer[[]string] // of the latest token that told; nil: none did

	fetching chan struct{}                // holds one element while somebody sees to the token
	token    atomic.Pointer[oauth2.Token] // nil: none
}

// New makes a client. It talks to nobody yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil || u.RawQuery != "":
		// It is not repeated: it may have a password in it.
		return nil, errors.New("point-of-sale service: base address: want one such as https://api.example.com/api")
	case o.ClientID == "":
		return nil, errors.New("point-of-sale service: client id: missing")
	case o.Secret == nil:
		return nil, errors.New("point-of-sale service: client secret: missing")
	}
	o.fill()
	c := &Client{o: o, log: o.Logger.With("component", "posapi"), venues: map[string]*Venue{}}
	if c.metrics, err = newMetrics(o.Registerer); err != nil {
		return nil, fmt.Errorf("point-of-sale service: register metrics: %w", err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		c.log.Warn("the client secret and tokens cross the network unencrypted; use an https address", "base_url", o.BaseURL)
	}
	return c, nil
}

func (o *Options) fill() {
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	o.Token.Path = cmp.Or(o.Token.Path, contract.PathToken)
	o.Token.VenueParam = cmp.Or(o.Token.VenueParam, contract.ParamTokenVenue)
	o.Token.AuthStyle = cmp.Or(o.Token.AuthStyle, AuthParams)
	o.Token.RenewBefore = cmp.Or(o.Token.RenewBefore, time.Minute)
	o.PayrollVenueParam = cmp.Or(o.PayrollVenueParam, contract.ParamPayrollVenue)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.MaxResponse = cmp.Or(o.MaxResponse, 8<<20)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Transport == nil {
		o.Transport = transport()
	}
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
		v = &Venue{c: c, id: id, secrets: new(secrets), fetching: make(chan struct{}, 1)}
		c.venues[id] = v
	}
	return v
}

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
	maps.DeleteFunc(c.venues, func(id string, v *Venue) bool {
		if !stay[id] {
			c.metrics.forget(v)
		}
		return !stay[id]
	})
}

// Close gives up idle connections, and the ages of its tokens are not told any more. The client
// can still be used.
func (c *Client) Close() {
	(&http.Client{Transport: c.o.Transport}).CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.venues {
		c.metrics.forget(v)
	}
}

// String says which service it is. It is there so that no way of printing a client shows more.
func (c *Client) String() string { return "client of " + c.o.BaseURL }

// String is the venue's id. It is there so that no way of printing a venue shows its token.
func (v *Venue) String() string { return v.id }
