package plan

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheDigestCoversTheContentAlone(t *testing.T) {
	const (
		id    = "9b2e7c1a-4f0d-4c53-8d8e-0a5f6a3c1b01"
		first = `{"records":[{"id":"` + id + `","retryCount":0,"_updatedAt":"a","items":[{"name":"Pie","quantity":1,` +
			`"_x":{"y":1},"childItems":[{"name":"é\u00e9\n","_z":1}]}]}],"serverRequestTimestamp":"1"}`
		repeated = `{"records":[{"id":"r","retryCount":0,"items":[{"name":"Pie","name":"Ale"}]}]}`
	)
	for _, c := range []struct {
		body, old, new string // the first old becomes new
		same           bool
	}{
		{first, `"quantity":1`, `"quantity":1,"retryCount":4`, true},
		{first, id, strings.ToUpper(id), true},
		{first, `"quantity":1`, `"quantity":1.0`, false},
		{first, `"quantity":1`, `"quantity":"1"`, false},
		{first, `Pie`, `pie`, false},
		{first, `"id":"` + id, `"isVoid":false,"id":"` + id, false},
		{first, `"id":"` + id, `"isVoid":null,"id":"` + id, false},
		{first, `"childItems"`, `"childitems"`, false},
		{first, id, "r", false},
		{first, `}],"server`, `},{"items":[]}],"server`, false},

		{repeated, `:0`, `:1,"retryCount":2,"_at":1,"_at":2`, true},
		{repeated, `Pie`, `Pea`, false},
		{repeated, `"name":"Pie",`, ``, false},
		{repeated, `"Pie","name":"Ale"`, `["Pie","Ale"]`, false},
	} {
		body := strings.Replace(c.body, c.old, c.new, 1)
		if got := Digest(parse(t, body)) == Digest(parse(t, c.body)); got != c.same || body == c.body {
			t.Errorf("same digest: %v, want %v: %s", got, c.same, body)
		}
	}

	const other = `{"serverRequestTimestamp":"2","status":"X","records":[{"items":[{"childItems":[` +
		`{"name":"\u00e9é\u000a"}],"quantity":1,"name":"Pie","_w":[]}],"retryCount":{"a":2},` +
		`"_stage":1,"id":"` + id + `"}]}`
	if Digest(parse(t, other)) != Digest(parse(t, first)) {
		t.Error("the sequence of the members, their spelling or what a retry changes is in the digest")
	}
}

func TestTheDigestDoesNotChangeBetweenVersions(t *testing.T) {
	// It is stored: another one would make a conflict of every retry that comes after an upgrade.
	const body = `{"records":[{"id":"r\"\\\n<>&é李","n":1.50e3,"_x":1,"items":[{"a":[],"b":{},"c":null,"d":true}` +
		`]},{"items":[]}]}`
	const want = "110e1743a118722d94a85d1a411ad9500a372d71144bd331d7c6787a0f131578"
	if got := fmt.Sprintf("%x", Digest(parse(t, body))); got != want {
		t.Error(got)
	}
}

func TestADeeplyNestedBodyIsPlanned(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 4900) + `1` + strings.Repeat(`]}`, 4900)
	r := split(t, Config{Routes: []Route{{When: `item.x == record.x`, To: []string{"grill"}}}},
		`{"id":"r","x":`+deep+`,"items":[{"x":`+deep+`}]}`)
	if len(r.Request.Drafts) != 1 || !strings.Contains(r.Request.Drafts[0].Ticket.Lines[0].Name, `{"a":[1]}`) {
		t.Error("the item did not come out")
	}
}
