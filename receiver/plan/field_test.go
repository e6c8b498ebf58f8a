package plan

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

// nest puts a JSON value at a dotted path, as the members of an object.
func nest(path, value string) string {
	keys := strings.Split(path, ".")
	out := value
	for i := len(keys) - 1; i >= 0; i-- {
		out = fmt.Sprintf("%q:%s", keys[i], out)
		if i > 0 {
			out = "{" + out + "}"
		}
	}
	return out
}

// only plans a record with one item; both are given as members.
func only(t *testing.T, c Config, record, item string) ticket.Ticket {
	t.Helper()
	if record != "" {
		record += ","
	}
	r := split(t, c, `{`+record+`"id":"r","items":[{`+item+`}]}`)
	if n := len(r.Request.Drafts); n != 1 {
		t.Fatalf("%d drafts", n)
	}
	return r.Request.Drafts[0].Ticket
}

func TestNotesAreReadFromAllOfTheirPaths(t *testing.T) {
	tk := only(t, Config{}, `"notes":"birthday","note":["VIP","birthday"]`,
		`"name":"Curry","comment":"mild","note":" no peanuts ","specialInstructions":["allergy: sesame","no peanuts"]`)
	got, want := strings.Join(tk.Lines[0].Notes, "/"), "no peanuts/allergy: sesame/mild"
	assert.Equal(t, got, want, "the item's notes are")
	got, want = strings.Join(tk.Notes, "/"), "VIP/birthday"
	assert.Equal(t, got, want, "the record's notes are")
}

func TestAPathThroughAListIsThatOfTheFirstElementThatHasIt(t *testing.T) {
	for path, want := range map[string]string{
		"stops.at.door": "back", "stops.1.at.door": "back", "stops.2.at.door": "side",
		"stops.0.at.door": "", "stops.at": "x", "stops.door": "",
	} {
		tk := only(t, Config{Fields: map[string][]string{"table": {path}}},
			`"stops":[{"at":"x"},[{"at":{"door":"back"}}],{"at":{"door":"side"}}]`, `"name":"Pie"`)
		assert.Equal(t, tk.Table, want, path)
	}
}

// shown is a ticket's value of each field.
var shown = map[string]func(ticket.Ticket) any{
	"name":        func(t ticket.Ticket) any { return t.Lines[0].Name },
	"quantity":    func(t ticket.Ticket) any { return t.Lines[0].Quantity },
	"refire":      func(t ticket.Ticket) any { return t.Lines[0].Refire },
	"note":        func(t ticket.Ticket) any { return strings.Join(t.Lines[0].Notes, "/") },
	"seat":        func(t ticket.Ticket) any { return t.Lines[0].Seat },
	"course":      func(t ticket.Ticket) any { return t.Lines[0].Course },
	"hold":        func(t ticket.Ticket) any { return t.Lines[0].Hold },
	"number":      func(t ticket.Ticket) any { return t.Number },
	"table":       func(t ticket.Ticket) any { return t.Table },
	"server":      func(t ticket.Ticket) any { return t.Server },
	"employee":    func(t ticket.Ticket) any { return t.Server },
	"type":        func(t ticket.Ticket) any { return t.Type },
	"guests":      func(t ticket.Ticket) any { return t.Guests },
	"record_note": func(t ticket.Ticket) any { return strings.Join(t.Notes, "/") },
	"rush":        func(t ticket.Ticket) any { return t.Rush },
	"station":     func(t ticket.Ticket) any { return t.Destination },
	"customer":    func(t ticket.Ticket) any { return t.Customer },
	"promised":    func(t ticket.Ticket) any { return t.Promised },
	"check":       func(t ticket.Ticket) any { return t.Check },
}

func TestEveryDefaultPathIsReadAndTheFirstWins(t *testing.T) {
	for id, f := range fields {
		switch fieldID(id) {
		case fieldSort, fieldChildren, fieldRemoved, fieldAllergens, fieldVoid:
			continue // have their own tests
		}
		for i, p := range f.paths {
			value, want, other := `" first "`, "first", `"later"`
			switch fieldID(id) {
			case fieldQuantity:
				value, want, other = `3`, "3", `4`
			case fieldRefire, fieldRush, fieldHold:
				value, want, other = `true`, "true", `false`
			case fieldEmployee:
				value, want, other = `"id-wxyz"`, "wxyz", `"id-abcd"`
			case fieldNote, fieldRecordNote: // all paths are read, see above; here the last must not hide the first
				other = value
			}
			var members []string
			there := map[string]bool{}
			add := func(path, value string) { // no key twice
				if key, _, _ := strings.Cut(path, "."); !there[key] {
					there[key] = true
					members = append(members, nest(path, value))
				}
			}
			add(p, value)
			for _, later := range f.paths[i+1:] {
				add(later, other)
			}
			for _, earlier := range f.paths[:i] { // there, and no good
				add(earlier, []string{`null`, `""`, `" \t\u200b"`, `{}`, `[]`}[i%5])
			}
			got := strings.Join(members, ",")
			record, item := "", got
			if id >= int(fieldNumber) { // the fields of a record
				record, item = got, `"name":"x"`
			}
			assert.Equal(t, fmt.Sprint(shown[f.name](only(t, Config{}, record, item))), want, f.name, p, got)
		}
	}
}

func TestThePathsOfAFieldCanBeConfigured(t *testing.T) {
	c := Config{Fields: map[string][]string{"name": {"nombre", "names.1"}, "note": {},
		"table": {"tables.-1", " mesa.id "}}}
	tk := only(t, c, `"tables":[1],"mesa":{"id":7},"checkName":"B10"`, `"name":"Pie","names":["a","Torta"],"note":"x"`)
	assert.True(t, tk.Table == "7" && tk.Lines[0].Name == "Torta" && slices.Equal(tk.Lines[0].Notes, []string{"note: x",
		"name: Pie", "names: a"}) && slices.Equal(tk.Notes, []string{"tables: 1", "checkName: B10"}),
		"what no path reads any more prints as it came", tk)
}

func TestTheConfigurationFileListsEachFieldWithItsUsualPlaces(t *testing.T) {
	file, err := os.ReadFile("../../deploy/ticketrail.yaml")
	assert.NoError(t, err)
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(file), "#", "")), " ")
	for _, f := range fields {
		assert.Contains(t, text, f.name+": ["+strings.Join(f.paths, ", ")+"]")
	}
}

func TestTheFieldsOfTheRemainderRuleCanBeConfigured(t *testing.T) {
	conf := Config{Fields: map[string][]string{
		"void": {"flow.step"}, "children": {"parts"}, "removed": {"gone"}, "allergens": {"diet.contains"}}}
	for _, c := range [][2]string{
		{`"flow":{"step":"CANCELLED"}`, "-Pie"}, {`"flow":{"step":true}`, "-Pie"},
		{`"flow":{"step":"2026-02-06T21:49:48Z"}`, "-Pie"}, {`"flow":{"step":"COOK"}`, "Pie flow.step: COOK"},
		{`"isVoid":true`, "-Pie"}, {`"parts":[{"name":"Crust"}],"childItems":[{"name":"Peas"}]`, "Pie >Peas >Crust"},
		{`"parts":["Crust"]`, "Pie parts: Crust"},
		{`"sides":[{"name":"Ale","childItems":["ice",{"name":"lime"}]},{"name":"Tea","childItems":"milk"}]`,
			"Pie " + `>sides: >>Ale >>>"ice" >>>lime >>Tea childItems: milk`},
		{`"gone":true`, "[gone] Pie"}, {`"gone":"86"`, "[86] Pie"}, {`"gone":false`, "Pie"},
		{`"isRemoved":true`, "[isRemoved] Pie"},
		{`"diet":{"contains":["nuts",{"name":"soy"}]}`, "Pie contains: nuts, soy"},
		{`"a":1,"b":2,"c":3,"d":4,"diet":{"contains":"nuts"}`, "Pie contains: nuts a: 1 b: 2 c: 3 d: 4"},
	} {
		item, want := c[0], c[1]
		got := ""
		for _, l := range only(t, conf, "", `"name":"Pie",`+item).Lines {
			if l.Void {
				got += "-"
			}
			got += strings.Repeat(">", l.Depth) + strings.Join(append([]string{l.Name}, l.Notes...), " ") + " "
		}
		got = strings.TrimSpace(got)
		assert.Equal(t, got, want, item)
	}
}

func TestListsInUnusualPlacesAreOnTheTicketOnce(t *testing.T) {
	c := Config{Fields: map[string][]string{"children": {"parts"}}}
	for _, body := range []string{
		`"records":[{"id":"r","items":[{"name":"Pie"}],"childItems":[{"name":"Peas"}]}]`,
		`"records":[{"id":"r","items":[{"sku":"x","parts":[{"name":"Peas"}]}]}]`,
		`"records":[{"id":"r","items":[{"name":"Pie","items":[{"name":"Peas"}]}]}]`,
		`"records":[{"id":"r","items":[{"name":"Pie","Child_Items":[{"name":"Peas"}]}]}]`,
		`"items":[{"name":"Peas"}],"records":[{"id":"r","items":[{"name":"Pie"}]}]`,
	} {
		r := compile(t, c).Split(parse(t, "{"+body+"}"), harbour, "T1", noon, nil)
		paper := paperOf(r.Request.Drafts)
		assert.Equal(t, strings.Count(paper, "Peas"), 1, body, paper)
	}
}

func TestTheTimeThatIsPromisedIsReadInAnyForm(t *testing.T) {
	for in, want := range map[string]string{
		`"2026-02-06T19:30:00+11:00"`: "2026-02-06T19:30:00+11:00", `" 19:30 "`: "19:30",
		`1770366600`: "2026-02-06T08:30:00Z", `1770366600000`: "2026-02-06T08:30:00Z", `20`: "20", `true`: "", `""`: "",
	} {
		assert.Equal(t, only(t, Config{}, `"readyBy":`+in, `"name":"Pie"`).Promised, want, in)
	}
}

func TestAValueOfAnotherTypeIsNotTheField(t *testing.T) {
	for _, c := range []struct{ field, members, want string }{
		{"name", `"name":86,"title":"Pie"`, "Pie"}, {"name", `"NAME":"Ale","name":"Pie"`, "Pie"},
		{"name", `"NAME":"Pie","name":86`, "Pie"}, {"name", `"name":"\u0000\u001b","label":"Pie"`, "Pie"},
		{"name", `"name":"  Pie\n"`, "Pie"}, {"name", `"name":"86"`, "86"}, {"table", `"table":12`, "12"},
		{"table", `"table":12.0`, "12"}, {"table", `"table":"12.0"`, "12.0"},
		{"table", `"table":{"name":"T4"}`, "T4"}, {"table", `"table":{"id":1}`, ""}, {"table", `"table":true`, ""},
		{"number", `"checkNumber":18`, "18"}, {"number", `"checkNumber":"0018"`, "0018"},
		{"number", `"orderNumber":0`, "0"}, {"type", `"orderType":3,"type":"Dine In"`, "Dine In"},
		{"server", `"server":{"id":1},"employeeId":"abcdefgh"`, "efgh"}, {"server", `"employeeId":"abc"`, "abc"},
		{"server", `"employeeId":123456`, "3456"}, {"guests", `"covers":2.0`, "2"},
		{"record_note", `"notes":["a"," ",null,"b",7,{"c":1}]`, `a/b/7/{"c":1}`},
		{"hold", `"fireStatus":"ON_HOLD"`, "true"}, {"hold", `"hold":false,"isHeld":true`, "false"},
		{"hold", `"fireStatus":"FIRED"`, "false"}, {"rush", `"priority":"URGENT"`, "true"},
		{"rush", `"isRush":" yes "`, "true"}, {"rush", `"rush":"no","isPriority":true`, "true"},
		{"rush", `"isRush":false,"priority":"high"`, "false"}, {"rush", `"priority":1`, "false"},
		{"rush", `"priority":"1"`, "false"}, {"rush", `"priority":"NORMAL"`, "false"},
		{"record_note", `"note":[{"command":"TEXT"}],"notes":"b"`, `{"command":"TEXT"}/b`},
	} {
		record, item := c.members, `"name":"x"`
		if c.field == "name" {
			record, item = "", c.members
		}
		assert.Equal(t, fmt.Sprint(shown[c.field](only(t, Config{}, record, item))), c.want, c.field, c.members)
	}
}

func TestAnItemWithoutANamePrintsAsItsJSON(t *testing.T) {
	tk := only(t, Config{}, "", `"sku":"<7>","quantity":2.50,"childItems":[{},`+
		`{"id":"0B7C1D7E-0000-4000-8000-00000000000F","name":"Ranch"},{"id":"12","name":"Dip","quantity":0.50},`+
		`{"name":7,"quantity":" two ","childItems":[]}]`)
	want := []ticket.Line{
		{Quantity: "2.5", Name: `{"sku":"<7>","quantity":2.50}`, Raw: true, NoRoute: true},
		{Depth: 1, Quantity: "1", Name: `{}`, Raw: true, NoRoute: true},
		{Depth: 1, ID: "0b7c1d7e-0000-4000-8000-00000000000f", Quantity: "1", Name: "Ranch", NoRoute: true},
		{Depth: 1, Quantity: "0.5", Name: "Dip", NoRoute: true},
		{Depth: 1, Quantity: "1", Name: `{"name":7,"quantity":" two "}`, Raw: true, NoRoute: true},
	}
	d := cmp.Diff(want, tk.Lines)
	assert.True(t, d == "" && tk.Raw == "", "the ticket's JSON is", tk.Raw, d)
}

func TestQuantitiesPrintAsPeopleWriteThem(t *testing.T) {
	for _, c := range [][2]string{
		{`1e31`, "1" + strings.Repeat("0", 31)}, {`1e-31`, "0." + strings.Repeat("0", 30) + "1"},
		{`"` + strings.Repeat("9", 100) + `"`, strings.Repeat("9", 100)},
		{`0.` + strings.Repeat("0", 40) + `1`, "0." + strings.Repeat("0", 40) + "1"}, {`1`, "1"}, {`1.0`, "1"},
		{`1e3`, "1000"}, {`1E+3`, "1000"}, {`25e-1`, "2.5"}, {`25e-2`, "0.25"}, {`-2`, "2"}, {`-0.50`, "0.5"},
		{`0`, "0"}, {`-0`, "0"}, {`0.000`, "0"}, {`0e5`, "0"}, {`1200e-2`, "12"},
		{`123456789012345678901234567890`, "123456789012345678901234567890"}, {`1e999999999`, "1e999999999"},
		{`1e40`, "1e40"}, {`0.0052e3`, "5.2"}, {`"1.50E40"`, "1.50E40"}, {`-12.5e999999999`, "12.5e999999999"},
		{`1e-999999999`, "1e-999999999"}, {`0.01e-9223372036854775808`, "0.01e-9223372036854775808"},
		{`100e9223372036854775807`, "100e9223372036854775807"},
		{`1e99999999999999999999999`, "1e99999999999999999999999"}, {`0e99999999999999999999999`, "0"}, {`"2"`, "2"},
		{`" 2.50 "`, "2.5"}, {`"+3"`, "3"}, {`"-3"`, "3"}, {`"−3"`, "3"}, {`"–3"`, "3"}, {`"‐3"`, "3"}, {`"‑3"`, "3"},
		{`"–"`, "1 quantity: –"}, {`"+-3"`, "1 quantity: +-3"}, {`".5"`, "0.5"}, {`"5."`, "5"}, {`"007"`, "7"},
		{`null`, "1"}, {`""`, "1"}, {`"two"`, "1 quantity: two"}, {`"1e"`, "1 quantity: 1e"},
		{`"1e+"`, "1 quantity: 1e+"}, {`"1e+-2"`, "1 quantity: 1e+-2"}, {`"Inf"`, "1 quantity: Inf"},
		{`"1_000"`, "1 quantity: 1_000"}, {`"."`, "1 quantity: ."}, {`"1.2.3"`, "1 quantity: 1.2.3"},
		{`true`, "1 quantity: true"}, {`{"value":2}`, "2"}, {`{"units":2}`, "1 quantity.units: 2"}, {`[]`, "1"},
		{`"two","qty":2`, "2 quantity: two"}, {`1e32`, "1e32"}, {`1e-33`, "1e-33"}, {`1e-34`, "1e-34"},
		{`0.3000000000000000444089209850062616169452`, "0.3000000000000000444089209850062616169452"},
	} {
		in, want := c[0], c[1]
		l := only(t, Config{}, "", `"name":"x","quantity":`+in).Lines[0]
		d, ok := parseDecimal(l.Quantity)
		assert.True(t, ok && d.String() == l.Quantity, in, l.Quantity, d)
		got := strings.TrimSpace(l.Quantity + " " + strings.Join(l.Notes, "/"))
		assert.Equal(t, got, want, in)
		neg := strings.TrimLeft(in, `"-−–‐‑`) != strings.TrimLeft(in, `"`) && want != "0" && !strings.Contains(want,
			"quantity")
		assert.Equal(t, l.Void, neg, in)
	}
}

// voidSpellings is every spelling of a cancellation.
var voidSpellings = []string{
	`"isVoid":true`, `"void":true`, `"voided":true`, `"isVoid":1`, `"void":1`, `"voided":1`, `"isVoid":"true"`,
	`"void":"true"`, `"voided":"true"`,
	`"isVoid":1.0`, `"isVoid":" True "`, `"isVoid":"1"`, `"isVoid":false,"void":false,"voided":"TRUE"`,
	`"status":"VOID"`, `"status":"VOIDED"`, `"status":"CANCELED"`, `"status":"CANCELLED"`,
	`"kdsStatus":"VOID"`, `"kdsStatus":"VOIDED"`, `"kdsStatus":"CANCELED"`, `"kdsStatus":"CANCELLED"`,
	`"status":"void"`, `"kdsStatus":"Cancelled"`, `"status":" Voided "`, `"status":"PENDING","kdsStatus":"void"`,
	`"quantity":-1`, `"qty":-0.5`, `"count":-2`, `"quantity":"-1"`, `"quantity":-1e999999999`,
	`"quantity":-1e-999999999999999999999`,
	`"quantity":-1,"isVoid":false`, `"quantity":"- nothing","qty":-1`,
	`"isVoid":"1.0"`, `"void":"1e0"`, `"voided":" 01 "`, `"isVoid":"YES"`, `"void":"y"`, `"isVoid":{},"void":"Y"`,
	`"isvoid":true`, `"Status":"VOID"`, `"isVoided":true`, `"is_voided":1`, `"cancelled":true`, `"isCanceled":"yes"`,
	`"state":"CANCELLED"`, `"action":"VOID"`, `"type":"CANCEL"`, `"operation":"deleted"`, `"voidedAt":"2026-02-06"`,
	`"voidedAt":1`, `"voidedAt":true`, `"deletedAt":1770000000`, `"voidTime":"0001"`, `"voidedAt":{"at":0}`,
	`"voidTime":"0000"`, `"voidTime":"000000.000"`,
	`"cancelledAt":"1970-01-01T00:03:12Z"`, `"cancelledAt":"1970-01-01"`, `"voidedAt":"0010-01-01T00:00:00Z"`,
	"\"quantity\":\"\u22122\"", "\"qty\":\" \u20130.5\"", "\"count\":\"\u20101\"", "\"quantity\":\"\u20111\"",
}

// nonVoids only look like cancellations.
var nonVoids = []string{
	`"isVoid":false`, `"isVoid":0`, `"isVoid":"false"`, `"isVoid":null`, `"isVoid":"no"`, `"status":"PENDING"`,
	`"status":"AVOID"`, `"kdsStatus":"PRINTED"`,
	`"isVoid":{"value":true}`, `"void":"N"`, `"voided":"0.0"`, `"isVoid":2`, `"void":"maybe"`,
	"\"quantity\":\"\u2013\"",
	`"status":true`, `"quantity":0`, `"quantity":-0`, `"quantity":-0.0`, `"quantity":2,"qty":-1`,
	`"note":"VOID"`, `"isVoided":false`, `"voidedAt":null`, `"cancelledBy":"x"`, `"state":"CANCELLABLE"`,
}

// zeroTimes are the values of a program that has no time.
var zeroTimes = []string{
	`0`, `0.0`, `"0"`, `""`, `" "`, `null`, `"0000-00-00 00:00:00"`, `"0000-00-00"`, `"0001-01-01T00:00:00Z"`,
	`"0001-01-01"`, `"0001-01-01T00:00:00.0000000+01:00"`, `-62135596800`, `-62135596800000`,
	`"1970-01-01T00:00:00Z"`, `"1970-01-01T00:00:00.000+00:00"`,
}

func TestAVoidIsNeverTakenForAnOrder(t *testing.T) {
	config := Config{Routes: []Route{{When: `item.name == "Pie"`, To: []string{"a", "b"}, Continue: true},
		{When: `item.quantity > 5`, To: []string{"b"}}}}
	const rest = `"name":"Pie","childItems":[{"name":"Peas","isVoid":false,"childItems":[{"name":"Mint",` +
		`"status":"PENDING"}]}]`
	for _, v := range voidSpellings {
		for where, record := range map[string]string{
			"item":   `{"id":"r","items":[{` + v + `,` + rest + `},{` + v + `}]}`,
			"record": `{"id":"r",` + v + `,"items":[{` + rest + `},{"isVoid":false,` + rest + `}]}`,
			"child": `{"id":"r","items":[{"name":"Pie","isVoid":true,"childItems":[{"name":"x","childItems":[{` + v +
				`,` + rest + `}]}]}]}`,
			"bare": `{"id":"r",` + v + `,"items":[]}`,
		} {
			r := split(t, config, record)
			for _, d := range r.Request.Drafts {
				for _, l := range d.Ticket.Lines {
					assert.True(t, l.Void && !strings.HasPrefix(l.Quantity, "-"), v, where, l, d.Station)
				}
				assert.Equal(t, d.Ticket.Void, where == "record" || where == "bare", v, where)
			}
		}
	}
	got := lines(split(t, config, `{"id":"r","items":[{"name":"Pie","childItems":[{"name":"Peas","quantity":-3},`+
		`{"name":"Gravy"}]},{"name":"Ale"}]}`))
	assert.Equal(t, got, "a: 1Pie >3Peas- >1Gravy | b: 1Pie >3Peas- >1Gravy | fallback: 1Ale?", "a void modifier")
}

func TestAnOrderIsNotTakenForAVoid(t *testing.T) {
	for _, o := range nonVoids {
		r := split(t, Config{}, `{"id":"r",`+o+`,"items":[{"name":"Pie",`+o+`,"childItems":[{"name":"Peas",`+o+`}]}]}`)
		tk := r.Request.Drafts[0].Ticket
		assert.True(t, !tk.Void && !tk.Lines[0].Void && !tk.Lines[1].Void, o, lines(r))
	}
}

func TestAZeroTimeIsNeitherAVoidNorAQuestion(t *testing.T) {
	for _, zero := range zeroTimes {
		for _, key := range append([]string{"stornoAt"}, voidTimes...) {
			o := fmt.Sprintf("%q:%s", key, zero)
			r := split(t, Config{Fields: map[string][]string{"void": {"stornoAt"}}},
				`{"id":"r",`+o+`,"items":[{"name":"Pie",`+o+`,"childItems":[{"name":"Peas",`+o+`}]}]}`)
			tk := r.Request.Drafts[0].Ticket
			assert.True(t, !tk.Void && tk.MayCancel == "" && len(tk.Notes) == 0, o, tk.Void, tk.MayCancel, tk.Notes)
			for _, l := range tk.Lines {
				assert.True(t, !l.Void && l.MayCancel == "" && len(l.Notes) == 0, o, l)
			}
		}
	}
}

func TestARefireHoldsForEverythingBelow(t *testing.T) {
	for _, c := range []struct{ record, want string }{
		{`{"id":"r","isRefire":true,"items":[{"name":"a","isRefire":false,"childItems":[{"name":"b"}]}]}`,
			"fallback: 1a+? >1b+?"},
		{`{"id":"r","items":[{"name":"a","refire":"true","childItems":[{"name":"b"}]},{"name":"c"}]}`,
			"fallback: 1a+? >1b+? 1c?"},
		{`{"id":"r","items":[{"name":"a","childItems":[{"name":"b","isRefire":1}]}]}`, "fallback: 1a? >1b+?"},
		{`{"id":"r","items":[{"name":"a","isRefire":false,"refire":true}]}`, "fallback: 1a?"},
	} {
		assert.Equal(t, lines(split(t, Config{}, c.record)), c.want, c.record)
	}
}
