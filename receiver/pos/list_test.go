package pos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
)

func TestTheNextPageIsFoundWhereverItIsNamed(t *testing.T) {
	const ann, bo = `"status":"SUCCESS","count":2,"records":[{"id":"A","name":"Ann"}]`,
		`"status":"SUCCESS","count":2,"records":[{"id":"B","name":"Bo"}]`
	for _, c := range []struct{ at, first, second string }{
		{"", `{` + ann + `,"cursor":"two"}`, `{` + bo + `}`},
		{"", `{` + ann + `,"nextCursor":"two"}`, `{` + bo + `,"nextCursor":""}`},
		{"", `{` + ann + `,"meta":{"cursor":"two"}}`, `{` + bo + `,"meta":{"cursor":" "}}`},
		{"", `{` + ann + `,"pagination":{"next_cursor":"two"}}`, `{` + bo + `,"pagination":[]}`},
		{"", "X-Next-Cursor: two\n{" + ann + `}`, "X-Next-Cursor: \n{" + bo + `,"cursor":"two"}`},
		{"", "X-Next-Cursor: \n{" + ann + `,"nextCursor":"two"}`, `{` + bo + `}`},
		{"", `{` + ann + `,"cursor":2}`, `{` + bo + `,"cursor":false}`},
		// of two cursors, one is the page's own
		{"", `{` + ann + `,"cursor":"one","nextCursor":"two"}`, `{` + bo + `,"cursor":"two","nextCursor":null}`},
		{"", `{` + ann + `,"cursor":"one","nextCursor":"two"}`, `{` + bo + `,"cursor":"two"}`},
		{"", `{"count":2,"records":[{"name":"Ann"},{"name":"Bo"}],"nextCursor":null,"cursor":"1"}`, ""},
		{"page.after", `{` + ann + `,"page":{"after":"two"},"cursor":"x"}`, `{` + bo + `,"cursor":"x"}`},
		{"header:X-After", "X-After: two\n{" + ann + `,"cursor":"x"}`, `{` + bo + `,"cursor":"x"}`},
	} {
		s := &service{Employees: pages(map[string]string{"": c.first, "two": c.second, "2": c.second})}
		got, err := names(t, venue(t, s, Options{Employees: Employees{Cursor: c.at}}))
		want := 3
		if c.second == "" {
			want = 2
		}
		assert.True(t, err == nil && slices.Equal(got, []string{"Ann", "Bo"}) && len(s.asked) == want, c.first, got,
			err, s.asked)
	}
}

func TestACursorThatWasNotFoundSaysWhichKeysTheAnswerHas(t *testing.T) {
	const page = `{"status":"SUCCESS","records":[{"id":"A","name":"Ann"}],"count":57,"paging":{"after":"two"}}`
	for name, o := range map[string]Options{"not configured": {},
		"configured wrong": {Employees: Employees{Cursor: "page.next"}}} {
		v := venue(t, &service{Employees: say(page)}, o)
		got, err := names(t, v)
		e := wantError(t, err, CallEmployees, "received 1, but the service counts 57; no cursor of a next page was "+
			`found in the answer: its keys are "status, count, paging.after"; name its place with `+
			"service.employees.cursor")
		assert.True(t, e.Incomplete && len(got) == 1, name, got, e)
	}
}

func TestPagesAreRequestedAsTheyAreRangedOver(t *testing.T) {
	s := &service{Employees: pages(map[string]string{
		"":    `{"records":[{"id":"A"},{"id":"B"}],"cursor":"two","count":4}`,
		"two": `{"records":[{"id":"C"},{"id":"D"}],"count":4}`,
	})}
	v := venue(t, s, Options{Employees: Employees{Limit: 2}})
	all := v.Employees(t.Context())
	for range all {
		break
	}
	if got, err := collect(all); len(got) != 4 || err != nil { // each run starts anew
		t.Errorf("%v, %v", got, err)
	}
	const first, second = "v1/labor/employees?limit=2", "v1/labor/employees?cursor=two&limit=2"
	assert.True(t, slices.Equal(s.asked, []string{"me", first, first, second}), s.asked)
}

func TestAListIsIncompleteIfACountDiffers(t *testing.T) {
	const three = `{"records":[{"id":"A"},{"id":"B"},{"id":"C"}]`
	for _, c := range []struct{ first, second, want string }{
		{three + `,"count":3}`, "", ""},
		{three + `,"count":"3"}`, "", ""},
		{three + `}`, "", ""},
		{three + `,"count":"many"}`, "", ""},
		{three + `,"count":2}`, "", "received 3, but the service counts 2"},
		{`{"records":[],"count":4,"cursor":"x"}`, "", "received 0, but the service counts 4"},
		{`{"records":[{"id":"A"},{"id":"A"}],"count":2}`, "", "received 1, but the service counts 2"},
		{three + `,"count":5,"cursor":"x"}`, `{"records":[{"id":"D"}],"count":4}`,
			"received 4, but the service counts 5"},
	} {
		v := venue(t, &service{Employees: pages(map[string]string{"": c.first, "x": c.second})}, Options{})
		_, err := names(t, v)
		if c.want != "" {
			wantError(t, err, CallEmployees, c.want)
		}
		assert.True(t, Incomplete(err) == (c.want != "") && (err != nil) == (c.want != ""), c.first, err)
	}
}

func TestAMalformedOrEndlessListIsAnError(t *testing.T) {
	page := func(id, rest string) string {
		return `{"status":"SUCCESS","records":[{"id":"` + id + `","name":"` + id + `"}]` + rest + `}`
	}
	many := `{"records":[{}` + strings.Repeat(`,{}`, maxRecords) + `]}`
	const endless = "the service names the same next page twice; the list would never end"
	for _, c := range []struct {
		pages map[string]string
		names int
		want  string
	}{
		{map[string]string{"": page("A", `,"cursor":"x"`), "x": page("B", `,"cursor":"x"`)}, 2, endless},
		{map[string]string{"": page("A", `,"cursor":"x"`), "x": page("B", `,"cursor":"y"`), "y": page("C",
			`,"cursor":"x"`)}, 3, endless},
		{map[string]string{"": `{"status":"SUCCESS"}`}, 0, "records: want an array"},
		{map[string]string{"": `{"status":"SUCCESS","records":{"a":1}}`}, 0, "records: want an array"},
		{map[string]string{"": `{"status":"SUCCESS","records":[{},"x"]}`}, 1, "records[1]: want an object"},
		{map[string]string{"": `{"status":"SUCCESS","records":[null]}`}, 0, "records[0]: want an object"},
		{map[string]string{"": `{"status":"PLANTED","records":[]}`}, 0, `the answer's status is not SUCCESS`},
		{map[string]string{"": `{"status":"ERROR","records":[]}`}, 0, `the answer says that it is an error`},
		{map[string]string{"": `null`}, 0, `the answer of 4 bytes is not a JSON object`},
		{map[string]string{"": page("A", `,"cursor":"x"`), "x": `{"status":"SUCCESS","records":[{"id":"B"`}, 1,
			`the answer of 40 bytes is not a JSON object`},
		{map[string]string{"": many}, 0, "the list has more than 25000 records"},
	} {
		got, err := names(t, venue(t, &service{Employees: pages(c.pages)}, Options{}))
		e := wantError(t, err, CallEmployees, c.want)
		assert.True(t, len(got) == c.names && !e.Incomplete, got, e, c.want)
	}
}

func TestEmployeeFieldsThatCannotBeReadAreEmpty(t *testing.T) {
	const id = "6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11"
	whole := `{"id":"` + id + `","updatedAt":"2026-03-01T10:00:00.5+11:00","firstName":"Zoë",` +
		`"lastName":"Łoś","name":"Zoë Ł.","pin":[1.50]}`
	const odd = `{"id":7,"name":null,"firstName":{},"lastName":"Łoś"}`
	got, err := collect(venue(t, &service{Employees: say(envelope(2, whole, odd))}, Options{}).Employees(t.Context()))
	want := []Employee{
		{ID: strings.ToLower(id), Name: "Zoë Ł.", FirstName: "Zoë", LastName: "Łoś",
			UpdatedAt: "2026-03-01T10:00:00.5+11:00", Raw: json.RawMessage(whole)},
		{LastName: "Łoś", Raw: json.RawMessage(odd)},
	}
	d := cmp.Diff(want, got)
	assert.True(t, d == "" && err == nil, d, err)
}

const period = `{"id":"p1","updatedAt":"2026-01-02T03:04:05Z","payrollPeriodStartDateTime":"2026-01-05",` +
	`"payrollPeriodEndDateTime":"2026-01-18","meta":{` +
	`"laborSchedulingStartDayOfWeek":"SUNDAY","payPeriodStartAt":"2026-01-05",` +
	`"overtimeWeekStartDayOfWeek":"MONDAY","payPeriodEndAt":"2026-01-18",` +
	`"timezone":"Australia/Melbourne","overtimeDailyDoubleHours":12,"overtimeDailyHours":8.5,"extra":1}}`

func TestAPayrollPeriodIsReadCompletely(t *testing.T) {
	const second = `{"id":"p2","payrollPeriodStartDateTime":"2024-02-29","payrollPeriodEndDateTime":"2024-02-29"}`
	s := &service{Payroll: say(envelope(3, period, second))}
	got, err := collect(venue(t, s, Options{Payroll: Payroll{VenueParam: "venue"}}).PayrollPeriods(t.Context()))
	if !Incomplete(err) { // the count is another; the received records are returned
		t.Error(err)
	}
	const leap = "2024-02-29"
	want := []PayrollPeriod{{
		ID: "p1", UpdatedAt: "2026-01-02T03:04:05Z", Start: "2026-01-05", End: "2026-01-18",
		Meta: PayrollMeta{
			SchedulingStartDay: "SUNDAY", OvertimeStartDay: "MONDAY",
			PayPeriodStart: "2026-01-05", PayPeriodEnd: "2026-01-18", Timezone: "Australia/Melbourne",
			OvertimeDailyDouble: new(12.0), OvertimeDaily: new(8.5),
		},
		Raw: json.RawMessage(period),
	}, {ID: "p2", Start: leap, End: leap, Raw: json.RawMessage(second)}}
	assert.Equal(t, cmp.Diff(want, got), "")
	assert.Equal(t, s.asked[1], "v1/labor/payrollperiods?venue="+harbour, s.asked)
}

func TestAnInvalidPayrollPeriodIsAnError(t *testing.T) {
	const meta = "records[0]: meta."
	const zone = " is not in the time zone database; correct it in the point of sale, or set the venue's timezone here"
	for _, c := range []struct{ replace, by, want string }{
		{`"Australia/Melbourne"`, `"Mars/Olympus\u0007"`, meta + `timezone: "Mars/Olympus"` + zone},
		{`"Australia/Melbourne"`, `"Local"`, meta + `timezone: "Local"` + zone},
		{`"Australia/Melbourne"`, `"../etc/passwd"`, meta + `timezone: "../etc/passwd"` + zone},
		{`"Australia/Melbourne"`, `10`, meta + `timezone: cannot be a number`},
		{`8.5`, `"eight"`, meta + `overtimeDailyHours: cannot be a string`},
		{`"meta":{`, `"meta":"none","x":{`, `records[0]: meta: cannot be a string`},
	} {
		body := strings.Replace(period, c.replace, c.by, 1)
		v := venue(t, &service{Payroll: say(envelope(1, body))}, Options{})
		got, err := collect(v.PayrollPeriods(t.Context()))
		if wantError(t, err, CallPayrollPeriods, c.want); got != nil {
			t.Errorf("%s: %v", c.by, got)
		}
	}
}

// FuzzAnswers has every call read the same body: no value comes with an error, and no error has a control character.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		envelope(1, period), `{"records":[{"id":"A","name":"Ann"}],"cursor":"x","count":1}`,
		`{"venue":{"id":"V"},"scope":"a b"}`, `{"access_token":"abc","expires_in":1e3,"scope":"a"}`,
		`{"error":{"message":"no\u001b"}}`, "<html>\x1b[2J", `{"records":[{"id"`, `{"records":[ {} , [] ]}`,
		"\xef\xbb\xbf{}", `{"count":-1,"records":null}`, ``, `{"records":[{}],"next":"/e?cursor=a%1b"}`,
	} {
		f.Add([]byte(body), 200, "application/json", "")
		f.Add([]byte(body), 403, "text/\x1bhtml", `https://h/e?cursor=%1b`)
	}
	f.Fuzz(func(t *testing.T, body []byte, code int, kind, header string) {
		answer := func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"], w.Header()["X-Next-Cursor"] = []string{kind}, []string{header}
			w.WriteHeader(200 + (code&0x7fffffff)%229) // without those that are tried again
			_, _ = w.Write(body)
		}
		check := func(err error, empty bool) {
			text := fmt.Sprint(err)
			if err != nil && !empty || !utf8.ValidString(text) || len(text) > 3000 ||
				strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("%q; nothing but the error: %v", text, empty)
			}
		}
		for _, s := range []*service{{Token: answer}, {Me: answer}} {
			v, err := client(s, Options{}).Venue(t.Context(), harbour)
			check(err, v == nil)
		}
		v := venue(t, &service{Employees: answer, Payroll: answer}, Options{})
		_, err := names(t, v)
		check(err, true)
		_, err = collect(v.PayrollPeriods(t.Context()))
		check(err, true)
	})
}
