package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInspectSaysOfEachFieldWhatItBecame(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "k.yaml")
	if err := os.WriteFile(conf, []byte(`venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Grill } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
ticket: { silence: [records.items.station2] }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	const body = "\ufeff" + `{"records":[{"id":"r","orderNumber":7,"items":[
		{"name":"Pie","wish":"soon","price":3.5,"station2":"K"},{"name":"Ale","a":1,"b":2,"c":3,"d":4,"e":5}]}]}`

	var out bytes.Buffer
	fields, err := Inspect(conf, strings.NewReader(body), "", "", &out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fields.Venues[0].Fields {
		got = append(got, strings.TrimRight(strings.Join([]string{f.Path, string(f.Use), f.As, f.Example}, " "), " "))
	}
	want := `records.id noise identifiers r
records.items.a unread  1
records.items.b unread  2
records.items.c unread  3
records.items.d unread  4
records.items.e unread  5
records.items.name read name Ale
records.items.price noise money 3.5
records.items.station2 silenced  K
records.items.wish unread  soon
records.orderNumber read number 7`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("the fields are\n%s", got)
	}
	tickets := strings.Count(out.String(), "ticket for grill")
	if tickets != 1 || !strings.Contains(out.String(), " and 2 more  ") {
		t.Errorf("%d tickets\n%s", tickets, out.String())
	}
}
