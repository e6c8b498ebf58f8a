package sim

import (
	"testing"

	"ticketrail/deploy/assert"
)

const pathEmployees = "/v1/labor/employees"

func TestAnEmployeeWhoStaysIsListedExactlyOnceWhileOthersChange(t *testing.T) {
	s := newService(func(o *Options) { o.Faults = []Fault{{Call: CallEmployees, Kind: Churn}} })
	tok, seen := tokenFor(t, s, venueA), map[string]int{}
	pages, staff := 0, 25
	for cursor, first := "", true; first || cursor != ""; first = false {
		ids, next, count := page(t, s, tok, "?limit=4&cursor="+cursor)
		assert.Equal(t, count, staff-pages, "count is", staff, pages)
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
		assert.Equal(t, seen[Staff(1, venueA, n).ID], 1, n)
	}
}

func TestThePageSizeIsTheLimitUpToAMaximum(t *testing.T) {
	s := newService(func(o *Options) { o.Venues[0].Employees = 145 })
	tok := tokenFor(t, s, venueA)
	for query, want := range map[string]int{"": 20, "?limit=7": 7, "?limit=145": 100, "?limit=1000000": 100} {
		ids, next, count := page(t, s, tok, query)
		assert.True(t, len(ids) == want && next != "" && count == 145, query, len(ids), count, next)
	}
	for _, query := range []string{"?limit=0", "?limit=-1", "?limit=many", "?limit=", "?limit=%zz"} {
		assert.Equal(t, get(s, tok, pathEmployees+query).Code, 400, query)
	}
	s = newService(func(o *Options) { o.Venues[0].Employees = 20 })
	ids, next, _ := page(t, s, tokenFor(t, s, venueA), "")
	assert.True(t, len(ids) == 20 && next == "", "a list of just one page has", len(ids), next)
}

func TestACursorIsValidForItsVenueOnlyAndAfterARestart(t *testing.T) {
	s := newService(func(o *Options) { o.Venues[1].Employees = 25 })
	_, next, _ := page(t, s, tokenFor(t, s, venueA), "")
	assert.Equal(t, get(s, tokenFor(t, s, venueB), pathEmployees+"?cursor="+next).Code, 400, "at another venue")
	assert.Equal(t, get(s, tokenFor(t, s, venueA), pathEmployees+"?cursor="+next+"A").Code, 400, "a forged one")
	again := newService()
	ids, _, _ := page(t, again, tokenFor(t, again, venueA), "?cursor="+next)
	assert.Equal(t, len(ids), 5, "after a restart there are")
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
