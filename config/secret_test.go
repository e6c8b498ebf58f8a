package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

const (
	one = "abcdefghij0123456789-_"
	two = "ZYXWVUTSRQ0123456789-_"
)

func TestASecretIsAlwaysShownAsAsterisks(t *testing.T) {
	s := Secret{one}
	holder := struct{ S Secret }{s}
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		fmt.Fprintf(&b, verb+" "+verb+" "+verb+"\n", s, &s, holder)
	}
	fmt.Fprintln(&b, s, fmt.Errorf("open %v", s))
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "s", s, "h", holder)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "s", s, "h", holder)
	j, err := json.Marshal(map[string]any{"s": s, "h": holder})
	assert.NoError(t, err)
	b.Write(j)
	for _, leak := range []string{one, one[:6], fmt.Sprintf("%x", one[:6])} {
		if strings.Contains(b.String(), leak) {
			t.Fatalf("%q came out:\n%s", leak, b.String())
		}
	}
	assert.Equal(t, s.Reveal(), one, "the secret itself is not right")
}

func TestTwoSecretsAreValidAtTheSameTime(t *testing.T) {
	for text, want := range map[string]int{one: 1, one + "\n": 1, one + "\r\n" + two + "\r\n": 2,
		"\n" + one + "\n\n" + two: 2} {
		c := mustLoad(t, good+"receiver: { secret_file: "+secretFile(t, text, 0o600)+" }\n")
		assert.True(t, len(c.Receiver.Secrets) == want && c.Receiver.Secrets[0].Reveal() == one && len(c.Warnings) == 0,
			text, c.Receiver.Secrets, c.Warnings)
		assert.True(t, !strings.Contains(fmt.Sprintf("%+v", c), one), "the configuration shows the secret")
	}
}

func TestAVenueHasASecretOfItsOwn(t *testing.T) {
	own := func(all, first, second string) (*Config, error) {
		const zone = "timezone: Australia/Melbourne"
		text := strings.Replace(good, zone+" }", zone+", secret_file: "+secretFile(t, first, 0o600)+" }\n"+
			"  - { id: 6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A12, name: Beach, timezone: UTC, "+
			"secret_file: "+secretFile(t, second, 0o600)+" }", 1)
		return load(t, text+"receiver: { secret_file: "+secretFile(t, all, 0o600)+" }\n")
	}
	c, err := own(one, two+"\n"+two+"x", one+"y")
	assert.NoError(t, err)
	s := c.Venues[0].Secrets
	assert.True(t, len(s) == 2 && s[0].Reveal() == two && c.Venues[1].Secrets[0].Reveal() == one+"y", c.Venues)
}

func TestASecretThatAllUsersCanReadGivesAWarning(t *testing.T) {
	c := mustLoad(t, good+"receiver: { secret_file: "+secretFile(t, one, 0o644)+" }\n")
	assert.True(t, len(c.Warnings) == 1 && strings.Contains(c.Warnings[0], "(mode 0644); run chmod o= on it"),
		c.Warnings)
}

func TestRelativeSecretsAreFoundInTheCredentialsDirectory(t *testing.T) {
	name := secretFile(t, one, 0o600)
	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(name))
	c := mustLoad(t, good+"receiver: { secret_file: webhook }\nservice: { base_url: \"https://a\", client_id: "+
		"me, client_secret_file: webhook }\n")
	assert.True(t, len(c.Receiver.Secrets) == 1 && c.Receiver.SecretFile == name &&
		c.Service.ClientSecretFile == name && c.Service.Now.Reveal() == one, c)
}
