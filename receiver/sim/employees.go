package sim

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// An Employee works at one venue.
type Employee struct {
	ID                  string // UUID
	Name                string // for display
	FirstName, LastName string
	UpdatedAt           time.Time
}

func (e Employee) record() map[string]any {
	return map[string]any{
		contract.FieldID:        e.ID,
		contract.FieldUpdatedAt: stamp(e.UpdatedAt),
		contract.FieldName:      e.Name,
		"firstName":             e.FirstName,
		"lastName":              e.LastName,
	}
}

// employees answers with one page of the list. Wrong parameters are refused with 400 rather than
// ignored: a test should fail at the mistake.
func (x *exchange) employees() {
	granted, ok := x.authorize(scopeLabor)
	if !ok {
		return
	}
	bad := func(what string) { x.refuse(http.StatusBadRequest, "bad_request", what) }

	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		bad("the query cannot be read")
		return
	}

	limit := contract.DefaultPageSize
	if query.Has(contract.ParamLimit) {
		if limit, err = strconv.Atoi(query.Get(contract.ParamLimit)); err != nil || limit < 1 {
			bad(contract.ParamLimit + ": want a whole number of 1 or more")
			return
		}
	}

	from, cursor := 0, query.Get(contract.ParamCursor)
	if cursor != "" {
		if from, ok = openCursor(granted.venue, cursor); !ok {
			bad(contract.ParamCursor + ": not a cursor of this venue")
			return
		}
	}

	records, count, next := x.s.page(granted.venue, from, min(limit, x.s.o.MaxLimit))
	x.list(records, count, next)
}

// page returns up to limit employees from a number on, how many there are, and the cursor of the next page. All three
// are of the same moment, but the next page may be of another: see [Churn]. An employee keeps the number, so a cursor
// stays valid while others come and go.
func (s *Service) page(venueID string, from, limit int) (records []map[string]any, count int, next string) {
	s.mu.Lock()
	venue := *s.venues[venueID]
	s.mu.Unlock()

	from = max(from, venue.gone)
	end := min(from+limit, venue.Employees)
	for number := from; number < end; number++ {
		records = append(records, Staff(s.o.Seed, venueID, number).record())
	}

	if end < venue.Employees {
		next = cursor(venueID, end)
	}

	return records, venue.Employees - venue.gone, next
}

// cursor names a place in a venue's list. It is refused for another venue, and stays valid over a restart of the
// simulator.
func cursor(venueID string, n int) string { return venueID + "." + strconv.Itoa(n) }

// openCursor is the reverse of cursor. It is false for text that cursor has not made for this venue.
func openCursor(venueID, cursor string) (n int, ok bool) {
	place, ours := strings.CutPrefix(cursor, venueID+".")
	n, err := strconv.Atoi(place)
	return n, err == nil && ours
}

// AddEmployees adds n employees to a venue, at the end of the list.
func (s *Service) AddEmployees(venueID string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.venues[venueID].Employees += n
}

// dismiss removes the first employee of a venue. With it, lists change between two pages, which the client must notice
// by the count.
func (s *Service) dismiss(venueID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if venue := s.venues[venueID]; venue.gone < venue.Employees {
		venue.gone++
	}
}
