package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// ReadSecret reads the client secret as it is now. Its errors never show what is in the file.
func (s Service) ReadSecret() (Secret, error) {
	lines, err := secretLines(s.ClientSecretFile)
	if err != nil {
		return Secret{}, err
	}
	if len(lines) != 1 {
		return Secret{}, fmt.Errorf("%s has %d lines; it holds the secret and nothing else", s.ClientSecretFile, len(lines))
	}
	return Secret{lines[0]}, nil
}

func (k *checker) service() {
	s := &k.c.Service
	k.checkDuration("service.timeout", s.Timeout, time.Second, time.Minute, "")
	k.checkDuration("service.refresh", s.Refresh, 10*time.Minute, 168*time.Hour, "")
	k.tokenRequest()
	k.checkCount("service.employees.limit", s.Employees.Limit, 0, 10_000)
	if c := s.Employees.Cursor; c != "" && !regexp.MustCompile(`^(header:[A-Za-z0-9-]{1,100}|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)$`).MatchString(c) {
		k.add("service.employees.cursor", "%s is no place in an answer; write it as meta.nextCursor or header:X-Next-Cursor", quote(c))
	}
	k.parameter("service.payroll.venue_param", s.Payroll.VenueParam, "limit", "cursor")
	if s.BaseURL == "" && s.ClientID == "" && s.ClientSecretFile == "" {
		return
	}
	k.addIf("service.base_url", s.baseURLProblem())
	switch {
	case s.ClientID == "":
		k.add("service.client_id", "is missing; base_url, client_id and client_secret_file go together")
	case strings.TrimSpace(s.ClientID) != s.ClientID || strings.ContainsFunc(s.ClientID, func(r rune) bool { return !unicode.IsPrint(r) }):
		k.add("service.client_id", "%s begins or ends with a space or cannot be printed", quote(s.ClientID))
	}
	if s.ClientSecretFile == "" {
		k.add("service.client_secret_file", "is missing; base_url, client_id and client_secret_file go together")
		return
	}
	s.ClientSecretFile = k.secretName(s.ClientSecretFile)
	secret, err := s.ReadSecret()
	if err != nil {
		k.add("service.client_secret_file", "%v", err)
		return
	}
	s.Secret = secret
	k.warnReadable("service.client_secret_file", s.ClientSecretFile)
}

func (k *checker) tokenRequest() {
	t := &k.c.Service.Token
	if !regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`).MatchString(t.Path) {
		k.add("service.token.path", "%s is not a plain path below base_url; write it as /oauth/token", quote(t.Path))
	}
	k.parameter("service.token.venue_param", t.VenueParam, "grant_type", "client_id", "client_secret", "scope")
	k.oneOf("service.token.auth_style", t.AuthStyle, "params", "header")
	k.checkDuration("service.token.renew_before", t.RenewBefore, time.Second, 10*time.Minute, "; a token lives for 15m")
	for i, scope := range t.Scopes { // RFC 6749, section 3.3
		if !regexp.MustCompile(`^[!#-\[\]-~]{1,200}$`).MatchString(scope) {
			k.add(fmt.Sprintf("service.token.scopes[%d]", i), "%s is not a scope; write it as checks:read", quote(scope))
		}
	}
}

// parameter checks the name of a parameter; taken are those that mean something else.
func (k *checker) parameter(path, name string, taken ...string) {
	if !regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,64}$`).MatchString(name) {
		k.add(path, "%s is not the name of a parameter", quote(name))
		return
	}
	if slices.Contains(taken, name) {
		k.add(path, "%s has a meaning of its own in this request", quote(name))
	}
}

// baseURLProblem says why the service cannot be asked there. What may be a password is not
// repeated.
func (s Service) baseURLProblem() string {
	if s.BaseURL == "" {
		return "is missing; base_url, client_id and client_secret_file go together"
	}
	u, err := url.Parse(s.BaseURL)
	bad := err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == ""
	switch {
	case bad && strings.Contains(s.BaseURL, "@"), !bad && u.User != nil:
		return "has a user name or password in it; they have keys of their own, client_id and client_secret_file"
	case bad:
		return quote(s.BaseURL) + " is not an address such as https://api.example.com"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "ends in a query or a fragment; write it as https://api.example.com/api"
	case u.Scheme == "http" && !s.Insecure && !loopback(u.Hostname()):
		return fmt.Sprintf("%s is plain HTTP, and the client secret would cross the network readable; write https://, or set service.insecure: true", quote(s.BaseURL))
	}
	return ""
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}
