package sim

import (
	"crypto/rand"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// A grant has the venue and scopes of a token.
//
// A real service may keep tokens in another way; the contract states only that a token is for one
// venue, expires after 15 minutes and has fixed scopes (section 5).
type grant struct {
	venue   string
	scopes  []string
	expires time.Time
}

func (g grant) expired() bool { return !time.Now().Before(g.expires) }

// token issues an access token for one venue: OAuth 2.0 client credentials (RFC 6749, section
// 4.4), with the client's id and secret in the form or as HTTP Basic. There is no refresh token.
//
// It is strict where clients go wrong without noticing: another media type.
func (x *exchange) token() {
	x.header.Set("Cache-Control", "no-store") // RFC 6749, section 5.1
	err := x.r.ParseForm()
	form := x.r.PostForm

	id, secret := form.Get(contract.ParamClientID), form.Get(contract.ParamClientSecret)
	user, password, basic := x.r.BasicAuth()
	if basic {
		id, secret = unescaped(user), unescaped(password)
	}

	x.venue, _ = contract.CanonicalID(form.Get(contract.ParamTokenVenue))
	venue := x.s.venues[x.venue]

	const bad = http.StatusBadRequest
	switch asked := strings.Fields(form.Get(contract.ParamScope)); {
	case err != nil || len(form) == 0:
		x.tokenRefused(bad, "invalid_request", "want a form (application/x-www-form-urlencoded)")
	case id == "" || id != x.s.o.ClientID || secret != x.s.o.ClientSecret:
		if basic {
			x.header.Set("WWW-Authenticate", `Basic realm="token"`)
		}
		x.tokenRefused(http.StatusUnauthorized, "invalid_client", "the client id or secret is wrong")
	case form.Get(contract.ParamGrantType) != contract.GrantClientCredentials:
		x.tokenRefused(bad, "unsupported_grant_type",
			contract.ParamGrantType+": want "+contract.GrantClientCredentials)
	case x.venue == "":
		x.tokenRefused(bad, "invalid_request",
			contract.ParamTokenVenue+": missing; a token is for one venue")
	case venue == nil: // not 401: the credentials are right
		x.tokenRefused(http.StatusForbidden, "access_denied",
			contract.ParamTokenVenue+": the client has no access to this venue")
	case slices.ContainsFunc(asked, func(s string) bool { return !slices.Contains(venue.Scopes, s) }):
		x.tokenRefused(bad, "invalid_scope", "the venue does not grant all of these scopes")
	case len(asked) == 0:
		x.issue(venue.Scopes)
	default:
		x.issue(asked)
	}
}

// unescaped decodes the form encoding that RFC 6749, section 2.3.1, requires inside HTTP Basic.
func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

func (x *exchange) issue(scopes []string) {
	// Not from the seed: two runs must not have the same tokens, or a client with a token of an
	// earlier run would work.

	token := rand.Text() + rand.Text()
	x.s.mu.Lock()
	// Expired tokens go here, so that a simulator which runs for weeks does not grow.
	maps.DeleteFunc(x.s.tokens, func(_ string, old grant) bool { return old.expired() })
	x.s.tokens[token] = grant{x.venue, scopes, time.Now().Add(contract.TokenLifetime)}
	x.s.mu.Unlock()

	x.answer(http.StatusOK, map[string]any{
		contract.FieldAccessToken: token,
		"token_type":              contract.TokenTypeBearer,
		contract.FieldExpiresIn:   int(contract.TokenLifetime / time.Second),
		contract.FieldScope:       strings.Join(scopes, " "),
	})
}

// tokenRefused answers with an error as in RFC 6749, section 5.2.
func (x *exchange) tokenRefused(status int, code, description string) {
	x.answer(status, map[string]any{contract.FieldError: code, "error_description": description})
}
