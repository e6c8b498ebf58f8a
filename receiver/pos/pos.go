// Package pos is the point-of-sale service as the kitchen sees it from the inside: the venue of a token, who works at a
// venue, which payroll periods it has, and from these the names and the time zone that tickets show. It is one package
// because all of it is one question ("who is employee 0b9d3f6a?") and one unit of trust: an answer of the service is
// hostile until it is parsed here. Accepting and printing orders never waits for it.
//
// [Client.Venue] gets a token and asks /me whose it is. Labor data is read only through the [Account] that it returns,
// so another restaurant's cannot be read by mistake. [Names] keeps the names for tickets, in memory and stored.
//
// Answers are limited in size, records and pages, and redirects are refused. No message repeats a text that the service
// has sent, except for a value that is wrong in a payroll period and for the names of keys: an answer may contain the
// client secret or a token. Fields of records are passed on as they came, so a caller cleans them before it shows them.
package pos

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"ticketrail/receiver/contract"
)

// Options of a [Client]: those with a key are the section service of the configuration, which checks them.
type Options struct {
	// BaseURL is the service's address, with /api at the end if its paths have that: https://api.example.com/api.
	// Default none: the service is not used.
	BaseURL string `mapstructure:"base_url"`
	// ClientID is the integrator's client id. Default none.
	ClientID string `mapstructure:"client_id"`
	// Timeout is for one request, to the last byte of its answer. Default 10s, 1s to 60s.
	Timeout   time.Duration `mapstructure:"timeout" default:"10s" range:"1s 1m"`
	Token     Token         `mapstructure:"token"`
	Me        Me            `mapstructure:"me"`
	Labor     Labor         `mapstructure:"labor"`
	Employees Employees     `mapstructure:"employees"`
	Payroll   Payroll       `mapstructure:"payroll"`

	// Secret is called for each token request, so that a rotated file is noticed. Its error is shown.
	Secret func() (string, error) `mapstructure:"-"`
	// Transport carries the requests; nil is the network, through the proxy that the environment names.
	Transport http.RoundTripper `mapstructure:"-"`
}

// Token is the request for a token: OAuth 2.0 client credentials, and the venue. Each point that the service's
// contract leaves open is a key.
type Token struct {
	// Path is below the base address. Default /oauth/token.
	Path string `mapstructure:"path" default:"/oauth/token" form:"path"`
	// VenueParam is the name of the field with the venue's id. Default venue_id.
	VenueParam string `mapstructure:"venue_param" default:"venue_id" form:"parameter"`
	// ClientIDParam and ClientSecretParam are the names of the fields with the client's id and secret.
	// Defaults client_id and client_secret.
	ClientIDParam     string `mapstructure:"client_id_param" default:"client_id" form:"parameter"`
	ClientSecretParam string `mapstructure:"client_secret_param" default:"client_secret" form:"parameter"`
	// AuthStyle is where the client id and secret are sent. Default params: in these fields.
	// header: HTTP Basic authentication.
	AuthStyle string `mapstructure:"auth_style" default:"params" oneof:"params header"`
	// Format is how the fields are sent. Default form: as OAuth 2.0 has it. json: as one JSON object.
	Format string `mapstructure:"format" default:"form" oneof:"form json"`
	// Field is where the answer has the token, as a dotted path such as data.token. Default access_token.
	// expires_in is read beside it.
	Field string `mapstructure:"field" default:"access_token" form:"field"`
	// Scopes are the scopes requested. Default none: the service decides.
	Scopes []string `mapstructure:"scopes" form:"scope"`
}

// Me is the request that asks which venue and scopes a token is for.
type Me struct {
	Path string `mapstructure:"path" default:"/me" form:"path"` // below the base address. Default /me
}

// Labor are the requests for labor data. Some services have only these under /api.
type Labor struct {
	Prefix string `mapstructure:"prefix" form:"prefix"` // before /v1/labor/..., below the base address. Default none
}

// Employees is the request for employees, one page at a time.
type Employees struct {
	// Limit is how many are requested per page, up to 10000. Default 0: none is sent, and the
	// service returns 20.
	Limit int `mapstructure:"limit" range:"0 10000"`
	// Cursor is where a response names its next page: a dotted path such as meta.nextCursor, or
	// header: and the name of a header. Default none: the usual places are tried.
	Cursor string `mapstructure:"cursor" form:"cursor"`
}

// Payroll is the request for payroll periods.
type Payroll struct {
	// VenueParam is the name of the parameter with the venue's id. Default venueId.
	VenueParam string `mapstructure:"venue_param" default:"venueId" form:"parameter"`
}

// A Client asks one service for one integrator. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client
}

// New makes a client. It sends nothing yet.
func New(o Options) *Client {
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	return &Client{o, retrying(o.Transport, o.Timeout)}
}

// An Account is a venue whose token the service has issued, and which /me has not denied. One goroutine may use it.
type Account struct {
	Named  bool     // /me says that the token is for this venue; else it names none
	Scopes []string // of the token; nil: /me does not list them

	c     *Client
	id    string        // canonical
	token *oauth2.Token // nil: none that the service accepts
}

// Venue gets a token for the venue with that canonical id and asks /me whose it is. A token for another venue is an
// error: names and wages would be another restaurant's, without anybody noticing.
func (c *Client) Venue(ctx context.Context, id string) (*Account, error) {
	venue := &Account{c: c, id: id}
	answered, err := venue.get(ctx, CallMe, c.o.Me.Path, nil)
	if err != nil {
		return nil, err
	}

	// The contract does not state the fields of /me, so they are looked for at the top, in an inner object, and in an
	// envelope as other calls have it.
	places := []contract.Value{answered.body, answered.body.Get("data")}
	for record := range answered.body.Get(contract.FieldRecords).All() {
		places = append(places, record)
		break
	}

	owner := ""
	for _, me := range places {
		for _, path := range []string{"venue_id", "venueId", "venue.id", "venue"} {
			owner = cmp.Or(owner, text(me.At(path)))
		}
		for _, key := range []string{contract.FieldScopes, contract.FieldScope} {
			if scopes := me.Get(key); scopes != nil {
				words := text(scopes)
				for word := range scopes.All() {
					words += " " + text(word)
				}
				venue.Scopes = strings.Fields(contract.OneLine(words, 10*maxQuote))
			}
		}
	}

	owner, _ = contract.CanonicalID(owner)
	if venue.Named = owner == id; !venue.Named && owner != "" {
		return nil, venue.fault(CallMe, "the token is for venue "+contract.OneLine(owner, maxQuote),
			"check the venue's id in the configuration, and service.token.venue_param")
	}
	return venue, nil
}
