package sim

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// A grant is what a token allows.
//
// A real service may keep tokens in another way; the contract states only that a token is for one
// venue, expires after 15 minutes and has fixed scopes (section 5).
type grant struct {
	venue   string
	scopes  []string
	expires time.Time
}

func (g grant) has(scope string) bool { return slices.Contains(g.scopes, scope) }
func (g grant) expired() bool         { return !time.Now().Before(g.expires) }

// token issues an access token for one venue: OAuth 2.0 client credentials (RFC 6749, section
// 4.4), with the client's id and secret in the form or as HTTP Basic. There is no refresh token.
//
// It is strict where clients go wrong without noticing: another media type, a field that is sent
// twice, credentials in two places.
func (x *exchange) token() {
	// RFC 6749, section 5.1.
	x.header.Set("Cache-Control", "no-store")
	if err := x.r.ParseForm(); err != nil || len(x.r.PostForm) == 0 {
		x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidRequest,
			"want a form (application/x-www-form-urlencoded)")
		return
	}
	form := x.r.PostForm
	for k, v := range form {
		if len(v) > 1 {
			x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidRequest,
				fmt.Sprintf("%.40q is given more than once", k))
			return
		}
	}
	if !x.client(form) {
		return
	}
	if g := form.Get(contract.ParamGrantType); g != contract.GrantClientCredentials {
		code := contract.ErrorUnsupportedGrant
		if g == "" {
			code = contract.ErrorInvalidRequest
		}
		x.tokenRefused(http.StatusBadRequest, code, contract.ParamGrantType+": want "+contract.GrantClientCredentials)
		return
	}
	g, ok := x.grant(form)
	if !ok {
		return
	}
	// Not from the seed: two runs must not have the same tokens, or a client with a token of an
	// earlier run would work.
	token := rand.Text() + rand.Text()
	x.s.mu.Lock()
	// Expired tokens go here, so that a simulator which runs for weeks does not grow.
	maps.DeleteFunc(x.s.tokens, func(_ string, old grant) bool { return old.expired() })
	x.s.tokens[token] = g
	x.s.mu.Unlock()
	x.answer(http.StatusOK, map[string]any{
		contract.FieldAccessToken: token,
		contract.FieldTokenType:   contract.TokenTypeBearer,
		contract.FieldExpiresIn:   int(x.s.o.TokenTTL / time.Second),
		contract.FieldScope:       strings.Join(g.scopes, " "),
	})
}

// client checks the client's id and secret. If they are wrong, it answers 400 or 401. The
// comparison is not in constant time: nothing is protected here.
func (x *exchange) client(form url.Values) bool {
	id, secret := form.Get(contract.ParamClientID), form.Get(contract.ParamClientSecret)
	user, password, basic := x.r.BasicAuth()
	if basic {
		// RFC 6749, section 2.3: a client must not use more than one way.
		if secret != "" {
			x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidRequest,
				"the client secret is in the form and in the Authorization header; send it once")
			return false
		}
		id, secret = unescaped(user), unescaped(password)
	}
	if id == "" || id != x.s.o.ClientID || secret != x.s.o.ClientSecret {
		if basic {
			x.header.Set("WWW-Authenticate", `Basic realm="token"`)
		}
		x.tokenRefused(http.StatusUnauthorized, contract.ErrorInvalidClient, "the client id or secret is wrong")
		return false
	}
	return true
}

// unescaped decodes the form encoding that RFC 6749, section 2.3.1, requires inside HTTP Basic.
func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// grant returns the venue and scopes that the form asks for. If it must refuse, it answers. A
// venue that the client may not use is answered 403 and not 401: its credentials are right.
func (x *exchange) grant(form url.Values) (grant, bool) {
	param := x.s.o.TokenVenueParam
	id := form.Get(param)
	if id == "" {
		x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidRequest, param+": missing; a token is for one venue")
		return grant{}, false
	}
	id, _ = contract.CanonicalID(id)
	v := x.s.venues[id]
	if v == nil {
		x.tokenRefused(http.StatusForbidden, contract.ErrorAccessDenied,
			param+": the client has no access to this venue")
		return grant{}, false
	}
	x.venue = id
	g := grant{venue: id, scopes: v.Scopes, expires: time.Now().Add(x.s.o.TokenTTL)}
	if asked := strings.Fields(form.Get(contract.ParamScope)); len(asked) > 0 {
		for _, a := range asked {
			if !g.has(a) {
				x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidScope,
					"the venue does not grant all of these scopes")
				return grant{}, false
			}
		}
		g.scopes = asked
	}
	return g, true
}

// tokenRefused answers with an error as in RFC 6749, section 5.2.
func (x *exchange) tokenRefused(status int, code, description string) {
	x.answer(status, map[string]any{contract.FieldError: code, contract.FieldErrorDescription: description})
}

// Revoke makes the tokens of a venue invalid: the next call with one is answered 401. Tests use it
// for a service that restarts: clients must then request a new token, once.
func (s *Service) Revoke(venueID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.tokens, func(_ string, g grant) bool { return g.venue == venueID })
}
