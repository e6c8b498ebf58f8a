package plan

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheDigestCoversTheContentAlone(t *testing.T) {
	const first = `{"records":[{"id":"r","retryCount":0,"_updatedAt":"a","items":[{"name":"Pie","quantity":1,` +
		`"_x":{"y":1},"childItems":[{"name":"é\u00e9\n","_z":1}]}]}],"serverRequestTimestamp":"1"}`
	for body, same := range map[string]bool{
		first: true,
		`{"serverRequestTimestamp":"2","status":"X","records":[{"items":[{"childItems":[{"name":"\u00e9é\u000a"}` +
			`],"quantity":1,"name":"Pie","_w":[]}],"retryCount":{"a":2},"_stage":1,"id":"r"}]}`: true,
		strings.Replace(first, `"quantity":1`, `"quantity":1,"retryCount":4`, 1): true,
		strings.Replace(first, `"quantity":1`, `"quantity":1.0`, 1):              false,
		strings.Replace(first, `"quantity":1`, `"quantity":"1"`, 1):              false,
		strings.Replace(first, `Pie`, `pie`, 1):                                  false,
		strings.Replace(first, `"id":"r"`, `"id":"r","isVoid":false`, 1):         false,
		strings.Replace(first, `"id":"r"`, `"id":"r","isVoid":null`, 1):          false,
		strings.Replace(first, `"childItems"`, `"childitems"`, 1):                false,
		strings.Replace(first, `"id":"r"`, `"id":"R"`, 1):                        false,
		strings.Replace(first, `}],"server`, `},{"items":[]}],"server`, 1):       false,
	} {
		if got := Digest(parse(t, body)) == Digest(parse(t, first)); got != same {
			t.Errorf("same digest: %v, want %v: %s", got, same, body)
		}
	}
}

// It is stored: another one would make a conflict of every retry that comes after an upgrade.
func TestTheDigestDoesNotChangeBetweenVersions(t *testing.T) {
	const body = `{"records":[{"id":"r\"\\\n<>&é李","n":1.50e3,"_x":1,"items":[{"a":[],"b":{},"c":null,"d":true}` +
		`]},{"items":[]}]}`
	const want = "110e1743a118722d94a85d1a411ad9500a372d71144bd331d7c6787a0f131578"
	if got := fmt.Sprintf("%x", Digest(parse(t, body))); got != want {
		t.Error(got)
	}
}

func TestTheDigestOfAnIDInCapitalsIsTheSame(t *testing.T) {
	const id = "9b2e7c1a-4f0d-4c53-8d8e-0a5f6a3c1b01"
	body := `{"records":[{"id":"` + id + `","items":[]},{"id":"x","items":[]}]}`
	if Digest(parse(t, body)) != Digest(parse(t, strings.Replace(body, id, strings.ToUpper(id), 1))) {
		t.Error("differs")
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
