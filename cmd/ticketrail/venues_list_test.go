package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestVenuesListSaysWhereTheServicePosts(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeFiles(t, map[string]string{at("all"): "0abcdefghijklmnopqrstuvw\n", at("own"): "1abcdefghijklmnopqrstuvw\n",
		at("t.yaml"): `receiver: { secret_file: all, external_url: "https://kitchen.example.com/" }
venues:
  - { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC }
  - { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a12, name: Beach, timezone: UTC, secret_file: own }
  - { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a13, name: Cellar, timezone: UTC }
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
`})
	_, out, _ := runCommand(t, "venues", "list", "--config", at("t.yaml"))
	want := `
The service posts for Harbour Grill, Cellar to:
  https://kitchen.example.com/webhooks/print/
  and behind that the first line of ` + dir + `/all

The service posts for Beach to:
  https://kitchen.example.com/webhooks/print/
  and behind that the first line of ` + dir + `/own
`
	if !strings.HasSuffix(out, want) {
		t.Errorf("%s\nwant at its end\n%s", out, want)
	}
}

func TestVenuesListOfABoxWithoutAWebhookNamesTheRelay(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "t.yaml")
	writeFiles(t, map[string]string{conf: `receiver: { listen: "" }
source: { nats: ["tls://relay.example.com:4222"], creds_file: relay.creds }
venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
`})
	for args, want := range map[string]string{
		"":       "\n\nThere is no webhook: the service posts to the relay",
		"--json": `"address": ""`,
	} {
		_, out, _ := runCommand(t, append(strings.Fields("venues list "+args), "--config", conf)...)
		if !strings.Contains(out, want) {
			t.Errorf("%s: %s", args, out)
		}
	}
}
