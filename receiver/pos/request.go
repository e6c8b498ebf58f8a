package pos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"ticketrail/receiver/contract"
)

// Three tries within seconds cure a dropped connection or a restart of one of the service's servers. A longer outage is
// the caller's: [Names] tries again in a minute, and an operator should see the error.
const (
	tries       = 3
	longestWait = 15 * time.Second // before a try, whatever the service asks for
	maxResponse = 4 << 20          // bytes of an answer: ten thousand employees on one page
)

// retrying is a client that tries a request again if that may help, and follows no redirect, which could carry the
// secret or a token to another host.
func retrying(transport http.RoundTripper, timeout time.Duration) *http.Client {
	asItIs := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: transport, Timeout: timeout, CheckRedirect: asItIs},
		RetryMax:   tries - 1, RetryWaitMin: 250 * time.Millisecond, RetryWaitMax: 500 * time.Millisecond,
		CheckRetry: retryablehttp.DefaultRetryPolicy,
		Backoff: func(least, most time.Duration, n int, resp *http.Response) time.Duration {
			return min(longestWait, retryablehttp.RateLimitLinearJitterBackoff(least, most, n, resp))
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}

	outer := client.StandardClient()
	outer.CheckRedirect = asItIs
	return outer
}

// An answer is searched by paths, because the contract does not state the names of all fields. Unless its status is 2xx
// it has no body.
type answer struct {
	status int
	header http.Header
	body   contract.Value
}

// get requests a path with the venue's token. If the service no longer accepts the token, as after its restart, get
// fetches another one and tries again; a second 401 is not about the token's age.
func (v *Account) get(ctx context.Context, call, path string, query url.Values) (answer, error) {
	for again := false; ; again = true {
		token, err := v.bearer(ctx)
		if err != nil {
			return answer{}, err
		}

		req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.c.o.BaseURL+path, http.NoBody)
		if err != nil {
			return answer{}, v.lost(call, err)
		}

		req.URL.RawQuery = query.Encode()
		token.SetAuthHeader(req)
		answered, err := v.exchange(call, req)
		if answered.status != http.StatusUnauthorized || again {
			return answered, err
		}
		v.token = nil
	}
}

// exchange sends a request and reads the answer. Its errors are [*Error].
func (v *Account) exchange(call string, req *http.Request) (answer, error) {
	req.Header.Set("Accept", contract.ContentType)
	req.Header.Set("User-Agent", "ticketrail")
	resp, err := v.c.http.Do(req)
	if err != nil {
		return answer{}, v.lost(call, err)
	}
	defer resp.Body.Close()

	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	answered := answer{status: resp.StatusCode, header: resp.Header}
	switch {
	case answered.status/100 != 2: // of such an answer half a body will do
		return answered, v.refused(call, req.URL.Path, answered.status, body)
	case err != nil:
		return answered, v.lost(call, err)
	case len(body) > maxResponse:
		return answered, v.fault(call, fmt.Sprintf("the answer is larger than %d bytes", maxResponse),
			"set service.employees.limit, or tell the service provider")
	}

	answered.body, err = contract.Parse(body)
	failed := answered.body.Get(contract.FieldError).Kind()
	switch {
	case err != nil:
		return answered, v.fault(call, fmt.Sprintf("the answer of %d bytes is not a JSON object", len(body)),
			fmt.Sprintf("check whether service.base_url, %s, is the service's API, and not a web page", v.c.o.BaseURL))
	// Some servers send an error with the status 200. Another word than ERROR may be the venue's.
	case text(answered.body.Get(contract.FieldStatus)) == contract.ValueError, failed != 0 && failed != 'n':
		return answered, v.fault(call, "the answer says that it is an error", adviceTell)
	}
	return answered, nil
}

// bearer is the venue's token, or a new one seconds before it expires. There is no refresh token: a new one is
// requested as the first one was (service contract, section 5).
func (v *Account) bearer(ctx context.Context) (*oauth2.Token, error) {
	if v.token.Valid() {
		return v.token, nil
	}
	options := &v.c.o
	secret, err := options.Secret()
	if err != nil {
		return nil, v.fault(CallToken, fmt.Sprintf("the client secret cannot be read: %v", err),
			"check service.client_secret_file")
	}

	cfg := clientcredentials.Config{
		TokenURL: options.BaseURL + options.Token.Path, Scopes: options.Token.Scopes,
		EndpointParams: url.Values{options.Token.VenueParam: {v.id}},
		// Never automatic: the library would then try both ways.
		AuthStyle: oauth2.AuthStyleInParams,
	}
	if options.Token.AuthStyle == "header" {
		cfg.ClientID, cfg.ClientSecret, cfg.AuthStyle = options.ClientID, secret, oauth2.AuthStyleInHeader
	} else { // not through the library, which has names of its own
		cfg.EndpointParams.Set(options.Token.ClientIDParam, options.ClientID)
		cfg.EndpointParams.Set(options.Token.ClientSecretParam, secret)
	}

	exchange := context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: tokenExchange{v}})
	if v.token, err = cfg.Token(exchange); err == nil {
		return v.token, nil
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return nil, failed
	}
	return nil, v.lost(CallToken, err)
}

// A tokenExchange sends a token request as the service wants it, and returns the answer as the oauth2 library wants it.
// That library never sees another answer: its errors repeat all of it.
type tokenExchange struct{ v *Account }

// RoundTrip implements [http.RoundTripper]. Its errors are [*Error].
func (x tokenExchange) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if x.v.c.o.Token.Format == "json" {
		toJSON(req)
	}

	answered, err := x.v.exchange(CallToken, req)
	if err != nil {
		return nil, err
	}

	place := x.v.c.o.Token.Field
	token := text(answered.body.At(place))

	// Anything else in a header would be an error of net/http on every call, which says less.
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, x.v.fault(CallToken, "the answer has no token at "+place+"; "+keys(answered.body),
			"name its place with service.token.field")
	}

	// Its life in seconds stands beside it. Without one the token is used until the service does not accept it.
	beside := place[:strings.LastIndexByte(place, '.')+1]
	life, _ := strconv.Atoi(text(answered.body.At(beside + contract.FieldExpiresIn)))
	body, err := json.Marshal(oauth2.Token{AccessToken: token, ExpiresIn: int64(life)})

	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contract.ContentType}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, err
}

// toJSON makes an object of the library's form.
func toJSON(req *http.Request) {
	_ = req.ParseForm() // from memory
	fields := map[string]string{}
	for name := range req.PostForm {
		fields[name] = req.PostForm.Get(name)
	}

	body, _ := json.Marshal(fields)
	req.Header.Set("Content-Type", contract.ContentType)
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}
