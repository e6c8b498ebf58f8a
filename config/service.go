package config

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"ticketrail/receiver/pos"
)

// ReadSecret reads the current client secret. Its errors never contain the file's text.
func (s Service) ReadSecret() (Secret, error) {
	lines, err := secretLines(s.ClientSecretFile)
	if err != nil {
		return Secret{}, err
	}
	if len(lines) != 1 {
		return Secret{}, fmt.Errorf("%s has %d lines; it must contain only the secret", s.ClientSecretFile, len(lines))
	}
	return Secret{lines[0]}, nil
}

// Client makes a client of the API. It does not connect. A nil through is the network. The secret is read from its file
// at each token request, so a renewed one needs no restart.
func (s Service) Client(through http.RoundTripper) *pos.Client {
	o := s.Options
	o.Transport, o.Secret = through, func() (string, error) {
		secret, err := s.ReadSecret()
		return secret.Reveal(), err
	}
	return pos.New(o)
}

func (k *checker) service() {
	s := &k.c.Service
	k.tokenRequest()
	k.plainPath("service.me.path", s.Me.Path, "/me")
	if s.Labor.Prefix != "" {
		k.plainPath("service.labor.prefix", s.Labor.Prefix, "/api")
	}
	if c := s.Employees.Cursor; c != "" &&
		!regexp.MustCompile(`^(header:[A-Za-z0-9-]{1,100}|`+dottedPath+`)$`).MatchString(c) {
		k.add("service.employees.cursor",
			"%s is not a field or header of a response; for example meta.nextCursor or header:X-Next-Cursor", quote(c))
	}
	k.parameter("service.payroll.venue_param", s.Payroll.VenueParam, "limit", "cursor")
	if s.BaseURL == "" && s.ClientID == "" && s.ClientSecretFile == "" {
		return
	}
	k.addIf("service.base_url", s.baseURLProblem())
	switch {
	case s.ClientID == "":
		k.add("service.client_id", "is missing; base_url, client_id and client_secret_file are required together")
	case strings.TrimSpace(s.ClientID) != s.ClientID ||
		strings.ContainsFunc(s.ClientID, func(r rune) bool { return !unicode.IsPrint(r) }):
		k.add("service.client_id", "%s begins or ends with a space or contains non-printable characters",
			quote(s.ClientID))
	}
	if s.ClientSecretFile == "" {
		k.add("service.client_secret_file",
			"is missing; base_url, client_id and client_secret_file are required together")
		return
	}
	secret, err := s.ReadSecret()
	if err != nil {
		k.add("service.client_secret_file", "%v", err)
		return
	}
	s.Now = secret
}

const dottedPath = `[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){0,4}`

func (k *checker) tokenRequest() {
	t := &k.c.Service.Token
	k.plainPath("service.token.path", t.Path, "/oauth/token")
	k.parameter("service.token.venue_param", t.VenueParam, "grant_type", "scope", t.ClientIDParam, t.ClientSecretParam)
	k.parameter("service.token.client_id_param", t.ClientIDParam, "grant_type", "scope", t.ClientSecretParam)
	k.parameter("service.token.client_secret_param", t.ClientSecretParam, "grant_type", "scope")
	if !regexp.MustCompile("^" + dottedPath + "$").MatchString(t.Field) {
		k.add("service.token.field", "%s is not a field of a response; for example data.token", quote(t.Field))
	}
	for i, scope := range t.Scopes { // RFC 6749, section 3.3
		if !regexp.MustCompile(`^[!#-\[\]-~]{1,200}$`).MatchString(scope) {
			k.add(fmt.Sprintf("service.token.scopes[%d]", i), "%s is not a scope; for example checks:read",
				quote(scope))
		}
	}
}

// plainPath checks a path below the base address.
func (k *checker) plainPath(key, path, example string) {
	if !regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`).MatchString(path) {
		k.add(key, "%s is not a plain path below base_url; for example %s", quote(path), example)
	}
}

// parameter checks the name of a request parameter; taken are the names of the other parameters.
func (k *checker) parameter(path, name string, taken ...string) {
	if !regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,64}$`).MatchString(name) {
		k.add(path, "%s is not a valid parameter name", quote(name))
		return
	}
	if slices.Contains(taken, name) {
		k.add(path, "%s is another parameter of this request", quote(name))
	}
}

// baseURLProblem returns why BaseURL cannot be used, or "". It does not repeat what may be a
// password.
func (s Service) baseURLProblem() string {
	if s.BaseURL == "" {
		return "is missing; base_url, client_id and client_secret_file are required together"
	}
	u, err := url.Parse(s.BaseURL)
	bad := err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == ""
	switch {
	case bad && strings.Contains(s.BaseURL, "@"), !bad && u.User != nil:
		return "contains a user name or password; use client_id and client_secret_file instead"
	case bad:
		return quote(s.BaseURL) + " is not a URL such as https://api.example.com"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "has a query or a fragment; for example https://api.example.com/api"
	case u.Scheme == "http" && !s.Insecure && !loopback(u.Hostname()):
		return fmt.Sprintf("%s is plain HTTP, and the client secret would be sent unencrypted; use https://, or "+
			"set service.insecure: true", quote(s.BaseURL))
	}
	return ""
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}
