package contract

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestARequestHasAtMostTenThousandItemsAndSixtyFourLevelsOfThem(t *testing.T) {
	items := func(n int) string { return strings.TrimSuffix(strings.Repeat("{},", n), ",") }
	nested := func(depth int) string {
		return `{"id":"a","items":[` + strings.Repeat(`{"childItems":[`, depth-1) + `{}` +
			strings.Repeat(`]}`, depth-1) + `]}`
	}
	deepest := "records[0].items[0]." + strings.Repeat("childItems[0].", 63) + "childItems"
	for _, c := range []struct{ records, want string }{
		{`{"id":"a","items":[` + items(1000) + `]}`, ""},
		{`{"id":"a","items":[` + items(10_000) + `]}`, ""},
		{`{"id":"a","items":[` + items(10_001) + `]}`, "records[0].items: more than 10000 items in the request"},
		{`{"id":"a","items":[` + items(5000) + `]},{"items":[` + items(5000) + `]}`, ""},
		{
			`{"id":"a","items":[` + items(5000) + `]},{"items":[` + items(5001) + `]}`,
			"records[1].items: more than 10000 items in the request",
		},
		{`{"id":"a","items":[{},{"childItems":[{"childItems":[` + items(9997) + `]}]}]}`, ""},
		{
			`{"id":"a","items":[{},{"childItems":[{"childItems":[` + items(9998) + `]}]}]}`,
			"records[0].items[1].childItems[0].childItems: more than 10000 items in the request",
		},
		{
			`{"id":"a","items":[{"childItems":[` + items(9000) + `]},{"childItems":[` + items(9000) + `]}]}`,
			"records[0].items[1].childItems: more than 10000 items in the request",
		},
		{`{"id":"a","items":[]}` + strings.Repeat(`,{"items":[]}`, 9999), ""},
		{
			`{"id":"a","items":[]}` + strings.Repeat(`,{"items":[]}`, 10_000),
			"records: more than 10000 records in the request",
		},
		{nested(64), ""},
		// However deep the place is, its name is short.
		{nested(65), deepest[:100] + "…" + deepest[len(deepest)-100:] + ": nested deeper than 64"},
		// Other fields of the service may nest deeper.
		{`{"id":"a","items":[],"meta":` + lists(maxNesting-4) + `}`, ""},
	} {
		got := ""
		p, err := Open([]byte(`{"records":[`+c.records+`]}`), Lenient)
		if why, isText := strings.CutPrefix(p.Records[0].Why, "TOO MUCH FOR A TICKET – "); isText {
			got = why
		}
		assert.True(t, err == nil && (len(p.Anomalies) > 0 && p.Anomalies[0] == OverLimit) == (got != ""), c.records,
			err, p.Anomalies)
		assert.Equal(t, got, c.want, c.records)
	}
}

func TestARequestHasAtMost300000Values(t *testing.T) {
	const head, end = `{"records":[{"id":"a","items":[],"x":[`, `]}]}`
	for _, one := range []string{`{}`, `0`, `[]`, `"{[,\"{,"`} {
		values := func(n int) []byte { return []byte(head + strings.Repeat(one+",", n-1) + one + end) }
		if p, err := Open(values(maxValues-6), Lenient); err != nil || p.Records[0].Unreadable != "" {
			t.Errorf("%s: %v, %.100s", one, err, p.Records[0].Unreadable)
		}
		body := values(maxValues - 5)
		p, err := Open(body, Lenient)
		assert.True(t, err == nil && p.ID == "a" && p.Cut && strings.HasSuffix(p.Records[0].Why,
			"body: more than 300000 values"), one, p.ID, p.Cut, err)
	}
}

func TestTwoBodiesThatTheParserDoesNotReadToTheirEndAreTwoRequestsAndARetryIsNone(t *testing.T) {
	values := `[` + strings.Repeat("0,", maxValues) + `0]`
	deep := lists(maxNesting)
	for _, form := range []string{
		`{"_trace":` + values + `,"records":[{"id":"ID","retryCount":0}],"sentAt":"2026-11-20T19:30:00Z"}`,
		`{"retryCount":` + deep + `,"records":[{"id":"ID"}]}`,
		`{"x":` + values + `,"records":[{"id":"ID"}]}`,
		`{"records":[{"x":` + values + `,"id":"ID","retryCount":0}]}`,
		`{"records":[{"retryCount":` + deep + `,"id":"ID"}]}`,
		`{"records":[{"id":"ID"}],"x":` + deep + `}`,
	} {
		body := strings.Replace(form, "ID", "a", 1)
		retry := strings.NewReplacer(`"retryCount":0`, `"retryCount":1`, "2026", "2027").Replace(body)
		first, err := Open([]byte(body), Lenient)
		again, _ := Open([]byte(retry), Lenient)
		other, _ := Open([]byte(strings.Replace(form, "ID", "b", 1)), Lenient)
		odd, _ := Open([]byte(strings.Replace(form, "ID", "\xfe", 1)), Lenient)
		odder, _ := Open([]byte(strings.Replace(form, "ID", "\xff", 1)), Lenient)
		text := first.Records[0].Unreadable
		assert.True(t, err == nil && first.Cut && strings.HasPrefix(text, body[:maxText]), form[:30], err)
		assert.Contains(t, text, fmt.Sprintf(" … and %d bytes more", len(body)-maxText))
		assert.True(t, first.ID == again.ID && first.ID != other.ID, form[:30], first.ID, again.ID, other.ID)
		assert.True(t, odd.ID != odder.ID, "of ids that are not Unicode", form[:30], odd.ID)
	}
}

func TestARetryOfABodyOverALimitOfTheParserIsADuplicate(t *testing.T) {
	values := `[` + strings.Repeat("0,", maxValues) + `0]`
	for _, c := range [][3]string{ // a body, the part by which the retry differs, and that part
		{`{"records": [{"id": "a", "retryCount" : 0, "x":` + values + `}]}`, `" : 0`, `" : 1`},
		{`{"records":[{"id":"a","x":` + values + `}],"sentAt":"2026-11-20T19:30:00.5Z"}`, `00.5Z`, `01.52Z`},
		{`{"sentAt":"2026-11-20T19:30:00.5Z","records":[{"id":"a","x":` + values + `}]}`, `00.5Z`, `01.52Z`},
		{`{"duration":0.5,"records":[{"id":"a","x":` + values + `}]}`, `0.5`, `0.6`},

		// The id is behind the limit.
		{`{"x":` + values + `,"records":[{"id":"a"}],"duration":0.5}`, `0.5`, `0.6`},
		{`{"x":` + values + `,"records":[{"id":"a","updatedAt":"2026-11-20T19:30:00Z"}]}`, `19:30`, `19:31`},
		{`{"x":` + values + `,"records":[{"id":"a"}],"sentAt":"2026-11-20T19:30:00Z"}`, `19:30`, `19:31`},
		{`{"x":` + values + `,"records":[{"id":"a"}],"_trace":"a1"}`, `a1`, `b1`},
		{`{"x":` + values + `,"records":[{"id":"a"}]}`, `"id":"a"}`, `"id":"a","retryCount":1}`},
		{`{"x":` + values + `,"records":[{"id":"a"}],"_trace":{"a":[1]}}`, `[1]`, `[2]`},
		{`{"x":` + values + `,"records":[{"id":"a"}]}`, `"a"}]}`, "\"a\"}]}\n"},
		{`{"x":` + values + `,"records":[{"id":"a","n":1,"n":2}],"duration":0.5}`, `0.5`, `0.6`},
	} {
		retry := strings.Replace(c[0], c[1], c[2], 1)
		assert.True(t, retry != c[0] && isRetry(c[0], retry), c[0][:60], c[1], c[2])
	}
}

// TestTwoContentsOverALimitOfTheParserDiffer: a relay knows a content by nothing else. Of two that are the same to it,
// it answers the second 200 and stores it nowhere.
func TestTwoContentsOverALimitOfTheParserDiffer(t *testing.T) {
	contentOf := func(items, end string) ticket.Digest {
		p, _ := Open([]byte(`{"records":[{"id":"a","items":[`+items+`],"x":`+end+`}]}`), Lenient)
		assert.Equal(t, p.ID, "a", items)
		return p.Content
	}
	deep := lists(maxNesting)
	known := map[ticket.Digest]string{}
	for _, items := range []string{`{"name":"Fish"}`, `{"name":"Pie"}`, `{"note":"Pie"}`, `{"note":["Pie"]}`, `{},{}`,
		`{"n":1}`, `{"n":"1"}`, `{"n":true}`, `{"n":"true"}`, `{"n":null}`, `{"n":[]}`, `{"n":{}}`, `{}`, `{"":""}`,
		`"n",1`, `["n",1]`, `["n"],1`, `{"_note":1}`, `{"at":"2026-11-20T19:30:00Z"}`,
		`{"at":"2026-11-20T19:31:00Z"}`} {
		content := contentOf(items, deep)
		assert.Equal(t, known[content], "", items)
		known[content] = items
	}

	values := `[` + strings.Repeat("0,", maxValues) + `0]`
	assert.True(t, contentOf(`{"n":1}`, values) != contentOf(`{"n":2}`, values))
	assert.True(t, contentOf(``, deep+`,"_note":"2 nuts"`) != contentOf(``, deep+`,"_note":"3 nuts"`))
}

func TestTwoBodiesWithASyntaxErrorBehindALimitAreTwoRequests(t *testing.T) {
	values := `[` + strings.Repeat("0,", maxValues) + `0]`
	known := map[string]string{}

	for _, end := range []string{`}`, ``, `e`, `}e`, `,"Fish":}`, `,"Pie":}`, `,"n":["Fish"}`, `,"n":["Fish"]]`} {
		p, err := Open([]byte(`{"x":`+values+end), Lenient)
		assert.True(t, err == nil && strings.HasSuffix(p.Records[0].Why, "body: more than 300000 values"), end, err)
		assert.Equal(t, known[p.ID], "", end)
		known[p.ID] = "as " + end
	}

	deep := `{"x":` + strings.Repeat("[", maxNesting-2)
	list, _ := Open([]byte(deep+"[]"), Lenient)
	object, _ := Open([]byte(deep+"{]"), Lenient)
	assert.True(t, list.ID != object.ID, "the kind of the value at the limit does not count")
}

func TestTheTreeOfAHostileBodyIsBounded(t *testing.T) {
	const size = 1 << 20
	for _, one := range []string{`[`, `{"a":`, `{},`, `0,`, `"",`, `"\n",`, `{"a":0},`} {
		body := []byte(`{"records":[` + strings.Repeat(one, size/len(one)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Open(body, Lenient)
		runtime.ReadMemStats(&after)
		bytes := after.TotalAlloc - before.TotalAlloc
		assert.True(t, bytes <= 24<<20, "1 MiB of", one, bytes>>20)
		t.Logf("1 MiB of %s takes %d MiB", one, bytes>>20)
	}
}

// isRetry says whether the queue would answer the second body as a duplicate of the first.
func isRetry(first, second string) bool {
	a, _ := Open([]byte(first), Lenient)
	b, _ := Open([]byte(second), Lenient)
	said := func(p PrintRequest) ticket.Digest {
		t := ticket.Ticket{Raw: p.Records[0].Unreadable}
		return t.Said()
	}
	sameBody := a.Content != ticket.Digest{} && a.Content == b.Content
	return a.ID == b.ID && (sameBody || said(a) == said(b))
}

// lists returns n lists, each inside the one before.
func lists(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
