package posapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"ticketrail/receiver/contract"
)

// bearer is the venue's token, good for a while yet. One caller at a time fetches it and the
// others wait for that, each no longer than its own ctx: a source made once would keep the ctx
// that it was made with, and hold up whoever asks while the service hangs.
func (v *Venue) bearer(ctx context.Context) (*oauth2.Token, error) {
	select {
	case v.fetching <- struct{}{}:
		defer func() { <-v.fetching }()
	case <-ctx.Done():
		return nil, v.givenUp(ctx, CallToken)
	}
	held := v.token.Load()
	token, err := oauth2.ReuseTokenSourceWithExpiry(held, tokenRequest{ctx, v}, v.c.o.Token.RenewBefore).Token()
	if err == nil && token != held { // another caller may have dropped it meanwhile
		v.token.Store(token)
	}
	return token, err
}

// A tokenRequest is an [oauth2.TokenSource] that asks the service each time.
type tokenRequest struct {
	ctx context.Context
	v   *Venue
}

// Token asks for a token for the venue. Its errors are [*Error].
func (r tokenRequest) Token() (token *oauth2.Token, err error) {
	v, o := r.v, &r.v.c.o
	if r.ctx.Err() != nil {
		return nil, v.givenUp(r.ctx, CallToken)
	}
	secret, err := o.Secret()
	secret = strings.TrimSpace(secret)
	v.secrets.add(secret)
	if err != nil {
		return nil, v.fault(CallToken, ErrSecret, "the client secret cannot be read: %s", printable(string(v.secrets.hide([]byte(err.Error())))))
	}
	if secret == "" {
		return nil, v.fault(CallToken, ErrSecret, "the client secret is empty")
	}
	cfg := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: secret, Scopes: o.Token.Scopes,
		TokenURL:       o.BaseURL + o.Token.Path,
		EndpointParams: url.Values{o.Token.VenueParam: {v.id}},
		AuthStyle:      oauth2.AuthStyleInParams,
	}
	if o.Token.AuthStyle == AuthHeader {
		cfg.AuthStyle = oauth2.AuthStyleInHeader
	}
	e := v.persist(r.ctx, CallToken, func(ctx context.Context) *Error {
		asked := time.Now()
		token, err = cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: tokenWire{v}}))
		if e, ok := errors.AsType[*Error](err); ok {
			return e
		}
		if err != nil { // which may hold all of the answer
			return v.fault(CallToken, ErrMalformed, "the answer is not understood")
		}
		v.lasts(token, asked)
		return nil
	})
	if e != nil {
		return nil, e
	}
	return token, nil
}

// lasts counts a token's life from the request on: the service may have begun no later. The end
// of one that lives for less than twice RenewBefore is put off, so that it is renewed at half
// its life and not for each call.
func (v *Venue) lasts(token *oauth2.Token, asked time.Time) {
	life := time.Duration(token.Extra(contract.FieldExpiresIn).(float64)) * time.Second // openToken sees to that
	early := v.c.o.Token.RenewBefore
	token.Expiry = asked.Add(max(life, life/2+early))
	v.c.metrics.remember(v, asked, asked.Add(life))
}

// A tokenWire is the way from the oauth2 library to the service. The library sees only answers
// that are good, with the fields that it knows: what the contract does not show is read here.
type tokenWire struct{ v *Venue }

// RoundTrip implements [http.RoundTripper]. Its errors are [*Error].
func (w tokenWire) RoundTrip(req *http.Request) (*http.Response, error) {
	a, e := w.v.exchange(CallToken, req)
	if e == nil {
		e = w.v.judge(CallToken, a)
	}
	var body []byte
	if e == nil {
		body, e = w.v.openToken(a)
	}
	if e != nil {
		w.v.adviseToken(e)
		return nil, e
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contract.ContentType}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, nil
}

// openToken reads the answer of the token request: as OAuth 2.0 has it, and as the rest of the
// service would write it. It gives it back as OAuth 2.0 has it.
func (v *Venue) openToken(a answer) ([]byte, *Error) {
	obj := jsonObject(a.body)
	if obj == nil {
		return nil, v.unreadable(CallToken, a)
	}
	if !jsonNull(obj[contract.FieldError]) { // some servers say so with 200
		e := v.fault(CallToken, ErrRefused, "the service answers with an error")
		e.Status, e.Says = a.status, v.says(CallToken, a)
		return nil, e
	}
	value := ""
	for _, at := range []string{"token", "accessToken", contract.FieldAccessToken} {
		if s := jsonText(obj[at]); s != "" {
			value = s
		}
	}
	problem := ""
	if value == "" {
		problem = "missing"
	} else if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		problem = "has characters that a header cannot hold"
	}
	if problem != "" {
		e := v.fault(CallToken, ErrMalformed, "%s: %s", contract.FieldAccessToken, problem)
		e.Status = a.status
		return nil, e
	}
	v.secrets.add(value) // before anything else of the answer is kept
	answer := map[string]any{contract.FieldAccessToken: value, contract.FieldExpiresIn: int(contract.TokenLifetime.Seconds())}
	for _, at := range []string{"expiresIn", contract.FieldExpiresIn} {
		if n, ok := jsonNumber(obj[at]); ok && n >= 1 {
			answer[contract.FieldExpiresIn] = int(min(n, math.MaxInt32))
		}
	}
	for _, at := range []string{contract.FieldScopes, contract.FieldScope} {
		if words := v.secrets.jsonWords(obj[at]); words != nil {
			v.scopes.Store(&words)
		}
	}
	body, _ := json.Marshal(answer)
	return body, nil
}

// adviseToken knows what the token request's errors mean.
func (v *Venue) adviseToken(e *Error) {
	if e.Says == contract.ErrorInvalidClient && e.kind == ErrRefused {
		e.kind = ErrUnauthorized
	}
	switch e.kind {
	case ErrUnauthorized:
		e.Advice = "check service.client_id, the client secret, and whether the service wants them as " + v.c.o.Token.AuthStyle
	case ErrForbidden:
		e.Advice = "check the venue's id, and that the service has approved the integration for it"
	case ErrRefused:
		e.Advice = "check the venue's id, and whether the service calls it " + v.c.o.Token.VenueParam + " in token requests"
	}
}
