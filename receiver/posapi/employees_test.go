package posapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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

func TestCursorInAnotherPlaceOfTheLastPageIsIgnored(t *testing.T) {
	for _, only := range []string{`{"records":[{"name":"A"}],"nextCursor":null,"cursor":"1"}`,
		"X-Next-Cursor: \n" + `{"records":[{"name":"A"}],"cursor":"1"}`} {
		s := employeePages(map[string]string{"": only})
		got, err := names(client(t, s, nil).Venue(grill), t.Context())
		if err != nil || len(got) != 1 || len(s.calls()) != 1 {
			t.Errorf("%s: %v, %v, asked %v", only, got, err, s.calls())
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
	const first, second = "/api/v1/labor/employees?limit=2", "/api/v1/labor/employees?cursor=two&limit=2"
	if got := s.calls(); !slices.Equal(got, []string{first, first, second, first, second}) {
		t.Error(got)
	}
}

func TestCountErrorWhenTheCountDiffers(t *testing.T) {
	const three = `{"records":[{"id":"A"},{"id":"B"},{"id":"C"}]`
	for _, c := range []struct {
		first, second string
		want          *CountError // nil: none
	}{
		{three + `,"count":3}`, "", nil},
		{three + `,"count":"3"}`, "", nil},
		{three + `,"count":3.0}`, "", nil},
		{three + `}`, "", nil},
		{three + `,"count":"many"}`, "", nil},
		{three + `,"count":4}`, "", &CountError{Got: 3, Want: 4}},
		{`{"records":[],"count":4,"cursor":"x"}`, "", &CountError{Got: 0, Want: 4}},
		{`{"records":[{"id":"A"},{"id":"A"}],"count":2}`, "", &CountError{Got: 1, Want: 2}},
		{three + `,"count":5,"cursor":"x"}`, `{"records":[{"id":"D"}],"count":4}`, &CountError{Got: 4, Want: 5}},
	} {
		s := employeePages(map[string]string{"": c.first, "x": c.second})
		_, err := names(client(t, s, nil).Venue(grill), t.Context())
		if c.want != nil {
			c.want.Call, c.want.Venue = CallEmployees, grill
		}
		if got, _ := errors.AsType[*CountError](err); (err != nil) != (c.want != nil) || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v, want %+v", c.first, err, c.want)
		}
	}
	want := "employees of venue " + grill + ": received 3, but the service counts 4; the list changed while it was " +
		"read: try again, and if it persists check service.employees.cursor"
	if got := (&CountError{Call: CallEmployees, Venue: grill, Got: 3, Want: 4}).Error(); got != want {
		t.Errorf("says %s, want %s", got, want)
	}
}

func TestListHasALimitOfRecords(t *testing.T) {
	const pages = 20
	records, n := "{}"+strings.Repeat(",{}", maxRecords/pages-1), 0
	s := &service{Employees: func(w http.ResponseWriter, _ *http.Request) {
		n++
		answerJSON(w, fmt.Sprintf(`{"records":[%s],"cursor":"%d"}`, records, n))
	}}
	got, err := names(client(t, s, nil).Venue(grill), t.Context())
	if !errors.Is(err, ErrMalformed) || len(got) != maxRecords || n != pages+1 {
		t.Errorf("%d employees on %d pages, %v", len(got), n, err)
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
		{map[string]string{"": page("A", `,"nextCursor":{"after":"x"}`)}, 0,
			"nextCursor: want a cursor, got an object"},
		{map[string]string{"": page("A", `,"cursor":"x"`), "x": page("B", `,"cursor":{"next":"y"}`)}, 1,
			"cursor: want a cursor, got an object"},
		{map[string]string{"": page("A", `,"cursor":"`+strings.Repeat("x", 5000)+`"`)}, 0,
			"cursor: a cursor of 5000 bytes, more than 4096"},
		{map[string]string{"": "X-Next-Cursor: " + strings.Repeat("x", 5000) + "\n" + page("A", "")}, 0,
			"header:X-Next-Cursor: a cursor of 5000 bytes, more than 4096"},
		{map[string]string{"": `{"status":"SUCCESS"}`}, 0, "records: want an array, got nothing"},
		{map[string]string{"": `{"status":"SUCCESS","records":{"a":1}}`}, 0, "records: want an array, got an object"},
		{map[string]string{"": `{"status":"SUCCESS","records":[{},"x"]}`}, 1,
			"records[1]: want an object, got a string"},
		{map[string]string{"": `{"status":"SUCCESS","records":[null]}`}, 0, "records[0]: want an object, got nothing"},
		{map[string]string{"": `{"status":"ERROR","records":[],"error":{"message":"labor is off"}}`}, 0,
			`the answer's status is "ERROR": it says "labor is off"`},
		{map[string]string{"": `{"status":"success","records":[]}`}, 0, `the answer's status is "success"`},
		{map[string]string{"": `{"status":false,"records":[]}`}, 0, `the answer's status is false`},
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
