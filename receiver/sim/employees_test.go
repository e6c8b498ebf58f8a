package sim

import "testing"

const pathEmployees = "/v1/labor/employees"

func TestAnEmployeeWhoStaysIsListedExactlyOnceWhileOthersChange(t *testing.T) {
	s := newService(func(o *Options) { o.Faults = []Fault{{Call: CallEmployees, Kind: Churn}} })
	tok, seen := tokenFor(t, s, venueA), map[string]int{}
	pages, staff := 0, 25
	for cursor, first := "", true; first || cursor != ""; first = false {
		ids, next, count := page(t, s, tok, "?limit=4&cursor="+cursor)
		if count != staff-pages {
			t.Errorf("count is %d of %d, and %d have left", count, staff, pages)
		}
		for _, id := range ids {
			seen[id]++
		}
		cursor, pages = next, pages+1
		if cursor != "" {
			s.AddEmployees(venueA, 1)
			staff++
		}
	}
	for n := range staff {
		if id := Staff(1, venueA, n).ID; seen[id] != 1 {
			t.Errorf("%d is listed %d times", n, seen[id])
		}
	}
}

func TestThePageSizeIsTheLimitUpToAMaximum(t *testing.T) {
	s := newService(func(o *Options) { o.Venues[0].Employees = 145 })
	tok := tokenFor(t, s, venueA)
	for query, want := range map[string]int{"": 20, "?limit=7": 7, "?limit=145": 100, "?limit=1000000": 100} {
		if ids, next, count := page(t, s, tok, query); len(ids) != want || next == "" || count != 145 {
			t.Errorf("%q: %d of %d, next %q", query, len(ids), count, next)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=-1", "?limit=many", "?limit=", "?limit=%zz"} {
		if w := get(s, tok, pathEmployees+query); w.Code != 400 {
			t.Errorf("%q: %d", query, w.Code)
		}
	}
	s = newService(func(o *Options) { o.Venues[0].Employees = 20 })
	if ids, next, _ := page(t, s, tokenFor(t, s, venueA), ""); len(ids) != 20 || next != "" {
		t.Errorf("a list of just one page has %d and a next page %q", len(ids), next)
	}
}

func TestACursorIsValidForItsVenueOnlyAndAfterARestart(t *testing.T) {
	s := newService(func(o *Options) { o.Venues[1].Employees = 25 })
	_, next, _ := page(t, s, tokenFor(t, s, venueA), "")
	if w := get(s, tokenFor(t, s, venueB), pathEmployees+"?cursor="+next); w.Code != 400 {
		t.Errorf("at another venue: %d", w.Code)
	}
	if w := get(s, tokenFor(t, s, venueA), pathEmployees+"?cursor="+next+"A"); w.Code != 400 {
		t.Errorf("a forged one: %d", w.Code)
	}
	again := newService()
	if ids, _, _ := page(t, again, tokenFor(t, again, venueA), "?cursor="+next); len(ids) != 5 {
		t.Errorf("after a restart there are %d more", len(ids))
	}
}

// page requests one page.
func page(t testing.TB, s *Service, token, query string) (ids []string, next string, count int) {
	t.Helper()
	w := get(s, token, pathEmployees+query)
	if w.Code != 200 {
		t.Fatalf("%s: %d %s", query, w.Code, w.Body)
	}
	m := object(t, w.Body.Bytes())
	for _, r := range m["records"].([]any) {
		ids = append(ids, r.(map[string]any)["id"].(string))
	}
	next, _ = m["nextCursor"].(string)
	return ids, next, int(m["count"].(float64))
}
