package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVenuesListSaysWhereTheServicePosts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"all": "0abcdefghijklmnopqrstuvw\n", "own": "1abcdefghijklmnopqrstuvw\n",
		"t.yaml": `receiver: { secret_file: all, external_url: "https://kitchen.example.com/" }
venues:
  - { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC }
  - { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a12, name: Beach, timezone: UTC, secret_file: own }
  - { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a13, name: Cellar, timezone: UTC }
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	(&cli{in: strings.NewReader(""), out: &out, err: &out}).run(t.Context(),
		[]string{"venues", "list", "--config", filepath.Join(dir, "t.yaml")})
	want := `
The service posts for Harbour Grill, Cellar to:
  https://kitchen.example.com/webhooks/print/
  and behind that the first line of ` + dir + `/all

The service posts for Beach to:
  https://kitchen.example.com/webhooks/print/
  and behind that the first line of ` + dir + `/own
`
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s\nwant at its end\n%s", &out, want)
	}
}

func TestVenuesListOfABoxWithoutAWebhookNamesTheRelay(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(conf, []byte(`receiver: { listen: "" }
source: { nats: ["tls://relay.example.com:4222"], creds_file: relay.creds }
venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":       "\n\nThere is no webhook: the service posts to the relay",
		"--json": `"address": ""`,
	} {
		var out strings.Builder
		(&cli{in: strings.NewReader(""), out: &out, err: &out}).run(t.Context(),
			append(strings.Fields("venues list "+args), "--config", conf))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", args, &out)
		}
	}
}
