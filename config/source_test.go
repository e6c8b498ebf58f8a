package config

import (
	"fmt"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
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
	assert.True(t, c.Source.Enabled() && c.Source.Venue == c.Venues[0].ID && token == "token" && err == nil &&
		len(c.Warnings) == 0, c.Source, c.Warnings, err)
	for _, name := range []string{c.Venues[0].Name, strings.ToUpper(c.Venues[0].ID)} {
		assert.Equal(t, mustLoad(t, withSource(t, ", venue: \""+name+"\"")).Source.Venue, c.Venues[0].ID, name)
	}
	mustLoad(t, strings.Replace(withSource(t, ""), "https://orders.example.com", "http://127.0.0.1:8443", 1))
	assert.True(t, !mustLoad(t, good).Source.Enabled(), "it is used without an address")
}
