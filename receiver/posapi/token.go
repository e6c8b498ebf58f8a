package posapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"ticketrail/receiver/contract"
)

// restAfterRenewal is how long a token that could not be renewed is used before the next
// attempt, while it is still good.
const restAfterRenewal = 5 * time.Second

// A bearer is a token. It is only ever held by pointer, which is all that %+v shows of it.
type bearer struct {
	value string
	asked time.Time
	renew time.Time // from then on it is to be renewed
	ends  time.Time
}

// tokens get and keep the tokens of one venue. It is not oauth2's ReuseTokenSource: that goes by
// the wall clock, which jumps on a box that has just found the time; it makes whoever asks wait
// for a fetch for as long as that takes, even with a deadline; it cannot be told that a token is
// no longer accepted; and a renewal that fails costs it a token that is still good.
type tokens struct {
	v     *Venue
	group singleflight.Group

	mu   sync.Mutex
	held *bearer   // nil: none; guarded by mu
	rest time.Time // no renewal before; guarded by mu
}

func newTokens(v *Venue) *tokens { return &tokens{v: v} }

// get is a token that is good, as far as we know. However many ask, one fetch runs; it goes on
// when they give up, for whoever asks next.
func (t *tokens) get(ctx context.Context) (*bearer, error) {
	if ctx.Err() != nil {
		return nil, t.v.givenUp(ctx, CallToken)
	}
	if b := t.ready(); b != nil {
		return b, nil
	}
	fetched := t.group.DoChan("", func() (any, error) {
		if b := t.ready(); b != nil { // since we looked
			return b, nil
		}
		return t.refresh()
	})
	select {
	case r := <-fetched:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*bearer), nil
	case <-ctx.Done():
		return nil, t.v.givenUp(ctx, CallToken)
	}
}

func (t *tokens) ready() *bearer {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.held == nil || !now.Before(t.held.ends) || !now.Before(t.held.renew) && !now.Before(t.rest) {
		return nil
	}
	return t.held
}

// drop forgets a token that the service did not accept, unless another has replaced it.
func (t *tokens) drop(b *bearer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == b {
		t.held = nil
	}
}

// age is how long ago the token was asked for that is held and good: one that has ended grows no
// older, it is none.
func (t *tokens) age() (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil || !time.Now().Before(t.held.ends) {
		return 0, false
	}
	return time.Since(t.held.asked), true
}

// refresh runs in a goroutine of its own, where a panic would end the program that prints.
func (t *tokens) refresh() (got *bearer, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.v.c.log.Error("a panic while a token was fetched", "venue", t.v.id, "panic", t.v.hush.text(fmt.Append(nil, p)), "stack", string(debug.Stack()))
			got, err = nil, t.v.odd(CallToken, "a panic; see the log")
		}
	}()
	b, err := t.v.fetch()
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		t.held, t.rest = b, time.Time{}
		return b, nil
	case t.held != nil && now.Before(t.held.ends):
		t.v.c.log.Warn("token not renewed, the old one is still good", "venue", t.v.id, "for", t.held.ends.Sub(now).Round(time.Second), "err", err)
		t.rest = now.Add(restAfterRenewal)
		return t.held, nil
	}
	return nil, err
}

// fetch asks for a token. It belongs to no caller, so its only limits are those of [Venue.persist].
func (v *Venue) fetch() (*bearer, error) {
	o := &v.c.o
	secret, err := o.Secret()
	secret = strings.TrimSpace(secret)
	// What a token's answer says is quoted in errors, so these must be known before it comes.
	v.hush.add(secret, base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(o.ClientID)+":"+url.QueryEscape(secret))))
	if err != nil {
		return nil, v.fault(CallToken, ErrSecret, resultMalformed, "the client secret cannot be read: "+v.hush.text([]byte(err.Error())))
	}
	if secret == "" {
		return nil, v.fault(CallToken, ErrSecret, resultMalformed, "the client secret is empty")
	}
	trip := &tokenTrip{v: v}
	style := oauth2.AuthStyleInParams
	if o.Token.AuthStyle == AuthHeader {
		style = oauth2.AuthStyleInHeader
	}
	cfg := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: secret, Scopes: o.Token.Scopes,
		TokenURL:       v.c.base + o.Token.Path,
		EndpointParams: url.Values{o.Token.VenueParam: {v.id}},
		AuthStyle:      style,
	}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: trip})
	token, err := cfg.Token(ctx)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			return nil, e
		}
		// Its own errors may hold all of an answer.
		return nil, v.odd(CallToken, "the answer is not understood")
	}
	return trip.bearer(token, o.Token.RenewBefore), nil
}

// A tokenTrip is the way from the oauth2 library to the service. The library sees only answers
// that are good, in the one form that it reads well, and so it never makes an error of a body.
type tokenTrip struct {
	v      *Venue
	sent   time.Time
	life   time.Duration
	scopes []string
}

// RoundTrip implements [http.RoundTripper]. Its errors are [*Error].
func (t *tokenTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	var value string
	e := t.v.persist(req.Context(), question{
		call: CallToken,
		request: func(ctx context.Context) (*http.Request, error) {
			r := req.Clone(ctx)
			var err error
			r.Body, err = req.GetBody()
			return r, err
		},
		read: func(a answer) (e *Error) {
			value, e = t.open(a)
			return e
		},
	})
	if e != nil {
		return nil, e
	}
	body, err := json.Marshal(map[string]string{contract.FieldAccessToken: value, contract.FieldTokenType: contract.TokenTypeBearer})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {contract.ContentType}},
		Body:       io.NopCloser(bytes.NewReader(body)),
		Request:    req,
	}, nil
}

// open reads the answer of the token request, whose fields are not shown: as OAuth 2.0 has them,
// and as the rest of the service would write them.
func (t *tokenTrip) open(a answer) (string, *Error) {
	obj := jsonObject(a.body)
	if obj == nil {
		return "", t.v.unreadable(CallToken, a)
	}
	if code := jsonText(obj[contract.FieldError]); code != "" { // some servers say so with 200
		e := t.v.fault(CallToken, ErrRefused, resultRefused, "the service answers with the error "+t.v.hush.text([]byte(code)))
		e.Status, e.Says = a.status, t.v.hush.text([]byte(jsonText(obj[contract.FieldErrorDescription])))
		if code == contract.ErrorInvalidClient {
			e.kind, e.result = ErrUnauthorized, resultUnauthorized
		}
		t.v.judgeToken(e, a)
		return "", e
	}
	var value string
	for _, at := range []string{contract.FieldAccessToken, "accessToken", "token"} {
		if value == "" {
			value = jsonText(obj[at])
		}
	}
	t.v.hush.add(value)
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if value == "" || strings.ContainsFunc(value, odd) {
		e := t.v.odd(CallToken, contract.FieldAccessToken+": missing")
		if value != "" {
			e.Problem = contract.FieldAccessToken + ": has characters that a header cannot hold"
		}
		e.Status = a.status
		return "", e
	}
	t.sent, t.life = a.sent, contract.TokenLifetime
	for _, at := range []string{"expiresIn", contract.FieldExpiresIn} {
		if n, ok := jsonNumber(obj[at]); ok && n >= 1 {
			t.life = time.Duration(min(n, math.MaxInt32)) * time.Second
		}
	}
	for _, at := range []string{contract.FieldScopes, contract.FieldScope} {
		if words := jsonWords(obj[at]); words != nil {
			t.scopes = words
		}
	}
	return value, nil
}

// bearer counts the token's life from the request on: the service may have begun no later.
func (t *tokenTrip) bearer(token *oauth2.Token, early time.Duration) *bearer {
	if t.scopes != nil {
		t.v.scopes.Store(new(slices.Clone(t.scopes)))
	}
	return &bearer{
		value: token.AccessToken, asked: t.sent,
		renew: t.sent.Add(t.life - min(early, t.life/2)),
		ends:  t.sent.Add(t.life),
	}
}
