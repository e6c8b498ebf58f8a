package posapi

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// An Employee is active at the venue. Fields that the service left out, or that are not what
// the contract says, are zero; Raw has them as they came.
type Employee struct {
	ID        string // canonical, if it is a UUID
	Name      string // for display: mostly first name, initial of the last name, period
	FirstName string
	LastName  string
	UpdatedAt time.Time       // zero: not said, or not readable
	Raw       json.RawMessage // the record as received, unknown fields included
}

// Employees are the venue's active employees, in the service's order, each id once. Pages are
// fetched as the sequence gets to them, and each run of the sequence asks anew. An error is the
// last that comes: an [*Error] when the list breaks off, and a [*CountError] when it came to
// its end with another number of employees than the service said.
func (v *Venue) Employees(ctx context.Context) iter.Seq2[Employee, error] {
	return func(yield func(Employee, error) bool) { yield(Employee{}, v.todo(CallEmployees)) }
}
