package posapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// employeePages answers with pages, each under the cursor that names it; "" is the first.
func employeePages(pages map[string]string) *service {
	return &service{Employees: func(w http.ResponseWriter, r *http.Request) {
		page := pages[r.URL.Query().Get("cursor")]
		if header, body, ok := strings.Cut(page, "\n"); ok {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
			page = body
		}
		answerJSON(w, page)
	}}
}

func TestNextPageCursorIsFoundInEveryPlace(t *testing.T) {
	const ann, bo = `"status":"SUCCESS","count":2,"records":[{"id":"A","name":"Ann"}]`,
		`"status":"SUCCESS","count":2,"records":[{"id":"B","name":"Bo"}]`
	for _, c := range []struct{ at, first, second string }{
		{"", `{` + ann + `,"cursor":"two"}`, `{` + bo + `}`},
		{"", `{` + ann + `,"nextCursor":"two"}`, `{` + bo + `,"nextCursor":""}`},
		{"", `{` + ann + `,"next_cursor":"two"}`, `{` + bo + `,"next_cursor":null}`},
		{"", `{` + ann + `,"meta":{"cursor":"two"}}`, `{` + bo + `,"meta":{"cursor":" "}}`},
		{"", `{` + ann + `,"meta":{"nextCursor":"two"}}`, `{` + bo + `,"meta":null}`},
		{"", `{` + ann + `,"pagination":{"cursor":"two"}}`, `{` + bo + `,"pagination":{}}`},
		{"", `{` + ann + `,"pagination":{"next_cursor":"two"}}`, `{` + bo + `,"pagination":[]}`},
		{"", "X-Next-Cursor: two\n{" + ann + `}`, `{` + bo + `}`},
		{"", "X-Next-Cursor: two\n{" + ann + `}`, "X-Next-Cursor: \n{" + bo + `,"cursor":"two"}`},
		{"", `{` + ann + `,"next":"two"}`, `{` + bo + `,"next":null,"cursor":"two"}`},
		{"", `{` + ann + `,"next":"https://x.test/v1/labor/employees?limit=1&cursor=two"}`, `{` + bo + `,"next":""}`},
		{"", `{` + ann + `,"links":{"next":"/v1/labor/employees?cursor=two"}}`, `{` + bo + `,"links":{"next":null}}`},
		{"", `{` + ann + `,"links":{"next":"?cursor=%74wo"}}`, `{` + bo + `,"links":{}}`},
		{"", "Link: </e?cursor=one>; rel=\"first\", <https://x.test/e?cursor=two>; title=\"a\"; rel=\"last NEXT\"\n{" +
			ann + `}`, "Link: </e?cursor=one>; rel=\"first\"\n{" + bo + `}`},
		{"", "Link: <?cursor=two>;rel=next\n{" + ann + `,"cursor":"one"}`, `{` + bo + `,"cursor":"two"}`},
		{"header:link", "Link: <?cursor=two>;rel=next\n{" + ann + `,"next":"x"}`, `{` + bo + `,"next":"x"}`},
		{"", "Link: </e>; rel=\"first\"\n{" + ann + `,"cursor":"two"}`, `{` + bo + `}`},
		{"", "X-Next-Cursor: \n{" + ann + `,"nextCursor":"two"}`, `{` + bo + `}`},
		{"", `{` + ann + `,"cursor":2}`, `{` + bo + `,"cursor":false}`},
		// of two cursors, one is the page's own
		{"", `{` + ann + `,"cursor":"one","nextCursor":"two"}`, `{` + bo + `,"cursor":"two","nextCursor":null}`},
		{"page.after", `{` + ann + `,"page":{"after":"two"},"cursor":"x"}`, `{` + bo + `,"cursor":"x"}`},
		{"header:X-After", "X-After: two\n{" + ann + `,"cursor":"x"}`, `{` + bo + `,"cursor":"x"}`},
	} {
		s := employeePages(map[string]string{"": c.first, "two": c.second, "2": c.second})
		got, err := names(client(t, s, &Options{CursorAt: c.at}).Venue(grill), t.Context())
		if err != nil || !slices.Equal(got, []string{"Ann", "Bo"}) || len(s.calls()) != 2 {
			t.Errorf("%s: %v, %v, asked %v", c.first, got, err, s.calls())
		}
	}
}

func TestMalformedOrEndlessListIsAnError(t *testing.T) {
	page := func(id, rest string) string {
		return `{"status":"SUCCESS","records":[{"id":"` + id + `","name":"` + id + `"}]` + rest + `}`
	}
	for _, c := range []struct {
		pages map[string]string
		names int
		want  string
	}{
		{map[string]string{"": page("A", `,"cursor":"x"`), "x": page("B", `,"cursor":"x"`)}, 2,
			"the service names the same next page twice; the list would never end; check where it names the next page"},
		{map[string]string{"": page("A", `,"cursor":"x"`), "x": page("B", `,"cursor":"y"`), "y": page("C",
			`,"cursor":"x"`)}, 3, "the service names the same next page twice; the list would never end; check " +
			"where it names the next page"},
		{map[string]string{"": page("A", `,"cursor":{"next":"x"}`)}, 0, "cursor: want a cursor, got an object"},
		{map[string]string{"": page("A", `,"cursor":["x"]`)}, 0, "cursor: want a cursor, got an array"},
		{map[string]string{"": page("A", `,"cursor":true`)}, 0, "cursor: want a cursor, got true or false"},
		{map[string]string{"": page("A", `,"nextCursor":{"after":"x"}`)}, 0,
			"nextCursor: want a cursor, got an object"},
		{map[string]string{"": page("A", `,"cursor":"x"`), "x": page("B", `,"cursor":{"next":"y"}`)}, 1,
			"cursor: want a cursor, got an object"},
		{map[string]string{"": page("A", `,"cursor":"`+strings.Repeat("x", 5000)+`"`)}, 0,
			"cursor: a cursor of 5000 bytes, more than 4096"},
		{map[string]string{"": "X-Next-Cursor: " + strings.Repeat("x", 5000) + "\n" + page("A", "")}, 0,
			"header:X-Next-Cursor: a cursor of 5000 bytes, more than 4096"},
		{map[string]string{"": `{"status":"SUCCESS"}`}, 0, "records: want an array, got nothing"},
		{map[string]string{"": `{"status":"SUCCESS","Records":[]}`}, 0, "records: want an array, got nothing"},
		{map[string]string{"": `{"status":"SUCCESS","records":{"a":1}}`}, 0, "records: want an array, got an object"},
		{map[string]string{"": `{"status":"SUCCESS","records":[{},"x"]}`}, 1,
			"records[1]: want an object, got a string"},
		{map[string]string{"": `{"status":"SUCCESS","records":[null]}`}, 0, "records[0]: want an object, got nothing"},
		{map[string]string{"": `{"status":"ERROR","records":[],"error":{"message":"labor is off"}}`}, 0,
			`the answer's status is "ERROR": it says "labor is off"`},
		{map[string]string{"": `{"status":"success","records":[]}`}, 0, `the answer's status is "success"`},
		{map[string]string{"": `{"status":false,"records":[]}`}, 0, `the answer's status is false`},
		{map[string]string{"": `[]`}, 0, `the answer of 2 bytes is not a JSON object`},
		{map[string]string{"": `null`}, 0, `the answer of 4 bytes is not a JSON object`},
		{map[string]string{"": page("A", `,"cursor":"x"`), "x": `{"status":"SUCCESS","records":[{"id":"B"`}, 1,
			`the answer of 40 bytes is not a JSON object`},
	} {
		got, err := names(client(t, employeePages(c.pages), nil).Venue(grill), t.Context())
		want := "employees of venue " + grill + ": " + strings.ReplaceAll(c.want, `\"`, `"`)
		if err == nil || strings.ReplaceAll(err.Error(), `\"`, `"`) != want || len(got) != c.names {
			t.Errorf("%v, %v, want %s", got, err, want)
		}
		if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrRefused) {
			t.Errorf("%v is of no kind", err)
		}
	}
}

func TestPagesAreRequestedAsTheyAreRangedOver(t *testing.T) {
	s := employeePages(map[string]string{
		"":    `{"records":[{"id":"A"},{"id":"B"}],"cursor":"two","count":4}`,
		"two": `{"records":[{"id":"C"},{"id":"D"}],"count":4}`,
	})
	list := client(t, s, &Options{PageLimit: 2}).Employees(t.Context(), grill)
	for range list {
		break
	}
	if got := s.calls(); !slices.Equal(got, []string{"/api/v1/labor/employees?limit=2"}) {
		t.Error(got)
	}
	for range 2 { // each run starts anew
		n := 0
		for _, err := range list {
			if n++; err != nil {
				t.Error(err)
			}
		}
		if n != 4 {
			t.Errorf("%d employees", n)
		}
	}
	if got := s.calls(); len(got) != 5 || got[4] != "/api/v1/labor/employees?cursor=two&limit=2" {
		t.Error(got)
	}
}

func TestCountErrorWhenTheCountDiffers(t *testing.T) {
	const three = `"records":[{"id":"A"},{"id":"B"},{"id":"C"}]`
	for _, c := range []struct {
		pages map[string]string
		want  string
	}{
		{map[string]string{"": `{` + three + `,"count":3}`}, ""},
		{map[string]string{"": `{` + three + `,"count":"3"}`}, ""},
		{map[string]string{"": `{` + three + `,"count":3.0}`}, ""},
		{map[string]string{"": `{` + three + `}`}, ""},
		{map[string]string{"": `{` + three + `,"count":"many"}`}, ""},
		{map[string]string{"": `{` + three + `,"count":4}`}, "received 3, but the service counts 4; the list " +
			"changed while it was read: try again, and if it persists check service.employees.cursor"},
		{map[string]string{"": `{"records":[],"count":4,"cursor":"x"}`},
			"received 0, but the service counts 4; the list changed while it was read: try again, and if it " +
				"persists check service.employees.cursor"},
		{map[string]string{"": `{"records":[{"id":"A"},{"id":"A"}],"count":2}`},
			"received 1, but the service counts 2; the list changed while it was read: try again, and if it " +
				"persists check service.employees.cursor"},
		{map[string]string{"": `{` + three + `,"count":5,"cursor":"x"}`, "x": `{"records":[{"id":"D"}],"count":4}`},
			"received 4, but the service counts 5; the list changed while it was read: try again, and if it " +
				"persists check service.employees.cursor"},
	} {
		_, err := names(client(t, employeePages(c.pages), nil).Venue(grill), t.Context())
		if c.want == "" {
			if err != nil {
				t.Errorf("%v: %v", c.pages, err)
			}
			continue
		}
		if _, ok := errors.AsType[*CountError](err); !ok || err.Error() != "employees of venue "+grill+": "+c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestEmployeeFieldsThatCannotBeReadAreZero(t *testing.T) {
	const id = "6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11"
	whole := `{"id":"` + id + `","updatedAt":"2026-03-01T10:00:00.5+11:00","name":"Zoë Ł.","firstName":"Zoë",` +
		`"lastName":"Łoś","pin":[1.50],"Name":"x"}`
	s := employeePages(
		map[string]string{
			"": `{"records":[` + whole + `,{"id":7,"name":null,"firstName":{},"updatedAt":"yesterday"},{"ID":"x"}]}`,
		},
	)
	var got []Employee
	for e, err := range client(t, s, nil).Employees(t.Context(), grill) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	want := []Employee{
		{
			ID:        strings.ToLower(id),
			Name:      "Zoë Ł.",
			FirstName: "Zoë",
			LastName:  "Łoś",
			UpdatedAt: time.Date(2026, 2, 28, 23, 0, 0, 5e8, time.UTC),
			Raw:       json.RawMessage(whole),
		},
		{ID: "7", Raw: json.RawMessage(`{"id":7,"name":null,"firstName":{},"updatedAt":"yesterday"}`)},
		{Raw: json.RawMessage(`{"ID":"x"}`)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if b, err := json.Marshal(got[0]); err != nil || string(b) != whole {
		t.Errorf("%s, %v", b, err)
	}
}

// A changingList has employees who are hired and leave between two pages.
type changingList struct {
	t       *rapid.T
	limit   int
	offsets bool // the cursor is a number of records; else it is the last id
	ids     []int
	stayed  []int // of those that were there at first
	hired   bool
}

// change is at most one a page: in a list by offsets a hire hides whom a leave lost.
func (o *changingList) change() {
	switch change := rapid.IntRange(0, 2).Draw(o.t, "change"); {
	case change == 1 && len(o.ids) > 0 && !(o.offsets && o.hired):
		i := rapid.IntRange(0, len(o.ids)-1).Draw(o.t, "leaves")
		gone := o.ids[i]
		o.stayed = slices.DeleteFunc(o.stayed, func(id int) bool { return id == gone })
		o.ids = slices.Delete(o.ids, i, i+1)
	case change == 2 && (!o.offsets || len(o.stayed) == len(o.ids)):
		o.hired = true
		id := rapid.IntRange(100, 10_000).Draw(o.t, "hired") - rapid.SampledFrom([]int{0, 20_000}).Draw(o.t, "first")
		if i, there := slices.BinarySearch(o.ids, id); !there {
			o.ids = slices.Insert(o.ids, i, id)
		}
	}
}

func (o *changingList) page(w http.ResponseWriter, r *http.Request) {
	after := r.URL.Query().Get("cursor")
	n, _ := strconv.Atoi(after)
	if after != "" {
		o.change()
	}
	from := min(n, len(o.ids))
	if !o.offsets && after != "" {
		var there bool
		if from, there = slices.BinarySearch(o.ids, n); there {
			from++
		}
	}
	to := min(from+o.limit, len(o.ids))
	var records []string
	for _, id := range o.ids[from:to] {
		records = append(records, fmt.Sprintf(`{"id":"%d","name":"%d"}`, id, id))
	}
	next := ""
	if to < len(o.ids) && to > from {
		next = strconv.Itoa(to)
		if !o.offsets {
			next = strconv.Itoa(o.ids[to-1])
		}
	}
	answerJSON(
		w,
		fmt.Sprintf(`{"records":[%s],"status":"SUCCESS","count":%d,"cursor":%q}`, strings.Join(records, ","),
			len(o.ids), next),
	)
}

func TestEmployeeWhoStaysIsListedOnceOrTheCountDiffers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := &changingList{
			t: rt, limit: rapid.IntRange(1, 7).Draw(rt, "limit"), offsets: rapid.Bool().Draw(rt, "offsets"),
			ids: rapid.SliceOfNDistinct(rapid.IntRange(0, 99), 0, 30, rapid.ID[int]).Draw(rt, "ids"),
		}
		slices.Sort(o.ids)
		o.stayed = slices.Clone(o.ids)
		got, err := names(client(t, &service{Employees: o.page}, &Options{PageLimit: o.limit}).Venue(grill),
			t.Context())
		_, reported := errors.AsType[*CountError](err)
		if err != nil && !reported {
			rt.Fatal(err)
		}
		seen := map[string]int{}
		for _, name := range got {
			if seen[name]++; seen[name] > 1 {
				rt.Fatalf("%s came %d times", name, seen[name])
			}
		}
		for _, id := range o.stayed {
			if seen[strconv.Itoa(id)] != 1 && !reported {
				rt.Fatalf("%d was there throughout and did not come", id)
			}
		}
	})
}

func TestListHasALimitOfRecords(t *testing.T) {
	n, pad := 0, strings.Repeat("x", 70)
	s := &service{Employees: func(w http.ResponseWriter, _ *http.Request) {
		n++
		var records strings.Builder
		for i := range 100 {
			fmt.Fprintf(&records, `,{"id":"%d-%d-%s"}`, n, i, pad)
		}
		answerJSON(w, fmt.Sprintf(`{"records":[%s],"count":%d,"cursor":"%d%s"}`, records.String()[1:], n, n, pad))
	}}
	v := client(t, s, nil).Venue(grill)
	for e, err := range v.list(t.Context(), CallEmployees, "/v1/labor/employees", url.Values{}) {
		if err != nil {
			if !errors.Is(err, ErrMalformed) || n != 1001 {
				t.Errorf("%v after %d pages", err, n)
			}
			return
		}
		if n > 1001 {
			t.Fatal("it goes on", e.index)
		}
	}
	t.Error("no error")
}

func TestCursorInAnotherPlaceOfTheLastPageIsIgnored(t *testing.T) {
	for _, only := range []string{`{"records":[{"name":"A"}],"nextCursor":null,"cursor":"1"}`, "X-Next-Cursor: \n" +
		`{"records":[{"name":"A"}],"cursor":"1"}`} {
		s := employeePages(map[string]string{"": only})
		if got, err := names(client(t, s, nil).Venue(grill), t.Context()); err != nil || len(got) != 1 ||
			len(s.calls()) != 1 {
			t.Errorf("%s: %v, %v, asked %v", only, got, err, s.calls())
		}
	}
	for _, c := range []map[string]string{
		{"": `{"records":[{"name":"A"}],"nextCursor":"2"}`, "2": `{"records":[{"name":"B"}],"cursor":"2",` +
			`"nextCursor":"3"}`, "3": `{"records":[{"name":"C"}],"cursor":"3"}`},
		{"": "X-Next-Cursor: 2\n" + `{"records":[{"name":"A"}]}`, "2": "X-Next-Cursor: 3\n" +
			`{"records":[{"name":"B"}],"cursor":"2"}`, "3": `{"records":[{"name":"C"}],"meta":{"cursor":"3"}}`},
		{"": `{"records":[{"name":"A"}],"meta":{"next_cursor":"2"}}`, "2": `{"records":[{"name":"B"}],` +
			`"meta":{"next_cursor":"3","cursor":"2"}}`, "3": `{"records":[{"name":"C"}],"meta":{"cursor":"3"}}`},
	} {
		s := employeePages(c)
		got, err := names(client(t, s, nil).Venue(grill), t.Context())
		if err != nil || !slices.Equal(got, []string{"A", "B", "C"}) || len(s.calls()) != 3 {
			t.Errorf("%v, %v, asked %v", got, err, s.calls())
		}
	}
}

func TestHundredPagesInARowWithoutANewRecordAreAnError(t *testing.T) {
	n := 0
	s := &service{Employees: func(w http.ResponseWriter, r *http.Request) {
		n++
		answerJSON(w, fmt.Sprintf(`{"status":"SUCCESS","records":[{"id":"A","name":"Ann"}],"cursor":"%d"}`, n))
	}}
	got, err := names(client(t, s, nil).Venue(grill), t.Context())
	if !errors.Is(err, ErrMalformed) || len(got) != 1 || n != 101 {
		t.Errorf("%v after %d pages, %v", got, n, err)
	}
}

func TestPagesWithoutNewRecordsAreReadOnWhileEmployeesAreHired(t *testing.T) {
	n := 0
	s := &service{Employees: func(w http.ResponseWriter, _ *http.Request) {
		id := min(n, 1) + n/50 // of 300 pages, only 7 have a new one
		if n++; n < 300 {
			answerJSON(w, fmt.Sprintf(`{"records":[{"id":"%d","name":"%[1]d"}],"cursor":"%d"}`, id, n))
			return
		}
		answerJSON(w, `{"records":[{"id":"last","name":"last"}]}`)
	}}
	got, err := names(client(t, s, &Options{PageLimit: 1}).Venue(grill), t.Context())
	if want := []string{"0", "1", "2", "3", "4", "5", "6", "last"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
