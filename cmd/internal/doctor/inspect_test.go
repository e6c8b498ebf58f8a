package doctor

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestInspectSaysOfEachValueWhatItBecame(t *testing.T) {
	const body = "\ufeff" + `{"records":[{"id":"r","orderNumber":7,"tags":[],"items":[
		{"name":"Pie <hot>","quantity":1.50,"wish":"so\u001b[31mon","lots":["a","b"],"price":3.5,"station2":"K"},
		{"name":"Ale\u009b","wish":null,"a":1,"b":2,"c":3,"d":4,"e":5}]}]}` + "\n"
	want := `{
  "records": [
    {
      "id": "r",                     noise: identifiers
      "orderNumber": 7,              → number
      "tags": [],
      "items": [
        {
          "name": "Pie <hot>",       → name
          "quantity": 1.50,          → quantity
          "wish": "so\u001b[31mon",  NOT READ
          "lots": [
            "a",                     NOT READ
            "b"                      NOT READ
          ],
          "price": 3.5,              noise: money
          "station2": "K"            silenced
        },
        {
          "name": "Ale�",            → name
          "wish": null,              noise: empty
          "a": 1,                    NOT READ
          "b": 2,                    NOT READ
          "c": 3,                    NOT READ
          "d": 4,                    NOT READ
          "e": 5                     NOT READ
        }
      ]
    }
  ]
}

records[0].items[0] "Pie <hot>"`
	for colour, unread := range map[bool]string{false: "NOT READ", true: "\x1b[1;31mNOT READ\x1b[0m"} {
		out := inspected(t, body, colour)
		assert.True(t, strings.Contains(out, strings.ReplaceAll(want, "NOT READ", unread)),
			colour, out)
		tickets := strings.Count(out, "ticket for grill")
		assert.True(t, tickets == 1 && strings.Contains(out, " and 2 more  "), tickets, out)
	}
}

func TestInspectShowsABodyThatPrintsAsItCame(t *testing.T) {
	for body, want := range map[string]string{
		`{"records":[{"id":"a","items":[]}],"records":["again"]}`: `
{"records":[{"id":"a","items":[]}],"records":["again"]}
`,
		`{"records":[{"id":"a","id":"b","items":[]}]}`: "      \"id\": \"a\",\n      \"id\": \"b\",\n",
		`{"records":[{"id":"a","items":[{"name":"` + "\u009b" + `"}` + strings.Repeat(",{}", 10_000) + `]}]}`: `
{"records":[{"id":"a","items":[{"name":"`,
	} {
		out := inspected(t, body, false)
		assert.True(t, strings.Contains(out, want) && !strings.Contains(out, "\u009b") &&
			strings.Contains(out, "ticket for grill"), body, out)
	}
}

func inspected(t *testing.T, body string, colour bool) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "k.yaml")
	writeFile(t, conf, `venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Grill } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
ticket: { silence: [records.items.station2] }
`)
	var out bytes.Buffer
	_, err := Inspect(conf, strings.NewReader(body), "", "", colour, &out)
	assert.NoError(t, err)
	return out.String()
}
