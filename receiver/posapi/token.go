package posapi

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"ticketrail/receiver/contract"
)

// A grant is a token and the client secret that it was requested with. It never changes, so metrics
// may read it while another one is fetched.
type grant struct {
	token       *oauth2.Token // its Expiry is when to renew it
	asked, ends time.Time     // its life
	secret      string
}

// bearer is the venue's token, which has no refresh token: it is requested anew each time (service
// contract, section 5). One caller at a time fetches it and the others wait, each no
// longer than its own ctx: a token source made once would keep the ctx that it was made with,
// and block every caller while the service hangs.
func (v *Venue) bearer(ctx context.Context) (*grant, error) {
	select {
	case v.fetching <- struct{}{}:
		defer func() { <-v.fetching }()
	case <-ctx.Done():
		return nil, v.canceled(ctx, CallToken)
	}
	// The caller that waited for another one's fetch finds the new token here.
	if g := v.grant.Load(); g != nil && time.Now().Before(g.token.Expiry) {
		return g, nil
	}
	g, e := v.fetch(ctx)
	if e != nil {
		return nil, e
	}
	v.grant.Store(g)
	return g, nil
}

// fetch requests a token for the venue. The secret is read from its file each time, so that a
// rotated one is used without a reload.
func (v *Venue) fetch(ctx context.Context) (*grant, *Error) {
	o := &v.c.o
	if ctx.Err() != nil {
		return nil, v.canceled(ctx, CallToken)
	}
	secret, err := o.Secret()
	secret = strings.TrimSpace(secret)
	if err != nil {
		// The reader's error may quote the file.
		text := printable(string(redact([]byte(err.Error()), secret)))
		return nil, v.fault(CallToken, ErrSecret, "the client secret cannot be read: %s", text)
	}
	if secret == "" {
		return nil, v.fault(CallToken, ErrSecret, "the client secret is empty")
	}
	cfg := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: secret, Scopes: o.Scopes,
		TokenURL:       o.BaseURL + o.TokenPath,
		EndpointParams: url.Values{o.TokenVenueParam: {v.id}},
		// Never automatic: the library would then try both ways, and the first fails at each start.
		AuthStyle: oauth2.AuthStyleInParams,
	}
	if o.AuthStyle == AuthHeader {
		cfg.AuthStyle = oauth2.AuthStyleInHeader
	}
	var asked time.Time
	client := v.httpClient(CallToken, []string{secret}, func(a *answer) *Error {
		asked = a.sent
		return v.readToken(a)
	})
	token, err := cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		return nil, v.asError(ctx, CallToken, err)
	}
	// The life counts from the request: the service may have begun no later. A token is renewed
	// early, or a slow request could carry one that has expired; but not before half its life, or
	// one that lives for less than RenewBefore would be renewed for each call.
	life := time.Until(token.Expiry).Round(time.Second)
	token.Expiry = asked.Add(life - min(o.RenewBefore, life/2))
	o.Metrics.client.Store(v.c)
	return &grant{token, asked, asked.Add(life), secret}, nil
}

// readToken reads the answer to the token request, in the spelling of OAuth 2.0 or in that of the
// rest of the service, and rewrites it for the oauth2 library, which knows only the former.
func (v *Venue) readToken(a *answer) *Error {
	obj := jsonObject(a.body)
	if obj == nil {
		return v.unreadable(CallToken, a)
	}
	if !jsonNull(obj[contract.FieldError]) { // some servers send an error with status 200
		return v.quote(v.fault(CallToken, ErrRefused, "the service answers with an error"), a)
	}
	// The contract does not state the fields: OAuth 2.0 first, then the spelling of other answers.
	value := cmp.Or(jsonText(obj[contract.FieldAccessToken]), jsonText(obj["accessToken"]), jsonText(obj["token"]))
	// Anything else in a header would be an error of net/http on every call, which says less.
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return v.fault(CallToken, ErrMalformed, "%s: missing, or not usable in a header", contract.FieldAccessToken)
	}
	life := int(contract.TokenLifetime.Seconds()) // by the contract, if the answer does not say
	// The last one counts, so OAuth's own name wins. Less than a second is not believed.
	for _, at := range []string{"expiresIn", contract.FieldExpiresIn} {
		if n, ok := jsonNumber(obj[at]); ok && n >= 1 {
			life = int(min(n, math.MaxInt32))
		}
	}
	a.body, _ = json.Marshal(map[string]any{contract.FieldAccessToken: value, contract.FieldExpiresIn: life})
	return nil
}
