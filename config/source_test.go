package config

import (
	"fmt"
	"strings"
	"testing"
)

// withSource is a configuration with a relay, and with more keys of it.
func withSource(t *testing.T, more string) string {
	t.Helper()
	return good + fmt.Sprintf("source: { nats: [\"tls://relay-1.example.com:4222\"], creds_file: %q%s }\n",
		secretFile(t, "credentials\n", 0o600), more)
}

func TestASourceIsOfTheOnlyVenueOrOfTheOneThatItNames(t *testing.T) {
	c := mustLoad(t, withSource(t, ""))
	if !c.Source.Enabled() || c.Source.Venue != c.Venues[0].ID || c.Source.Credentials.Reveal() != "credentials\n" ||
		len(c.Warnings) != 0 {
		t.Errorf("%+v, %q", c.Source, c.Warnings)
	}
	for _, name := range []string{c.Venues[0].Name, strings.ToUpper(c.Venues[0].ID)} {
		if got := mustLoad(t, withSource(t, ", venue: \""+name+"\"")); got.Source.Venue != c.Venues[0].ID {
			t.Errorf("%s is %s", name, got.Source.Venue)
		}
	}
	if mustLoad(t, good).Source.Enabled() {
		t.Error("it is used without an address")
	}
}

func TestACredentialsFileThatCannotBeReadIsAWarning(t *testing.T) {
	c := mustLoad(t, good+"source: { nats: [\"tls://a:1\"], creds_file: /gone }\n")
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], CannotFetch+"/gone: no such file") {
		t.Errorf("%q", c.Warnings)
	}
}

func TestAReloadSeesWhetherTheConnectionHasChanged(t *testing.T) {
	one := mustLoad(t, withSource(t, "")).Source
	if !one.Same(one) {
		t.Error("it differs from itself")
	}
	for _, change := range []func(*Source){
		func(s *Source) { s.NATS = []string{"tls://b:1"} },
		func(s *Source) { s.CredsFile = "/other" },
		func(s *Source) { s.Venue = "other" },
		func(s *Source) { s.Credentials = NewSecret("new") },
	} {
		other := one
		if change(&other); one.Same(other) {
			t.Errorf("%+v is the same", other)
		}
	}
}
