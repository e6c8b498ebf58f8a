package posapi

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"

	"ticketrail/receiver/contract"
)

// An Employee is active at the venue. Fields that the service left out, or that are not what
// the contract says, are zero; Raw has them as they came.
type Employee struct {
	ID        string // canonical, if it is a UUID
	Name      string // for display: mostly first name, initial of the last name, period
	FirstName string
	LastName  string
	UpdatedAt time.Time       // in UTC; zero: not said, or not readable
	Raw       json.RawMessage // the record as received, unknown fields included
}

// MarshalJSON is the record as received, unknown fields included.
func (e Employee) MarshalJSON() ([]byte, error) { return e.Raw.MarshalJSON() }

// Employees are the venue's active employees, in the service's order, each id once. Pages are
// fetched as the sequence gets to them, and each run of the sequence asks anew. An error is the
// last that comes: an [*Error] when the list breaks off, and a [*CountError] when it came to
// its end with another number of employees than a page said. It cannot see one case: a service
// that pages by position, and as many who left as were hired between two pages.
func (v *Venue) Employees(ctx context.Context) iter.Seq2[Employee, error] {
	query := url.Values{}
	if v.c.o.PageLimit > 0 {
		query.Set(contract.ParamLimit, strconv.Itoa(v.c.o.PageLimit))
	}
	return func(yield func(Employee, error) bool) {
		for r, err := range v.list(ctx, CallEmployees, contract.PathEmployees, query) {
			if !yield(r.employee(), err) {
				return
			}
		}
	}
}

func (r record) employee() Employee {
	updated, _ := jsonTime(r.fields[contract.FieldUpdatedAt])
	return Employee{
		ID:        r.id(),
		Name:      jsonText(r.fields[contract.FieldName]),
		FirstName: jsonText(r.fields[contract.FieldFirstName]),
		LastName:  jsonText(r.fields[contract.FieldLastName]),
		UpdatedAt: updated,
		Raw:       r.raw,
	}
}
