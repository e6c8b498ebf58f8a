package sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"ticketrail/receiver/contract"
)

// An Employee is somebody who works at a venue.
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

// A member is an employee by the order of joining, which is the order of the list: who joins
// comes last and who leaves moves nobody, so a page boundary stays where it was.
type member struct {
	Employee
	seq uint64
}

// A roster is who works at a venue now.
type roster struct {
	list []member // by seq
	next uint64
	rng  *rand.Rand
}

func newRoster(seed uint64, venueID string, n int) roster {
	r := roster{rng: source(seed, "churn", venueID)}
	for range n {
		r.list = append(r.list, member{Staff(seed, venueID, int(r.next)), r.next})
		r.next++
	}
	return r
}

// after is the position of the first who joined at seq or later.
func (r *roster) after(seq uint64) int {
	i, _ := slices.BinarySearchFunc(r.list, seq, func(m member, seq uint64) int {
		switch {
		case m.seq < seq:
			return -1
		case m.seq > seq:
			return 1
		}
		return 0
	})
	return i
}

func (r *roster) find(id string) int {
	return slices.IndexFunc(r.list, func(m member) bool { return m.ID == id })
}

// employees answers one page.
func (x *exchange) employees() {
	g, ok := x.authorize(contract.ScopeLaborRead)
	if !ok {
		return
	}
	q, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		x.refuse(http.StatusBadRequest, "bad_request", "the query cannot be read")
		return
	}
	limit := contract.DefaultPageSize
	if q.Has(contract.ParamLimit) {
		if limit, err = strconv.Atoi(q.Get(contract.ParamLimit)); err != nil || limit < 1 {
			x.refuse(http.StatusBadRequest, "bad_request", contract.ParamLimit+": want a whole number of 1 or more")
			return
		}
	}
	limit = min(limit, x.s.o.MaxLimit)
	from, cursor := uint64(0), q.Get(contract.ParamCursor)
	if cursor != "" {
		if from, ok = x.s.openCursor(g.venue, cursor); !ok {
			x.refuse(http.StatusBadRequest, "bad_request", contract.ParamCursor+": not one of this venue's")
			return
		}
	}
	records, count, next := x.s.page(g.venue, from, limit)
	if x.faults.has(SameCursor) && cursor != "" {
		next = cursor
	}
	x.list(records, count, next)
}

// page is who joined at from or later, how many there are in all, and the next page's cursor.
func (s *Service) page(venueID string, from uint64, limit int) (records []map[string]any, count int, next string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.venues[venueID].staff
	i := r.after(from)
	end := min(i+limit, len(r.list))
	for _, m := range r.list[i:end] {
		records = append(records, m.record())
	}
	if end < len(r.list) {
		// Behind the last of this page, not at the first of the next, who may have left by then.
		next = s.cursor(venueID, r.list[end-1].seq+1)
	}
	return records, len(r.list), next
}

const macBytes = 12

// cursor names a place in a venue's list. It is signed: nobody can make one up or use another
// venue's.
func (s *Service) cursor(venueID string, seq uint64) string {
	b := binary.BigEndian.AppendUint64(nil, seq)
	return base64.RawURLEncoding.EncodeToString(append(b, s.mac(venueID, b)...))
}

func (s *Service) openCursor(venueID, cursor string) (uint64, bool) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != 8+macBytes || !hmac.Equal(b[8:], s.mac(venueID, b[:8])) {
		return 0, false
	}
	return binary.BigEndian.Uint64(b), true
}

func (s *Service) mac(venueID string, b []byte) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(venueID))
	m.Write(b)
	return m.Sum(nil)[:macBytes]
}

// Employees are those who work at a venue now, in the order of the list; nil when there is no
// such venue.
func (s *Service) Employees(venueID string) (all []Employee) {
	s.change(venueID, func(_ string, r *roster) bool {
		for _, m := range r.list {
			all = append(all, m.Employee)
		}
		return true
	})
	return all
}

// Hire has n more people work at a venue and returns them. They come last in the list.
func (s *Service) Hire(venueID string, n int) (hired []Employee) {
	s.change(venueID, func(id string, r *roster) bool {
		for range n {
			e := Staff(s.o.Seed, id, int(r.next))
			e.UpdatedAt = time.Now()
			r.list = append(r.list, member{e, r.next})
			r.next++
			hired = append(hired, e)
		}
		return true
	})
	return hired
}

// Leave ends somebody's work at a venue: only active employees are listed.
func (s *Service) Leave(venueID, employeeID string) bool {
	return s.change(venueID, func(_ string, r *roster) bool {
		i := r.find(employeeID)
		if i >= 0 {
			r.list = slices.Delete(r.list, i, i+1)
		}
		return i >= 0
	})
}

// Rename gives somebody another display name, as people do by hand in the point of sale.
func (s *Service) Rename(venueID, employeeID, name string) bool {
	return s.change(venueID, func(_ string, r *roster) bool {
		i := r.find(employeeID)
		if i >= 0 {
			r.list[i].Name, r.list[i].UpdatedAt = name, time.Now()
		}
		return i >= 0
	})
}

func (s *Service) change(venueID string, do func(id string, r *roster) bool) bool {
	venueID, _ = contract.CanonicalID(venueID)
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.venues[venueID]
	return v != nil && do(venueID, &v.staff)
}

// churn lets somebody join, leave or get another name.
func (s *Service) churn(venueID string) {
	s.change(venueID, func(id string, r *roster) bool {
		what := r.rng.IntN(3)
		if len(r.list) == 0 || what == 0 {
			e := Staff(s.o.Seed, id, int(r.next))
			e.UpdatedAt = time.Now()
			r.list = append(r.list, member{e, r.next})
			r.next++
			return true
		}
		i := r.rng.IntN(len(r.list))
		if what == 1 {
			r.list = slices.Delete(r.list, i, i+1)
			return true
		}
		r.list[i].Name, r.list[i].UpdatedAt = r.list[i].FirstName, time.Now()
		return true
	})
}
