package sim

import (
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
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
		contract.FieldFirstName: e.FirstName,
		contract.FieldLastName:  e.LastName,
	}
}

// A member is an employee with a sequence number. The list is in the order of the numbers: a new
// employee comes last, and the removal of one does not renumber the others. So a cursor stays
// valid while employees are added and removed between two pages.
type member struct {
	Employee
	seq int
}

// A roster is the current staff of a venue.
type roster struct {
	list []member // by seq
	next int
	rng  *rand.Rand // for churn
}

// hire adds the next employee at the end of the list. The caller holds mu.
func (s *Service) hire(venueID string) *member {
	r := &s.venues[venueID].staff
	r.list = append(r.list, member{Staff(s.o.Seed, venueID, r.next), r.next})
	r.next++
	return &r.list[len(r.list)-1]
}

// hireNow is hire, with the present as the time of the last change.
func (s *Service) hireNow(venueID string) Employee {
	m := s.hire(venueID)
	m.UpdatedAt = time.Now()
	return m.Employee
}

// employees answers with one page of the list. Wrong parameters are refused with 400 rather than
// ignored: a test should fail at the mistake.
func (x *exchange) employees() {
	g, ok := x.authorize(contract.ScopeLaborRead)
	if !ok {
		return
	}
	bad := func(what string) { x.refuse(http.StatusBadRequest, "bad_request", what) }
	q, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		bad("the query cannot be read")
		return
	}
	limit := contract.DefaultPageSize
	if q.Has(contract.ParamLimit) {
		if limit, err = strconv.Atoi(q.Get(contract.ParamLimit)); err != nil || limit < 1 {
			bad(contract.ParamLimit + ": want a whole number of 1 or more")
			return
		}
	}
	from, cursor := 0, q.Get(contract.ParamCursor)
	if cursor != "" {
		if from, ok = openCursor(g.venue, cursor); !ok {
			bad(contract.ParamCursor + ": not a cursor of this venue")
			return
		}
	}

	records, count, next := x.s.page(g.venue, from, min(limit, x.s.o.MaxLimit))
	// The first page is right, so that a client gets into the loop.
	if x.faults.has(SameCursor) && cursor != "" {
		next = cursor
	}
	x.list(records, count, next)
}

// page returns up to limit members from a sequence number on, the size of the whole list, and the
// cursor of the next page. All three are of the same moment, but the next page may be of another:
// see [Churn].
func (s *Service) page(venueID string, from, limit int) (records []map[string]any, count int, next string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.venues[venueID].staff.list
	// The member with that number may have been removed since; the next one takes its place.
	i, _ := slices.BinarySearchFunc(all, from, func(m member, seq int) int { return m.seq - seq })
	end := min(i+limit, len(all))
	for _, m := range all[i:end] {
		records = append(records, m.record())
	}
	if end < len(all) {
		// After the last of this page, not at the first of the next: that one may be removed by then.
		next = cursor(venueID, all[end-1].seq+1)
	}
	return records, len(all), next
}

// cursor encodes a place in a venue's list. It is refused for another venue, and stays valid over a
// restart of the simulator.
func cursor(venueID string, seq int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(venueID + strconv.Itoa(seq)))
}

// openCursor is the reverse of cursor. It is false for text that cursor has not made for this venue.
func openCursor(venueID, cursor string) (seq int, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	place, ours := strings.CutPrefix(string(b), venueID)
	seq, err2 := strconv.Atoi(place)
	return seq, err == nil && err2 == nil && ours
}

// Employees returns the current staff of a venue, in the order of the list.
func (s *Service) Employees(venueID string) (all []Employee) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.venues[venueID].staff.list {
		all = append(all, m.Employee)
	}
	return all
}

// AddEmployees adds n employees to a venue, at the end of the list, and returns them.
func (s *Service) AddEmployees(venueID string, n int) (added []Employee) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		added = append(added, s.hireNow(venueID))
	}
	return added
}

// changeStaff adds, removes or renames one employee at random. With it, lists change between two
// pages, which the client must notice by the count.
func (s *Service) changeStaff(venueID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.venues[venueID].staff
	what := r.rng.IntN(3)
	if len(r.list) == 0 || what == 0 {
		s.hireNow(venueID)
		return
	}
	i := r.rng.IntN(len(r.list))
	if what == 1 {
		r.list = slices.Delete(r.list, i, i+1)
		return
	}
	r.list[i].Name, r.list[i].UpdatedAt = r.list[i].FirstName, time.Now()
}
