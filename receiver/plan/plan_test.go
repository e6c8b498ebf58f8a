package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

var (
	harbour = Venue{ID: "6F1C8F5E-52ad-4a0b-9e9b-2f7b7b7f3a11", Name: "Harbour Grill", Zone: "Australia/Melbourne"}
	noon    = time.Date(2026, 2, 6, 12, 0, 0, 0, time.FixedZone("", 11*3600))
)

func parse(t testing.TB, body string) contract.PrintRequest {
	t.Helper()
	req, err := contract.Open([]byte(body), contract.Lenient)
	if err != nil {
		t.Fatalf("open %s: %v", body, err)
	}
	return req
}

func compile(t testing.TB, c Config) *Plan {
	t.Helper()
	if c.Fallback == "" {
		c.Fallback = "fallback"
	}
	p, err := Compile(c)
	assert.NoError(t, err)
	return p
}

// split plans records (JSON, without the envelope).
func split(t testing.TB, c Config, records ...string) Result {
	t.Helper()
	return compile(t, c).Split(parse(t, `{"records":[`+strings.Join(records, ",")+`]}`), harbour, "T1", noon, nil)
}

// lines shows a result as station: quantity name … for tables.
func lines(r Result) string {
	var tickets []string
	for _, d := range r.Request.Drafts {
		s := d.Station + ":"
		for _, l := range d.Ticket.Lines {
			s += " " + strings.Repeat(">", l.Depth) + l.Quantity + l.Name
			s += map[bool]string{true: "-"}[l.Void] + map[bool]string{true: "+"}[l.Refire] +
				map[bool]string{true: "?"}[l.NoRoute]
		}
		tickets = append(tickets, s)
	}
	return strings.Join(tickets, " | ")
}

func TestARealPayloadIsReadWithoutConfiguration(t *testing.T) {
	const id = "9b2e7c1a-4f0d-4c53-8d8e-0a5f6a3c1b01"
	body := string(contract.Example("burger.json"))
	r := compile(t, Config{}).Split(parse(t, strings.Replace(body, id, strings.ToUpper(id), 1)), harbour,
		"BW-E-Tablet-01", noon, nil)
	want := []ticket.Draft{{Station: "fallback", Ticket: ticket.Ticket{
		Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", VenueName: "Harbour Grill", Zone: "Australia/Melbourne",
		Device: "BW-E-Tablet-01", Request: id, Record: id, Received: noon.UTC(),
		Number: "18", Table: "B10", Server: "Jonathan A.", Check: "c1d7f0aa-0d3b-4a55-9a36-5f0a5a3b9e10",
		Lines: []ticket.Line{
			{Quantity: "1", Name: "Tomato soup", Course: "Appetizers", NoRoute: true},
			{Quantity: "2", Name: "Cheeseburger", Course: "Entrees", Notes: []string{"one cut in half"}, NoRoute: true},
			{Depth: 1, Quantity: "1", Name: "Medium rare", NoRoute: true},
			{Depth: 1, Quantity: "1", Name: "No onion", NoRoute: true},
			{Depth: 1, Quantity: "1", Name: "Side salad", NoRoute: true},
			{Depth: 2, Quantity: "1", Name: "Dressing", NoRoute: true},
			{Depth: 3, Quantity: "1", Name: "Blue cheese", Notes: []string{"on the side"}, NoRoute: true},
		},
	}}}
	assert.Equal(t, cmp.Diff(want, r.Request.Drafts), "", "drafts (-want +got)")
	q := r.Request
	assert.True(t, q.Venue == want[0].Ticket.Venue && q.ID == want[0].Ticket.Request && q.Device == "BW-E-Tablet-01" &&
		q.Received.Equal(noon) && q.Received.Location() == time.UTC && len(q.Body) != 0, "the request is not complete",
		q)
}

func TestATicketNamesTheOtherStationsOfItsOrder(t *testing.T) {
	routes := []Route{
		{To: []string{"log"}, Continue: true},
		{When: `item.c == "A"`, To: []string{"all", "pass"}},
		{When: `item.c == "D"`, To: []string{"bar"}}, {When: `item.c == "F"`, To: []string{"grill"}},
	}
	record := func(header, courses string) string {
		var items []string
		for _, c := range courses {
			items = append(items, fmt.Sprintf(`{"name":"x","c":"%c"}`, c))
		}
		return `{"id":"r",` + header + `"items":[` + strings.Join(items, ",") + `]}`
	}
	for _, c := range []struct {
		name    string
		records []string
		want    string
	}{
		{"one station", []string{record("", "FF")}, "grill:"},
		{"by their names", []string{record("", "XFD")},
			"fallback: bar grill | grill: bar fallback | bar: fallback grill"},
		{"one item at two stations", []string{record("", "A")}, "all: pass | pass: all"},
		{"a record for each printer", []string{record(`"checkNumber":18,`, "F"), record(`"checkNumber":18,`, "D")},
			"grill: bar | bar: grill"},
		{"two checks", []string{record(`"checkNumber":18,"checkName":"B1",`, "F"),
			record(`"checkNumber":19,"checkName":"B1",`, "D")}, "grill: | bar:"},
		{"two tables", []string{record(`"checkName":"B1",`, "FD"), record(`"checkName":"B2",`, "D")},
			"grill: bar | bar: grill | bar:"},
		{"one table, spelled in two ways", []string{record(`"checkName":"B1",`, "F"), record(`"checkName":"b1",`, "D")},
			"grill: bar | bar: grill"},
		{"no number, no table", []string{record("", "F"), record("", "D")}, "grill: bar | bar: grill"},
		{"a message has no lines", []string{record(`"note":"slow",`, "F"), record(`"note":"86 fish",`, "")},
			"grill: | fallback:"},
		{"a message beside two stations", []string{record("", "FD"), record(`"note":"86 fish",`, "")},
			"grill: bar | bar: grill | fallback:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, d := range split(t, Config{Routes: routes, Logs: []string{"log"}}, c.records...).Request.Drafts {
				if d.Station == "log" {
					continue
				}
				got = append(got, strings.TrimSpace(d.Station+": "+strings.Join(d.Ticket.AlsoAt, " ")))
			}
			assert.Equal(t, strings.Join(got, " | "), c.want)
		})
	}
}

func TestRoutesDecideInOrder(t *testing.T) {
	const drinks, food = `{"name":"Ale","c":"D"}`, `{"name":"Pie","c":"F","childItems":[{"name":"Ale","c":"D"}]}`
	bar := Route{When: `item.c == "D"`, To: []string{"bar"}}
	all := Route{To: []string{"grill"}}
	on := func(r Route) Route { r.Continue = true; return r }
	at := func(r Route, venue string) Route { r.Venue = venue; return r }
	for _, c := range []struct {
		name   string
		routes []Route
		want   string
	}{
		{"no routes", nil, "fallback: 1Pie? >1Ale? 1Ale?"},
		{"first match takes it", []Route{bar, all}, "grill: 1Pie >1Ale | bar: 1Ale"},
		{"item by another name", []Route{{When: `$env["item"].c == "D"`, To: []string{"bar"}}},
			"fallback: 1Pie? >1Ale? | bar: 1Ale"},
		{"order matters", []Route{all, bar}, "grill: 1Pie >1Ale 1Ale"},
		{"continue", []Route{on(bar), all}, "grill: 1Pie >1Ale 1Ale | bar: 1Ale"},
		{"continue at the end", []Route{on(all)}, "grill: 1Pie >1Ale 1Ale"},
		{"never twice on a station", []Route{on(all), {To: []string{"grill", "bar", "bar"}}},
			"grill: 1Pie >1Ale 1Ale | bar: 1Pie >1Ale 1Ale"},
		{"no route takes the pie", []Route{bar}, "fallback: 1Pie? >1Ale? | bar: 1Ale"},
		{"unrouted after routed", []Route{{When: `item.c == "D"`, To: []string{"fallback"}}},
			"fallback: 1Ale 1Pie? >1Ale?"},
		{"venue by name, any case", []Route{at(bar, "harbour grill"), all}, "grill: 1Pie >1Ale | bar: 1Ale"},
		{"venue by UUID, any case", []Route{at(bar, "6f1c8f5e-52AD-4a0b-9e9b-2f7b7b7f3a11"), all},
			"grill: 1Pie >1Ale | bar: 1Ale"},
		{"another venue", []Route{at(bar, "Other"), all}, "grill: 1Pie >1Ale 1Ale"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lines(split(t, Config{Routes: c.routes}, `{"id":"r","items":[`+food+`,`+drinks+`]}`))
			assert.Equal(t, got, c.want)
		})
	}
}

func TestWhatIsOnlyCopiedToALogStillReachesACook(t *testing.T) {
	c := Config{Logs: []string{"log"}, Routes: []Route{
		{To: []string{"log"}, Continue: true}, {When: `item.c == "F"`, To: []string{"grill"}},
		{When: `item.c == "G"`, To: []string{"log"}}, // a gift card
	}}
	for course, want := range map[string]string{"F": "log grill", "X": "log fallback!", "G": "log"} {
		got := ""
		for _, d := range split(t, c, `{"id":"r","items":[{"name":"x","c":"`+course+`"}]}`).Request.Drafts {
			got += " " + d.Station
			if d.Ticket.Lines[0].NoRoute && d.Station != "log" {
				got += "!"
			}
		}
		assert.Equal(t, got, " "+want, course, want)
	}
}

func TestAVenueMayHaveItsOwnFallback(t *testing.T) {
	v := harbour
	v.Fallback = "pass"
	r := compile(t, Config{}).Split(parse(t, `{"records":[{"id":"r","items":[{"name":"Pie"}]},{"items":[]}]}`), v, "T1",
		noon, nil)
	assert.Equal(t, lines(r), "pass: 1Pie? | pass:")
}

func TestRecordsKeepTheirOrderAndTheirTickets(t *testing.T) {
	got := lines(split(t, Config{Routes: []Route{{When: `item.name == "Ale"`, To: []string{"bar"}},
		{To: []string{"grill"}}}},
		`{"id":"1","items":[{"name":"Ale"},{"name":"Pie"},{"name":"Ale"}]}`, `{"items":[{"name":"Pie"}]}`,
		`{"items":[{"name":"Ale"}]}`))
	assert.Equal(t, got, "bar: 1Ale 1Ale | grill: 1Pie | grill: 1Pie | bar: 1Ale")
}

func TestItemsAreSortedByTheirKeyAndOtherwiseStayAsReceived(t *testing.T) {
	for _, c := range [][2]string{
		{"null,null,null,null", "abcd"}, {"1,1,1,1", "abcd"}, {"4,3,2,1", "dcba"}, {"2,1,2,1", "bdac"},
		{"2,null,1,null", "cdab"}, // without a key: behind the item before
		{"null,2,1,null", "acdb"}, // before the first key: in front
		{`"10",9,"x",-1`, "dbca"}, {"null,-1,1,2", "abcd"}, {"0,-1,-2.5,-0.5", "cbda"}, {"true,null,[],{}", "abcd"},
		{"1e999,1e-999,-1e999,0", "cbda"}, {"1e99999999999999999999,2,-1e99999999999999999999,1", "cdba"},
	} {
		items, want := "", ""
		for i, key := range strings.Split(c[0], ",") {
			items += fmt.Sprintf(`,{"name":"%c","categoryPriority":%s,"childItems":[{"name":"z","sortOrder":2},`+
				`{"name":"y","sortOrder":1}]}`, 'a'+i, key)
			want += fmt.Sprintf(" 1%c? >1z? >1y?", c[1][i])
		}
		assert.Equal(t, lines(split(t, Config{}, `{"id":"r","items":[`+items[1:]+`]}`)), "fallback:"+want, c[0], want)
	}
}

func TestARecordWithoutItemsMakesOneTicket(t *testing.T) {
	for _, c := range []struct {
		record string
		want   ticket.Ticket
	}{
		{`{"id":"r","items":[],"checkName":"B10"}`, ticket.Ticket{Table: "B10"}},
		{`{"id":"r","items":[],"orderNumber":7}`, ticket.Ticket{Number: "7"}},
		{`{"id":"r","items":[],"checkOwner":"Sarah M"}`, ticket.Ticket{Server: "Sarah M"}},
		{`{"id":"r","items":[],"orderType":"Dine In"}`, ticket.Ticket{Type: "Dine In"}},
		{`{"id":"r","items":[],"guests":4}`, ticket.Ticket{Guests: "4"}},
		{`{"id":"r","items":[],"printer":"BAR-1"}`, ticket.Ticket{Destination: "BAR-1"}},
		{`{"id":"r","items":[],"course":"Desserts"}`, ticket.Ticket{Course: "Desserts"}},
		{`{"id":"r","items":[],"course":"No Course","guests":4}`, ticket.Ticket{Guests: "4"}},
		{`{"id":"r","items":[],"course":"Default","guests":4}`, ticket.Ticket{Guests: "4"}},
		{`{"id":"r","items":[],"course":" - ","guests":4}`, ticket.Ticket{Guests: "4"}},
		{`{"id":"r","items":[],"note":"86 salmon"}`, ticket.Ticket{Notes: []string{"86 salmon"}}},
		{`{"id":"r","items":[],"status":"VOID"}`, ticket.Ticket{Void: true}},
		{`{"id":"r","items":[],"isRefire":true}`, ticket.Ticket{Refire: true}},
		{`{"id":"r","z":1.50,"items":[],"a":"<b>\u0007"}`,
			ticket.Ticket{Raw: `{"id":"r","z":1.50,"items":[],"a":"<b>\u0007"}`}},
	} {
		want := c.want
		want.Venue, want.VenueName, want.Zone = strings.ToLower(harbour.ID), harbour.Name, harbour.Zone
		want.Device, want.Request, want.Record, want.Received = "T1", "r", "r", noon.UTC()
		r := split(t, Config{Routes: []Route{{To: []string{"grill"}}}}, c.record)
		assert.Equal(t, cmp.Diff([]ticket.Draft{{Station: "fallback", Ticket: want}}, r.Request.Drafts), "", c.record)
	}
}
