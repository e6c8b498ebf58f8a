package plan

import (
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// init makes rapid draw the same values on every machine. -rapid.seed=0 draws other ones at each run.
func init() { flag.Set("rapid.seed", "1") }

// expressions are those that routes may have; some fail on many items.
var expressions = []string{
	"", "false", "true", `item.courseName == "Drinks"`, `item.quantity > 1`, `record.guests > 3`, `not item.isVoid`,
	`item.a.b.c == 1`,
	`any(record.items, .courseName == item.courseName)`, `lower(item.name) contains "a"`, `item.name`,
	`venue.name == "x"`, `len(item.childItems) > 0`,
}

func drawConfig(t *rapid.T) Config {
	station := rapid.SampledFrom([]string{"grill", "bar", "pass", "fry"})
	route := rapid.Custom(func(t *rapid.T) Route {
		return Route{
			Venue:    rapid.SampledFrom([]string{"", "", "", "Harbour Grill", "elsewhere"}).Draw(t, "venue"),
			When:     rapid.SampledFrom(expressions).Draw(t, "when"),
			To:       rapid.SliceOfN(station, 1, 4).Draw(t, "to"),
			Continue: rapid.Bool().Draw(t, "continue"),
		}
	})
	return Config{Fallback: station.Draw(t, "fallback"), Routes: rapid.SliceOfN(route, 0, 5).Draw(t, "routes")}
}

// A drawnRecord is a record and the texts that must come out.
type drawnRecord struct {
	body  string
	items []drawnItem // in the order of the ticket
}

// A drawnItem is an item: the lines of itself and of all below it, as lineOf has them.
type drawnItem struct {
	key   int // that it is sorted by
	lines []string
}

// drawRecord makes a record. Each item has a text of its own: its name, or of one without a name its sku.
func drawRecord(t *rapid.T, id string) (r drawnRecord) {
	n := 0
	var drawItem func(depth int, void bool) (body string, lines []string)
	drawItem = func(depth int, void bool) (string, []string) {
		n++
		text := fmt.Sprintf(`"sku":%d`, n)
		members := []string{text}
		if rapid.IntRange(0, 9).Draw(t, "named") > 0 {
			text = fmt.Sprintf("i%d a", n)
			path := rapid.SampledFrom(fields[fieldName].paths[:7]).Draw(t, "path")
			members = append(members, fmt.Sprintf(`%q:%q`, path, text))
		}
		if rapid.IntRange(0, 5).Draw(t, "void") == 0 {
			void = true
			members = append(members, rapid.SampledFrom(voidSpellings).Draw(t, "spelling"))
		} else {
			members = append(members, rapid.SampledFrom(append(nonVoids, `"quantity":3`, `"courseName":"Drinks"`)).
				Draw(t, "member"))
		}

		lines := []string{fmt.Sprintf("%d %v %s", depth, void, text)}
		if kids := rapid.IntRange(-1, 3).Draw(t, "kids"); kids >= 0 && depth < 4 {
			members = append(members, `"childItems":[`+drawList(kids, func() string {
				child, below := drawItem(depth+1, void)
				lines = append(lines, below...)
				return child
			})+`]`)
		}
		return "{" + strings.Join(members, ",") + "}", lines
	}

	header := rapid.SampledFrom([]string{`"a":1`, `"checkName":"B10"`, `"guests":4`, `"status":"VOID"`,
		`"isRefire":true`}).Draw(t, "header")
	key := 0 // an item without one stays behind the item before
	items := drawList(rapid.IntRange(0, 5).Draw(t, "items"), func() string {
		body, lines := drawItem(0, header == `"status":"VOID"`)
		if sorted := rapid.IntRange(0, 2).Draw(t, "key"); sorted > 0 {
			key, body = sorted, fmt.Sprintf(`{"categoryPriority":%d,`, sorted)+body[1:]
		}
		r.items = append(r.items, drawnItem{key, lines})
		return body
	})
	slices.SortStableFunc(r.items, func(a, b drawnItem) int { return a.key - b.key })
	r.body = fmt.Sprintf(`{"id":%q,%s,"items":[%s]}`, id, header, items)
	return r
}

func drawList(n int, draw func() string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = draw()
	}
	return strings.Join(out, ",")
}

func TestEveryLineThatWasOrderedComesOutSomewhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := Compile(drawConfig(t))
		assert.NoError(t, err)
		var records []drawnRecord
		body := drawList(rapid.IntRange(1, 3).Draw(t, "records"), func() string {
			records = append(records, drawRecord(t, fmt.Sprint("r", len(records))))
			return records[len(records)-1].body
		})
		req, err := contract.Open([]byte(`{"records":[`+body+`]}`), contract.Lenient)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}

		all := p.Split(req, harbour, "T1", noon, nil)
		for i, r := range records {
			stations, out := map[string]bool{}, map[string]bool{}
			for _, d := range all.Request.Drafts {
				if d.Ticket.Record != fmt.Sprint("r", i) {
					continue
				}
				if stations[d.Station] {
					t.Fatalf("%s gets two tickets of record %d: %s", d.Station, i, lines(all))
				}
				stations[d.Station] = true
				checkLines(t, d.Ticket.Lines, r.items, out)
			}
			if len(stations) == 0 || len(out) != len(r.items) {
				t.Fatalf("%d tickets have %d of the items of %s: %s", len(stations), len(out), r.body, lines(all))
			}
		}
	})
}

// checkLines checks that a ticket has only whole items, each once, in their order and those without a route last. It
// marks them in out.
func checkLines(t *rapid.T, all []ticket.Line, items []drawnItem, out map[string]bool) {
	t.Helper()
	routed := 0
	for routed < len(all) && !all[routed].NoRoute {
		routed++
	}
	for _, part := range [][]ticket.Line{all[:routed], all[routed:]} {
		next, noRoute := 0, len(part) > 0 && part[0].NoRoute
		for len(part) > 0 {
			i := slices.IndexFunc(items[next:], func(it drawnItem) bool { return it.lines[0] == lineOf(part[0]) })
			if i < 0 {
				t.Fatalf("%q is out of order, or comes out twice; want the order %v", lineOf(part[0]), items)
			}
			next += i + 1
			for _, want := range items[next-1].lines {
				if len(part) == 0 || lineOf(part[0]) != want || part[0].NoRoute != noRoute {
					t.Fatalf("after %q comes %+v, want %q", items[next-1].lines[0], part, want)
				}
				part = part[1:]
			}
			out[items[next-1].lines[0]] = true
		}
	}
}

var skuPattern = regexp.MustCompile(`"sku":\d+`)

// lineOf is a line as a drawnItem has it.
func lineOf(l ticket.Line) string {
	text := l.Name
	if l.Raw {
		text = skuPattern.FindString(text)
	}
	return fmt.Sprintf("%d %v %s", l.Depth, l.Void, text)
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func FuzzSplit(f *testing.F) {
	for _, v := range voidSpellings {
		f.Add(`{"records":[{"id":"r","items":[{"name":"Pie",` + v +
			`,"childItems":[{"name":"Peas"}]},{"name":"Ale"}]},{"items":[],` + v + `}]}`)
	}
	for _, item := range oddItems {
		f.Add(`{"records":[{"id":"r","items":[` + item + `]}]}`)
	}
	plans := []*Plan{
		compile(f, Config{}),
		compile(f, Config{Routes: []Route{{When: `item.courseName == "Drinks" or item.quantity > 1`,
			To: []string{"bar", "fallback"}, Continue: true}, {When: `record.guests > 1`, To: []string{"grill"}}}}),
		compile(f, Config{Routes: []Route{{When: `item.childItems[0].name == "Peas" and item.menu.x != 1`,
			To: []string{"bar"}, Continue: true}, {When: `len(record.items) > 1 and item["name"] == record.checkName`,
			To: []string{"grill"}}}}),
		compile(f, Config{Routes: []Route{{When: `lower(item.name) contains "a"`, To: []string{"bar"}},
			{When: `any(record.items, .name == item.name)`, To: []string{"grill"}},
			{Venue: "elsewhere", To: []string{"x"}}}}),
	}
	f.Fuzz(func(t *testing.T, body string) {
		req, err := contract.Open([]byte(body), contract.Lenient)
		if err != nil {
			return
		}
		everyTextComesOut(t, plans[0], req)
		for _, p := range plans {
			r := p.Split(req, harbour, "T1", noon, nil)
			if len(r.Request.Drafts) < len(req.Records) {
				t.Fatalf("%d records make %d tickets", len(req.Records), len(r.Request.Drafts))
			}
			for _, d := range r.Request.Drafts {
				checkDraft(t, d)
			}

			traced := p.Traced().Split(req, harbour, "T1", noon, nil)
			first := req.Records[0]
			if traced.Trace == "" && len(first.Items) > 0 && first.Unreadable == "" || r.Trace != "" ||
				lines(traced) != lines(r) {
				t.Fatalf("a trace changes the plan: %s, without %s", lines(traced), lines(r))
			}
			said := traced.Trace
			for _, l := range p.Leaves(req) {
				said += l.Example
			}
			for _, c := range said {
				if c < ' ' && c != '\n' || c == 0x7f || c >= 0x80 && c < 0xa0 {
					t.Fatalf("control character %q in a trace or an example", c)
				}
			}
		}
	})
}

// oddItems are items whose keys and values are easily lost.
var oddItems = []string{
	`{"categoryPriority":2},{"name":"x","quantity":"1e99999999999999999999"},{"childItems":null}`,
	"{\"name\":\"x\",\"a\x7fb\":[{\"name\":\"y\"}],\"c\x7fd\":\"text\"}",
	// Keys that are equal without their case and punctuation.
	"{\"nam\xff\xffe\":\"Pie\",\"void\":true,\"chi]},{ldItems\":[{\"name\":\"Peas\"}]}",
	`{"name":"Pie","Name":"Ale","NA-ME":"Tea","childItems":[{"name":"Peas"}],"child_items":[{"name":"Mint"}]}`,
	`{"name":"Pie","child-items":[{"name":"Mint"},"text"],"Child.Items":"text"}`,
	`{"_name":"Pie","na_me":"Ale","items":[{"_name":"Tea"}]}`,
	// Keys that are equal once bytes that are no UTF-8 are replaced.
	"{\"name\":\"Pie\",\"x\xff\":\"a\",\"x\xfe\":\"b\"}", "{\"name\":\"Pie\",\"x\xff\":[{\"name\":\"a\xff\"}]}",
	// Keys that have nothing to print.
	`{"name":"Pie","":"a"," ":"b","\u0000":[{"name":"c"}]}`,
	`{"name":"Pie","\u001b[31m":"d","\u202e":{"\u0085":"e"},".":"f"}`,
	// Numbers.
	`{"name":"x","quantity":1e999,"sortOrder":-1e999,"seat":1e-999,"size":-0,"a":1E400}`,
	`{"name":"x","quantity":"\u22121e999","sortOrder":"x","isVoid":1e0,"seat":"00"}`,
	// Cancellations in each other, and lists under unknown keys below them.
	`{"name":"a","void":true,"childItems":[{"name":"b","void":false,"childItems":[{"void":"1"}]}]}`,
	`{"void":true,"parts":[{"name":"b","voided":true,"parts":[{"void":true,"x":["y"]}]}],"isVoid":{"at":"noon"}}`,
	`{"name":"x"}],"status":"VOID","extra":[{"name":"a"},{"title":"b","parts":[{"label":"c"}]}],"more":[{"name":"d"}`,
	`],"voided":true,"number":1,"a b":[{"name":"a","c d":[{"name":"b"}]}],"e":[["f",{"g":"h"}]],"i":{"j":["k"]},"l":[`,
	// Texts that are read in more than one way.
	`{"name":{"name":"a"},"item":{"name":"b","note":"c"},"note":[{"text":"d","id":"e"},["f"],{"g":{"h":"i"}}]}`,
	`{"name":"x","allergens":{"a":["b",{"name":"c","id":"d"}],"_e":"f"},"removed":"no","isRemoved":["g"]}`,
	`{"name":"x","allergens":{"a":"b","c":[{"name":"d"}],"e":[["f"]]},"check-id":"i"}`,
	`{"name":"x"}],"checkOwner":"g","employeeid":"h","I_D":"j","allergies":{"k":"l","m":[{"name":"n"}]},"o":[`,
	`{"name":"x","employee":{"id":"a","name":"b"},"instructions":[{"command":"TEXT","value":"c"}],"voidDate":{"a":1}}`,
}

func checkDraft(t *testing.T, d ticket.Draft) {
	t.Helper()
	tk := d.Ticket
	if d.Station == "" || len(tk.Lines) == 0 && tk.Raw == "" && tk.MayCancel == "" && emptyHeader(tk) {
		t.Fatalf("a ticket without a station or a text: %+v", d)
	}
	for _, l := range tk.Lines {
		if l.Quantity == "" || l.Quantity[0] == '-' || isBlank(l.Name) || tk.Void && !l.Void || tk.Refire && !l.Refire {
			t.Fatalf("a line that must not be: %+v", l)
		}
	}
	if _, err := ticket.Marshal(tk); err != nil {
		t.Fatal(err)
	}
}

// everyTextComesOut checks a request in which each text is replaced by one like no other: all are on a ticket,
// except those below a key that no cook needs.
func everyTextComesOut(t failer, p *Plan, original contract.PrintRequest) {
	t.Helper()
	var texts []string
	req, err := contract.Open([]byte(withOwnTexts(original.Envelope, true, &texts)), contract.Lenient)
	isUnreadable := func(r contract.Record) bool { return r.Unreadable != "" }
	if err != nil || len(texts) > 0xfff || slices.ContainsFunc(req.Records, isUnreadable) {
		return
	}
	paper := paperOf(p.Split(req, harbour, "T1", noon, nil).Request.Drafts)
	if strings.Contains(paper, "more: job") {
		return
	}
	for _, text := range texts {
		if text != "" && !strings.Contains(paper, text) {
			t.Fatalf("%q of %s is not on the paper:\n%s", text, req.Raw, paper)
		}
	}
}

// unprinted are keys of fields that are read and not printed, without punctuation: ids, and when it was cancelled.
var unprinted = append([]string{"id", "checkid", "orderid", "orderguid", "ticketid", "checkowneremployeeid",
	"employeeid", "serverid"}, voidTimes...)

// withOwnTexts is a value as JSON with a text of its own for each text. It appends those that a cook needs.
func withOwnTexts(v contract.Value, needed bool, texts *[]string) string {
	switch v.Kind() {
	case '"':
		text := fmt.Sprintf("Z%03X", len(*texts)) // as short as the end of an employee's id
		if needed {
			*texts = append(*texts, text)
		} else {
			*texts = append(*texts, "")
		}
		return fmt.Sprintf("%q", text)
	case '{', '[':
		var parts []string
		for e := range v.All() {
			key, below := "", needed
			if v.Kind() == '{' {
				name, _ := json.Marshal(e.Key())
				key = string(name) + ":"
				below = needed && noiseKey(e.Key()) == "" && e.Key() != keyInstructions &&
					(e.Kind() != '"' || !slices.Contains(unprinted, folded(e.Key()))) &&
					!slices.Contains(contractFields, e.Key())
			}
			parts = append(parts, key+withOwnTexts(e, below, texts))
		}
		if v.Kind() == '{' {
			return "{" + strings.Join(parts, ",") + "}"
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return v.Text()
}
