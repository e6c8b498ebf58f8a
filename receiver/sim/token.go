package sim

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// A grant is what a token is good for.
type grant struct {
	venue  string
	scopes []string
	ends   time.Time
}

func (g grant) has(scope string) bool { return slices.Contains(g.scopes, scope) }

// token issues an access token for one venue: OAuth 2.0 client credentials (RFC 6749, section
// 4.4), the client in the form or in HTTP Basic. There is no refresh token.
func (x *exchange) token() {
	x.header.Set("Cache-Control", "no-store")
	if err := x.r.ParseForm(); err != nil || len(x.r.PostForm) == 0 {
		x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidRequest, "want a form (application/x-www-form-urlencoded)")
		return
	}
	form := x.r.PostForm
	for k, v := range form {
		if len(v) > 1 {
			x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidRequest, printable(k)+" is there twice")
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
	token := rand.Text() + rand.Text()
	x.s.mu.Lock()
	for t, old := range x.s.tokens { // what has ended is forgotten
		if !time.Now().Before(old.ends) {
			delete(x.s.tokens, t)
		}
	}
	x.s.tokens[token] = g
	x.s.issued[g.venue]++
	x.s.mu.Unlock()
	x.answer(http.StatusOK, map[string]any{
		contract.FieldAccessToken: token,
		contract.FieldTokenType:   contract.TokenTypeBearer,
		contract.FieldExpiresIn:   int(x.s.o.TokenTTL / time.Second),
		contract.FieldScope:       strings.Join(g.scopes, " "),
	})
}

// client checks who asks, and answers when it is somebody else.
func (x *exchange) client(form url.Values) bool {
	id, secret := form.Get(contract.ParamClientID), form.Get(contract.ParamClientSecret)
	user, password, basic := x.r.BasicAuth()
	if basic {
		if secret != "" {
			x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidRequest, "the client's secret is in the form and in the Authorization header")
			return false
		}
		id, secret = unescaped(user), unescaped(password)
	}
	right := same(id, x.s.o.ClientID) & same(secret, x.s.o.ClientSecret)
	if id == "" || right != 1 {
		if basic {
			x.header.Set("WWW-Authenticate", `Basic realm="token"`)
		}
		x.tokenRefused(http.StatusUnauthorized, contract.ErrorInvalidClient, "the client id or secret is wrong")
		return false
	}
	return true
}

// same is 1 if a is b, and takes as long whatever b is: not even its length shows.
func same(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}

// unescaped undoes the form encoding that RFC 6749, section 2.3.1, has before HTTP Basic's own.
func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// grant finds the venue and the scopes.
func (x *exchange) grant(form url.Values) (grant, bool) {
	param := x.s.o.VenueParam
	id := form.Get(param)
	if id == "" {
		x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidRequest, param+": missing; a token is for one venue")
		return grant{}, false
	}
	id, _ = contract.CanonicalID(id)
	x.s.mu.Lock()
	v := x.s.venues[id]
	x.s.mu.Unlock()
	if v == nil {
		x.tokenRefused(http.StatusForbidden, contract.ErrorAccessDenied, param+": the client has no access to this venue")
		return grant{}, false
	}
	x.venue = id
	g := grant{venue: id, scopes: v.Scopes, ends: time.Now().Add(x.s.o.TokenTTL)}
	if asked := strings.Fields(form.Get(contract.ParamScope)); len(asked) > 0 {
		for _, a := range asked {
			if !g.has(a) {
				x.tokenRefused(http.StatusBadRequest, contract.ErrorInvalidScope, "the venue does not grant all of these scopes")
				return grant{}, false
			}
		}
		g.scopes = asked
	}
	return g, true
}

// tokenRefused answers as RFC 6749, section 5.2.
func (x *exchange) tokenRefused(status int, code, description string) {
	x.answer(status, map[string]any{contract.FieldError: code, contract.FieldErrorDescription: description})
}

// Revoke ends the tokens of a venue before their time: the next call with one is a 401.
func (s *Service) Revoke(venueID string) {
	venueID, _ = contract.CanonicalID(venueID)
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, g := range s.tokens {
		if g.venue == venueID {
			delete(s.tokens, t)
		}
	}
}

// printable makes a word of a request fit for an answer.
func printable(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' {
			return '.'
		}
		return r
	}, s)
}
