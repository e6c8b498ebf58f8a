package plan

import (
	"fmt"
	"html"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

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

// drawBody makes a request in which every item that has a name has its own.
func drawBody(t *rapid.T) string {
	n := 0
	var drawItem func(t *rapid.T, depth int) string
	drawItem = func(t *rapid.T, depth int) string {
		n++
		members := []string{fmt.Sprintf(`"sku":%d`, n)}
		if rapid.IntRange(0, 9).Draw(t, "named") > 0 {
			members = append(members, fmt.Sprintf(`%q:"i%d a"`,
				rapid.SampledFrom(fields[fieldName].paths[:7]).Draw(t, "path"), n))
		}
		if rapid.IntRange(0, 5).Draw(t, "void") == 0 {
			members = append(members, rapid.SampledFrom(voidSpellings).Draw(t, "spelling"))
		} else {
			members = append(members, rapid.SampledFrom(append(nonVoids, `"quantity":3`, `"categoryPriority":2`,
				`"categoryPriority":1`, `"courseName":"Drinks"`)).Draw(t, "member"))
		}
		if depth < 4 {
			if kids := rapid.IntRange(-1, 3).Draw(t, "kids"); kids >= 0 {
				members = append(members, `"childItems":[`+
					drawList(kids, func() string { return drawItem(t, depth+1) })+`]`)
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	record := func() string {
		m := rapid.SampledFrom([]string{`"a":1`, `"checkName":"B10"`, `"guests":4`, `"status":"VOID"`,
			`"isRefire":true`}).Draw(t, "record")
		return `{"id":"r",` + m + `,"items":[` + drawList(rapid.IntRange(0, 5).Draw(t, "items"),
			func() string { return drawItem(t, 0) }) + `]}`
	}
	return `{"records":[` + drawList(rapid.IntRange(1, 3).Draw(t, "records"), record) + `]}`
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
		config, body := drawConfig(t), drawBody(t)
		p, err := Compile(config)
		if err != nil {
			t.Fatal(err)
		}
		req, err := contract.Open([]byte(body), contract.Lenient)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		r := p.Split(req, harbour, "T1", noon, nil)
		keepsThePromises(t, p, req, r)
		// Names are unique here, so this needs nothing of the plan's own making.
		for _, sku := range regexp.MustCompile(`"i\d+ a"`).FindAllString(body, -1) {
			name, found := strings.Trim(sku, `"`), map[string]int{}
			for _, d := range r.Request.Drafts {
				for _, l := range d.Ticket.Lines {
					if l.Name == name {
						found[d.Station]++
					}
				}
			}
			if len(found) == 0 {
				t.Fatalf("%s is on no ticket: %s", name, lines(r))
			}
			for station, n := range found {
				if n > 1 {
					t.Fatalf("%s comes out %d times at %s: %s", name, n, station, lines(r))
				}
			}
		}
	})
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// keepsThePromises checks what holds for every request and all routes, against a walk of
// the request that shares nothing with the plan but how an item is written as JSON.
func keepsThePromises(t failer, p *Plan, req contract.PrintRequest, r Result) {
	t.Helper()
	var want []ticket.Draft // what the records make one by one
	if req.Envelope.Len() > 1 {
		return // what the envelope says is on the first ticket
	}
	for i := range req.Records {
		alone := req
		alone.Records = req.Records[i : i+1]
		drafts := p.Split(alone, harbour, "T1", noon, nil).Request.Drafts
		checkRecord(t, drafts, walk(&req.Records[i]))
		if raw := req.Records[i].Unreadable; raw != "" &&
			(len(drafts) != 1 || drafts[0].Ticket.Raw != raw || drafts[0].Station != p.fallback) {
			t.Fatalf("an unreadable record makes %+v", drafts)
		}
		want = append(want, drafts...)
	}
	got := slices.Clone(r.Request.Drafts)
	for i := range got {
		checkParts(t, got, i)
		// Only this may differ: records that are one order for people know of each other.
		want[i].Ticket.AlsoAt, got[i].Ticket.AlsoAt = nil, nil
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("records change each other:\n%+v\n%+v", got, want)
	}
}

// checkParts checks that a ticket names every other station with lines of its order, and no other.
func checkParts(t failer, all []ticket.Draft, i int) {
	t.Helper()
	d, want := all[i], map[string]bool{}
	for _, o := range all {
		if o.Station != d.Station && len(o.Ticket.Lines) > 0 && len(d.Ticket.Lines) > 0 &&
			o.Ticket.Number == d.Ticket.Number &&
			(d.Ticket.Number != "" || strings.EqualFold(o.Ticket.Table, d.Ticket.Table)) {
			want[o.Station] = true
		}
	}
	got := map[string]bool{}
	for _, p := range d.Ticket.AlsoAt {
		got[p.Station] = true
	}
	if !maps.Equal(got, want) || len(got) != len(d.Ticket.AlsoAt) {
		t.Fatalf("the ticket of %s is also at %v, want %v", d.Station, d.Ticket.AlsoAt, want)
	}
}

func checkRecord(t failer, drafts []ticket.Draft, all walked) {
	t.Helper()
	if len(drafts) == 0 {
		t.Fatalf("a record makes no ticket")
	}
	seen := map[string]bool{}
	got := map[string]int{} // by line: how often it came out
	for _, d := range drafts {
		if d.Station == "" || seen[d.Station] {
			t.Fatalf("station %q twice or blank", d.Station)
		}
		seen[d.Station] = true
		checkTicket(t, d.Ticket, all)
		here := map[string]int{}
		for _, l := range d.Ticket.Lines {
			here[key(l)]++
		}
		for k, n := range here {
			if ordered, ok := all.count[k]; ok && n > ordered {
				t.Fatalf("station %s gets a line %d times that was ordered %d times: %s", d.Station, n, all.count[k], k)
			}
			got[k] += n
		}
	}
	for k, n := range all.count {
		if got[k] < n {
			t.Fatalf("of %d lines %d came out: %s", n, got[k], k)
		}
	}
}

func key(l ticket.Line) string {
	return fmt.Sprintf("%d %v %s", l.Depth, l.Void, unmarked(l.Name))
}

var removalMark = regexp.MustCompile(`^(?:\[[^\]]*\] )+`)

// unmarked is a name without the words ahead of it that say that it is taken away.
func unmarked(name string) string { return removalMark.ReplaceAllString(name, "") }

// walked is what a record must come out as.
type walked struct {
	count map[string]int
	tops  []string // names at depth 0 in the order of the ticket
}

func checkTicket(t failer, tk ticket.Ticket, all walked) {
	t.Helper()
	unrouted, next := false, 0
	for _, l := range tk.Lines {
		if l.Quantity == "" || strings.HasPrefix(l.Quantity, "-") || isBlank(l.Name) || tk.Void && !l.Void ||
			tk.Refire && !l.Refire {
			t.Fatalf("a line that must not be: %+v", l)
		}
		if l.NoRoute != unrouted {
			if unrouted {
				t.Fatalf("a routed line after an unrouted one: %+v", l)
			}
			unrouted, next = true, 0
		}
		if l.Depth > 0 {
			continue
		}
		i := slices.Index(all.tops[next:], unmarked(l.Name))
		if i < 0 && (strings.HasSuffix(l.Name, ":") || l.Raw) {
			continue // the heading of a list beside the items
		}
		if i < 0 {
			t.Fatalf("%q is out of order; want the order %q", l.Name, all.tops)
		}
		next += i + 1
	}
	if len(tk.Lines) == 0 && tk.Raw == "" && emptyHeader(tk) {
		t.Fatalf("an empty ticket")
	}
}

func walk(rec *contract.Record) walked {
	w := walked{count: map[string]int{}}
	void := spelledVoid(rec.Fields, false)
	type top struct {
		name string
		key  float64
	}
	var tops []top
	last := math.Inf(-1)
	for _, item := range rec.Items {
		w.add(item, 0, void)
		for _, k := range []string{"categoryPriority", "sortOrder"} {
			if m := numeric.FindString(strings.TrimSpace(like(item, k).Text())); m != "" {
				last, _ = strconv.ParseFloat(strings.NewReplacer("−", "-", "–", "-", "‐", "-", "‑", "-").Replace(m), 64)
				break
			}
		}
		tops = append(tops, top{nameOf(item), last})
	}
	sort.SliceStable(tops, func(a, b int) bool { return tops[a].key < tops[b].key })
	for _, t := range tops {
		w.tops = append(w.tops, t.name)
	}
	return w
}

func (w walked) add(item contract.Value, depth int, void bool) {
	void = void || spelledVoid(item, depth > 0)
	w.count[key(ticket.Line{Depth: depth, Void: void, Name: nameOf(item)})]++
	for child := range item.Get("childItems").All() {
		w.add(child, depth+1, void)
	}
}

func nameOf(item contract.Value) string {
	for _, keys := range [][]string{{"name"}, {"displayName"}, {"itemName"}, {"menuItemName"}, {"title"}, {"label"},
		{"description"}, {"productname"}, {"modifiername"}, {"optionname"}, {"groupname"},
		{"product", "name"}, {"item", "name"}, {"menuItem", "name"}} {
		v := item
		for _, k := range keys {
			v = like(v, k)
		}
		if s := html.UnescapeString(v.Text()); v.Kind() == '"' && !isBlank(s) {
			return unmarked(strings.TrimSpace(s))
		}
	}
	if children := item.Get("childItems"); children.Kind() == '[' {
		return item.JSON(children)
	}
	return item.JSON()
}

var (
	yes           = regexp.MustCompile(`(?i)^"?\s*(true|yes|y|1)\s*"?$`)
	one           = regexp.MustCompile(`^"?(\+?0*1(\.0*)?([eE][+-]?0+)?)"?$`)
	flagPattern   = regexp.MustCompile(`^(is)?(void(ed)?|cancell?ed|deleted)$|^cancel$`)
	timePattern   = regexp.MustCompile(`^voided(at)$|^void(date|time)$|^(cancell?ed|deleted)(at|date)$`)
	statusPattern = regexp.MustCompile(`^((kds|item|order)?status|state|action|type|operation|changetype)$`)
	wordPattern   = regexp.MustCompile(`^(void(ed)?|cancel(l?ed)?|deleted?)$`)
	removed       = regexp.MustCompile(`^removed?$`)
	numeric       = regexp.MustCompile(`^([+−–‐‑-]?)(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
)

// like is the value under a key, or under the first one that differs only in case and punctuation.
func like(obj contract.Value, key string) contract.Value {
	if v := obj.Get(key); v != nil || obj.Kind() != '{' {
		return v
	}
	for member := range obj.All() {
		if asciiLower(punctuation.ReplaceAllString(member.Key(), "")) == asciiLower(key) {
			return member
		}
	}
	return nil
}

var punctuation = regexp.MustCompile(`[^A-Za-z0-9\x{80}-\x{10FFFF}]`)

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// spelledVoid is promise 7 once more, over the JSON text of the members.
func spelledVoid(obj contract.Value, modifier bool) bool {
	plain := func(s string) string { return asciiLower(punctuation.ReplaceAllString(s, "")) }
	for v := range obj.All() {
		isText, text := v.Kind() == '"', v.Text()
		switch name := plain(v.Key()); {
		case flagPattern.MatchString(name) && (yes.MatchString(text) || one.MatchString(strings.TrimSpace(text))),
			timePattern.MatchString(name) && v.Kind() != 'f' && !isEmpty(v),
			statusPattern.MatchString(name) && isText && wordPattern.MatchString(plain(text)),
			statusPattern.MatchString(name) && isText && !modifier && removed.MatchString(plain(text)):
			return true
		}
	}
	for _, k := range []string{"quantity", "qty", "count"} {
		v := like(obj, k)
		s := strings.TrimSpace(v.Text())
		if v.Kind() != '"' && v.Kind() != '0' {
			continue
		}
		if m := numeric.FindStringSubmatch(s); m != nil {
			return m[1] != "" && m[1] != "+" && strings.ContainsAny(m[2], "123456789")
		}
	}
	return false
}

func FuzzSplit(f *testing.F) {
	for _, v := range voidSpellings {
		f.Add(`{"records":[{"id":"r","items":[{"name":"Pie",` + v +
			`,"childItems":[{"name":"Peas"}]},{"name":"Ale"}]},{"items":[],` + v + `}]}`)
	}
	f.Add(`{"records":[{"id":"r","checkName":" B10","items":[{"categoryPriority":2},{"name":"x","quantity":` +
		`"1e99999999999999999999"},{"childItems":null}]}]}`)
	f.Add(`{"records":[{"id":"r","items":[{"name":"x","a` + "\x7f" + `b":[{"name":"y"}],"c` + "\x7f" + `d":"text"}]}]}`)
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
		for _, p := range plans {
			r := p.Split(req, harbour, "T1", noon, nil)
			keepsThePromises(t, p, req, r)
			traced := p.SplitTraced(req, harbour, "T1", noon, nil)
			if traced.Trace == nil || r.Trace != nil || lines(traced) != lines(r) {
				t.Fatalf("a trace changes the plan: %s, without %s", lines(traced), lines(r))
			}
			said := traced.Trace.String()
			for _, l := range p.Leaves(req) {
				said += l.Example
			}
			for _, c := range said {
				if c < ' ' && c != '\n' || c == 0x7f || c >= 0x80 && c < 0xa0 {
					t.Fatalf("control character %q in a trace or an example", c)
				}
			}
			for _, d := range r.Request.Drafts {
				if _, err := ticket.Marshal(d.Ticket); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
