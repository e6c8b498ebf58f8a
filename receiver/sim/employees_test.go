package sim

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const pathEmployees = "/v1/labor/employees"

func TestAnEmployeeWhoStaysIsListedExactlyOnceWhileOthersChange(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newService(func(o *Options) {
			o.Seed = rapid.Uint64().Draw(r, "seed")
			o.Venues[0].Employees = rapid.IntRange(0, 60).Draw(r, "employees")
			o.Faults = make([]Fault, rapid.IntRange(0, 3).Draw(r, "changes between two pages"))
			for i := range o.Faults {
				o.Faults[i] = Fault{Call: CallEmployees, Kind: Churn}
			}
		})
		tok, seen, there := tokenFor(t, s, venueA), map[string]int{}, s.Employees(venueA)
		for cursor := ""; ; {
			now := s.Employees(venueA)
			there = slices.DeleteFunc(there, func(e Employee) bool {
				return !slices.ContainsFunc(now, func(n Employee) bool { return n.ID == e.ID })
			})
			// Fewer are added than one page lists, or the list would never end.
			ids, next, count := page(t, s, tok,
				fmt.Sprintf("?limit=%d&cursor=%s", rapid.IntRange(4, 25).Draw(r, "limit"), cursor))
			if count != len(now) {
				r.Fatalf("count is %d of %d", count, len(now))
			}
			for _, id := range ids {
				if seen[id]++; seen[id] > 1 {
					r.Fatalf("%s is listed %d times", id, seen[id])
				}
			}
			if cursor = next; cursor == "" {
				break
			}
			s.AddEmployees(venueA, rapid.IntRange(0, 1).Draw(r, "hired"))
		}
		for _, e := range there {
			if seen[e.ID] != 1 {
				r.Fatalf("%s was there throughout and is not listed", e.ID)
			}
		}
	})
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
	forged := []byte(next)
	forged[5] ^= 1
	for _, c := range []string{string(forged), "2", next[1:], next + "A"} {
		if w := get(s, tokenFor(t, s, venueA), pathEmployees+"?cursor="+url.QueryEscape(c)); w.Code != 400 {
			t.Errorf("%q: %d", c, w.Code)
		}
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
