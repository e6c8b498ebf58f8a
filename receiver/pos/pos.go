// Package pos is the point-of-sale service as the kitchen sees it from the inside: what a token is for, who works at
// a venue, which payroll periods it has, and from these the names and the time zone that tickets show. It is one
// package because all of it is one question ("who is employee 0b9d3f6a?") and one unit of trust: what the service
// answers is hostile until it is parsed here. Accepting and printing orders never waits for it.
//
// [Client.Venue] gets a token and asks /me whose it is. Labor data is read only through the [Venue] that it returns,
// so nobody can read that of another restaurant by mistake. [Names] keeps what tickets need, in memory and stored.
//
// Answers are limited in size, records and pages, and redirects are refused. No message repeats what the service has
// sent, except for a value that is wrong in a payroll period and for the names of keys: an answer may contain the
// client secret or a token. Fields of records are passed on as they came, so a caller cleans them before it shows
// them.
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

// Options of a [Client]. The configuration has their defaults and validates them.
type Options struct {
	BaseURL  string // what the contract's paths are below: https://api.example.com/api
	ClientID string
	// Secret is called for each token request, so that a rotated file is noticed. Its error is shown.
	Secret    func() (string, error)
	Transport http.RoundTripper // nil: the network, through the proxy that the environment names
	Timeout   time.Duration     // for one request, to the last byte of its answer

	TokenPath, MePath string // below BaseURL
	LaborPrefix       string // before the paths of the labor calls, below BaseURL

	// The token request: its fields for the venue, the client's id and its secret. These two are sent by HTTP Basic if
	// InHeader is set. The fields are a form, or with AsJSON an object.
	TokenVenueParam, ClientIDParam, ClientSecretParam string
	InHeader, AsJSON                                  bool
	Scopes                                            []string
	TokenField                                        string // dotted path of the token in the answer

	PageLimit         int // of employees; 0: not sent
	PayrollVenueParam string
	// CursorAt is where a page names the next: a dotted path, or "header:" and a name; "": the usual places.
	CursorAt string
}

// A Client asks one service for one integrator. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client
}

// New makes a client. It sends nothing yet.
func New(o Options) *Client {
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = 64 << 10
		o.Transport = t
	}
	return &Client{o, retrying(o.Transport, o.Timeout)}
}

// A Venue is one whose token the service has issued, and which /me has not denied. One goroutine may use it.
type Venue struct {
	Named  bool     // /me says that the token is for this venue; else it names none
	Scopes []string // of the token; nil: /me does not list them

	c     *Client
	id    string        // canonical
	token *oauth2.Token // nil: none that the service accepts
}

// Venue gets a token for the venue with that id and asks /me whose it is. A token for another venue is an error: names
// and wages would be those of another restaurant, without anybody noticing.
func (c *Client) Venue(ctx context.Context, id string) (*Venue, error) {
	id, _ = contract.CanonicalID(id)
	v := &Venue{c: c, id: id}
	answered, err := v.get(ctx, CallMe, c.o.MePath, nil)
	if err != nil {
		return nil, err
	}

	// The contract does not state the fields of /me, so they are looked for at the top, in an inner object, and in an
	// envelope as other calls have it.
	if list, err := elements(answered.records, 1); err == nil && len(list) > 0 {
		answered.add(contract.FieldRecords, list[0])
	}
	owner := ""
	for _, in := range []string{"", "data.", contract.FieldRecords + "."} {
		for _, place := range contract.MeVenuePlaces() {
			owner = cmp.Or(owner, answered.texts[in+place])
		}
		for _, place := range []string{contract.FieldScopes, contract.FieldScope} {
			if words, ok := answered.texts[in+place]; ok {
				v.Scopes = strings.Fields(oneLine(words, 10*maxQuote))
			}
		}
	}
	owner, _ = contract.CanonicalID(owner)
	if v.Named = owner == id; !v.Named && owner != "" {
		return nil, v.fault(CallMe, "the token is for venue "+oneLine(owner, maxQuote),
			"check the venue's id in the configuration, and service.token.venue_param")
	}
	return v, nil
}
