package config

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"ticketrail/receiver/pos"
)

// ReadSecret reads the current client secret. Its errors never contain the file's text.
func (s Service) ReadSecret() (Secret, error) {
	text, err := secretLine(s.ClientSecretFile)
	return Secret{text}, err
}

// Client makes a client of the API. It does not connect. A nil through is the network. The secret is read from its file
// at each token request, so a renewed one needs no restart.
func (s Service) Client(through http.RoundTripper) *pos.Client {
	options := s.Options
	options.Transport, options.Secret = through, func() (string, error) {
		secret, err := s.ReadSecret()
		return secret.Reveal(), err
	}
	return pos.New(options)
}

func (k *checker) service() {
	api := &k.c.Service
	token := &api.Token
	k.parameter("service.token.venue_param", token.VenueParam, "grant_type", "scope", token.ClientIDParam,
		token.ClientSecretParam)
	k.parameter("service.token.client_id_param", token.ClientIDParam, "grant_type", "scope", token.ClientSecretParam)
	k.parameter("service.token.client_secret_param", token.ClientSecretParam, "grant_type", "scope")
	k.parameter("service.payroll.venue_param", api.Payroll.VenueParam, "limit", "cursor")
	if api.BaseURL == "" && api.ClientID == "" && api.ClientSecretFile == "" {
		return
	}
	for _, required := range [][2]string{{"service.base_url", api.BaseURL}, {"service.client_id", api.ClientID},
		{"service.client_secret_file", api.ClientSecretFile}} {
		if required[1] == "" {
			k.add(required[0], "is missing; base_url, client_id and client_secret_file are required together")
		}
	}

	k.addIf("service.base_url", api.baseURLProblem())
	if api.ClientID != "" {
		k.addIf("service.client_id", textProblem(api.ClientID, 200))
	}
	if api.ClientSecretFile == "" {
		return
	}
	secret, err := api.ReadSecret()
	if err != nil {
		k.add("service.client_secret_file", "%v", err)
		return
	}
	api.Now = secret
}

// parameter checks that a request parameter has a name of its own; taken are the names of the others.
func (k *checker) parameter(path, name string, taken ...string) {
	if slices.Contains(taken, name) {
		k.add(path, "%s is another parameter of this request", quote(name))
	}
}

// baseURLProblem returns why BaseURL cannot be used, or "". It does not repeat a possible
// password.
func (s Service) baseURLProblem() string {
	base, err := url.Parse(s.BaseURL)
	bad := err != nil || (base.Scheme != "https" && base.Scheme != "http") || base.Hostname() == ""
	switch {
	case bad && strings.Contains(s.BaseURL, "@"), !bad && base.User != nil:
		return "contains a user name or password; use client_id and client_secret_file instead"
	case bad:
		return quote(s.BaseURL) + " is not a URL such as https://api.example.com"
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return "has a query or a fragment; for example https://api.example.com/api"
	case base.Scheme == "http" && !s.Insecure && !loopback(base.Hostname()):
		return fmt.Sprintf("%s is plain HTTP, and the client secret would be sent unencrypted; use https://, or "+
			"set service.insecure: true", quote(s.BaseURL))
	}

	return ""
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
