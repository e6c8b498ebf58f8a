package config

import (
	"fmt"
	"strings"
	"testing"
)

// withSource is a configuration with a relay, and with more keys of it.
func withSource(t *testing.T, more string) string {
	t.Helper()
	return good + fmt.Sprintf("source: { url: \"https://orders.example.com\", token_file: %q%s }\n",
		secretFile(t, "token\n", 0o600), more)
}

func TestASourceIsOfTheOnlyVenueOrOfTheOneThatItNames(t *testing.T) {
	c := mustLoad(t, withSource(t, ""))
	token, err := c.Source.Token()
	if !c.Source.Enabled() || c.Source.Venue != c.Venues[0].ID || token != "token" || err != nil ||
		len(c.Warnings) != 0 {
		t.Errorf("%+v, %q, %v", c.Source, c.Warnings, err)
	}
	for _, name := range []string{c.Venues[0].Name, strings.ToUpper(c.Venues[0].ID)} {
		if got := mustLoad(t, withSource(t, ", venue: \""+name+"\"")); got.Source.Venue != c.Venues[0].ID {
			t.Errorf("%s is %s", name, got.Source.Venue)
		}
	}
	mustLoad(t, strings.Replace(withSource(t, ""), "https://orders.example.com", "http://127.0.0.1:8443", 1))
	if mustLoad(t, good).Source.Enabled() {
		t.Error("it is used without an address")
	}
}
