package plan

import (
	"errors"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestEveryProblemWithTheRulesIsReportedAtOnce(t *testing.T) {
	_, err := Compile(Config{
		Fallback: "pass",
		Routes: []Route{
			{To: []string{"grill"}}, {When: `item.name ==`, To: []string{"bar"}}, {When: `itme.name == "x"`, To: nil},
			{When: `venue.nmae == "x"`, To: []string{"bar"}}, {When: `now().Hour() > 3`, To: []string{"bar"}},
			{When: `item.name = Drinks`, To: []string{"bar"}}, {When: `item.name + 1`, To: []string{"bar"}},
			{When: `"always"`, To: []string{"bar"}},
			{When: strings.Repeat("!", 20_000) + "true", To: []string{"bar"}},
			{When: strings.Repeat("item.a or ", 50) + "item.b ==", To: []string{"bar"}},
		},
		Fields: map[string][]string{"nam": {"x"}, "table": {"a..b"}, "quantity": {}},
	})
	var paths []string
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("Compile says %v, want joined problems", err)
	}
	for _, e := range joined.Unwrap() {
		p, ok := errors.AsType[*Problem](e)
		if !ok {
			t.Fatalf("%v is no *Problem", e)
		}
		paths = append(paths, p.Path)
		assert.True(t, !strings.Contains(e.Error(), "\n") && len(e.Error()) <= 400 && !strings.Contains(e.Error(),
			"(0:"), "not readable", e)
	}
	got := strings.Join(paths, " ")
	want := "routes[1].when routes[2].when routes[2].to routes[3].when routes[4].when " +
		"routes[5].when routes[7].when routes[8].when routes[9].when ticket.fields.quantity " +
		"ticket.fields.table ticket.fields.nam"
	assert.Equal(t, got, want, "problems at", err)
	assert.True(t, strings.Contains(err.Error(), "routes[1].when: unexpected token EOF (1:12) in item.name ==\n"),
		"the position is missing", err)
	want = `"=" is not an operator: write == to compare, and text in quotes (1:11)`
	assert.True(t, strings.Contains(err.Error(), want), "no word of == in", err)
}

func TestLoopsOfRulesAreLimitedForTheWholeRequest(t *testing.T) {
	p := compile(t, Config{Routes: []Route{{When: `any(record.items, .name == item.other)`, To: []string{"bar"}},
		{To: []string{"grill"}}}})
	record := `{"id":"r","items":[` + strings.Repeat(`{"name":"a"},`, 999) + `{"name":"b"}]}`
	if r := p.Split(parse(t, `{"records":[`+record+`]}`), harbour, "T", noon, nil); r.FailureCount != 0 {
		t.Errorf("one record: %d failed, %s", r.FailureCount, r.Failure)
	}
	r := p.Split(parse(t, `{"records":[`+strings.Repeat(record+",", 9)+record+`]}`), harbour, "T", noon, nil)
	assert.True(t, r.FailureCount == 10_000-maxLoopSteps/1000/1000*1000 && len(r.Request.Drafts) == 10 &&
		len(r.Request.Drafts[9].Ticket.Lines) == 1000, "ten records", r.FailureCount, len(r.Request.Drafts))
	p = compile(t, Config{Routes: []Route{{When: `item.name == "b"`, To: []string{"bar"}}}})
	r = p.Split(parse(t, `{"records":[`+strings.Repeat(record+",", 9)+record+`]}`), harbour, "T", noon, nil)
	assert.Equal(t, r.FailureCount, 0, "an expression without a loop failed")
}

func TestAMissingFieldIsFalseAndNeverAnError(t *testing.T) {
	// Each expression runs on one item of one record; want is "" where it is true, "no" where it is false, or
	// the failure.
	const body = `{"records":[{"id":"r","printerDeviceId":"BAR-1","guests":2,"check":{"n":"a"},
		"items":[{"name":"Ale","price":4.5,"isAlcohol":true,"tags":["x"],"menu":{"name":"Ale"},"size":"2"}]}]}`
	const at = "routes[0].when: records[0].items[0]: "
	for _, c := range [][2]string{
		{`item.courseName == "Drinks"`, "no"}, {`item.courseName != "Drinks"`, ""},
		{`item.product.name == "Ale"`, "no"}, {`item.product.group.name == nil`, ""}, {`item.menu.name == "Ale"`, ""},
		{`item.menu?.name == "Ale"`, ""}, {`item.product?.name?.x == "Ale"`, "no"}, {`item.isCold`, "no"},
		{`item.isAlcohol`, ""}, {`not item.isCold`, ""}, {`!item.isCold && item.isAlcohol`, ""},
		{`item.isCold or item.name == "Ale"`, ""}, {`item.isCold ? false : true`, ""}, {`"x" in item.labels`, "no"},
		{`record.printerDeviceId == "BAR-1" || item.courseName == "Drinks"`, ""},
		{`venue.id == "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"`, ""}, {`device == "T1"`, ""},
		{`any(record.items, .isAlcohol)`, ""}, {`any(record.items, .isCold)`, "no"},
		{`any(record.items, .menu.name == "Ale")`, ""}, {`any(record.items, .product.name == "Ale")`, "no"},
		{`count(record.items, .name == item.name) == 1`, ""}, {`item["name"] == "Ale"`, ""},
		{`item.menu.nothing() == 1`, at + "failed at 1:11"}, {`item.cold?.a.b == nil and item?.["cold"].z == nil`, ""},
		{`$env["item"].name == "Ale" and $env.item.cold.x == nil`, ""},
		{`record.items[0]?.menu.name == "Ale" and record.items[0].cold.name == nil`, ""},
		{`record.items[7].name == "Ale"`, at + "failed at 1:13"}, {`item.menu["na" + "me"] == "Ale"`, ""},
		{`filter(record.items, #.menu.name == item.name)[0].menu.name == "Ale"`, ""},
		{`none(record.items, .isCold)`, ""}, {`record.items | count(.isAlcohol) == 1`, ""},
		{`if item.isCold { false } else { true }`, ""}, {`item.price > item.cost`, at + "failed at 1:12"},
		{`item.name`, at + "failed at 1:1"}, {`len(map(1..900000, map(1..1000, "x"))) > 0`, at + "failed at 1:20"},
		// These need members that they do not name.
		{`item["na" + "me"] == "Ale"`, ""}, {`item[record.id == "r" ? "name" : "x"] == "Ale"`, ""},
		{`let i = item; i.name == "Ale"`, ""}, {`[item][0].name == "Ale"`, ""}, {`len(item) == 6`, ""},
		{`"price" in item and "guests" in record`, ""}, {`item.menu == {"name": "Ale"}`, ""},
		{`item == record.items[0] and item.name == "Ale"`, ""}, {`$env["it" + "em"]["name"] == "Ale"`, ""},
		{`record.check.n == "a" and len(record.items[0]) == 6`, ""},
		{`item[item.name] == nil`, ""}, {`item.name[item.name] == nil`, at + "failed at 1:10"},
		{`len(repeat(item.name, 1000000)) > 0`, at + "failed at 1:5"},
		{`"` + strings.Repeat("long ", 400) + `" contains item.name and item.cold.deep`, "no"},
	} {
		when, want := c[0], c[1]
		p, err := Compile(Config{Fallback: "F", Routes: []Route{{When: when, To: []string{"S"}}}})
		if err != nil {
			t.Errorf("%s: %v", when, err)
			continue
		}
		r := p.Split(parse(t, body), harbour, "T1", noon, nil)
		d := r.Request.Drafts
		if len(d) != 1 || len(d[0].Ticket.Lines) != 1 || d[0].Ticket.Lines[0].Name != "Ale" {
			t.Errorf("%s: the item did not come out: %+v", when, d)
			continue
		}
		got := r.Failure
		if got == "" && d[0].Station != "S" {
			got = "no"
		}
		assert.Equal(t, got, want, when)
		assert.True(t, (r.FailureCount > 0) == (r.Failure != "") && (r.FailureCount <= 0 || d[0].Station == "F"), when,
			r.FailureCount, d[0].Station)
	}
}
