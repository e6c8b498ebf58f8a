package pos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that time zones are known on a box without time zone files

	"ticketrail/receiver/contract"
)

// An Employee is active at the venue. Fields that are missing, or not what the contract says, are empty: a name that
// cannot be read is no reason to lose the others.
type Employee struct {
	ID        string          `json:"id"`
	UpdatedAt string          `json:"updatedAt"`
	Name      string          `json:"name"` // for display: mostly first name, initial of the last name, period
	FirstName string          `json:"firstName"`
	LastName  string          `json:"lastName"`
	Raw       json.RawMessage `json:"-"` // the record as received
}

// Employees are the venue's active employees, in the service's order, each id once. An error is the last element; one
// case goes unseen: a service that pages by position, and as many hired as left between two pages.
func (v *Venue) Employees(ctx context.Context) iter.Seq2[Employee, error] {
	query := url.Values{}
	if n := v.c.o.PageLimit; n > 0 {
		query.Set(contract.ParamLimit, strconv.Itoa(n))
	}
	return list(ctx, v, CallEmployees, v.c.o.LaborPrefix+contract.PathEmployees, query,
		func(raw json.RawMessage) (Employee, string, error) {
			e := Employee{Raw: raw}
			// One record that is no object makes the page untrustworthy: a shorter list would remove people.
			if raw[0] != '{' {
				return e, "", errors.New("want an object")
			}
			_ = json.Unmarshal(raw, &e) // goes on after a field of another type
			e.ID, _ = contract.CanonicalID(e.ID)
			return e, e.ID, nil
		})
}

// A PayrollPeriod is the time from one pay day to the next. Its dates are written as 2026-01-31 and exist. They stay
// text: a day has no time zone, and a time.Time would invent one.
type PayrollPeriod struct {
	ID        string          `json:"id"`
	UpdatedAt string          `json:"updatedAt"`
	Start     string          `json:"payrollPeriodStartDateTime"` // the first day
	End       string          `json:"payrollPeriodEndDateTime"`   // the last day
	Meta      PayrollMeta     `json:"meta"`
	Raw       json.RawMessage `json:"-"` // the record as received
}

// PayrollMeta are the venue's labor settings behind a period. What is missing is empty or nil: no limit of hours is not
// a limit of 0 hours.
type PayrollMeta struct {
	SchedulingStartDay  string   `json:"laborSchedulingStartDayOfWeek"` // a day is passed on as it came
	OvertimeStartDay    string   `json:"overtimeWeekStartDayOfWeek"`
	PayPeriodStart      string   `json:"payPeriodStartAt"`
	PayPeriodEnd        string   `json:"payPeriodEndAt"`
	Timezone            string   `json:"timezone"` // a name that [time.LoadLocation] knows, or ""
	OvertimeDailyDouble *float64 `json:"overtimeDailyDoubleHours"`
	OvertimeDaily       *float64 `json:"overtimeDailyHours"`
	OvertimeWeekly      *float64 `json:"overtimeWeeklyHours"`
}

// PayrollPeriods are the venue's, in the service's order. Pay depends on them, so what does not exist is an error. With
// an incomplete list, what was received is returned too; with any other error, nothing.
func (v *Venue) PayrollPeriods(ctx context.Context) ([]PayrollPeriod, error) {
	query := url.Values{v.c.o.PayrollVenueParam: {v.id}}
	path := v.c.o.LaborPrefix + contract.PathPayrollPeriods
	return Collect(list(ctx, v, CallPayrollPeriods, path, query, readPeriod))
}

// Collect returns the elements of a list. If it broke off there are none, because a part would look like the whole; if
// it is only incomplete, those that came.
func Collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for one, err := range list {
		if Incomplete(err) {
			return all, err
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// readPeriod reads a record. Its error is the first problem, with the field's name.
func readPeriod(raw json.RawMessage) (PayrollPeriod, string, error) {
	p := PayrollPeriod{Raw: raw}
	if err := json.Unmarshal(raw, &p); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			kind, _, _ := strings.Cut(e.Value, " ") // without the number itself
			return p, "", fmt.Errorf("%s: cannot be a %s", e.Field, kind)
		}
		return p, "", err
	}
	p.ID, _ = contract.CanonicalID(p.ID)

	const date, meta = "a date like 2026-01-31", contract.FieldMeta + "."
	m := p.Meta
	for _, f := range []struct {
		name, value, want string
		valid             func(string) bool
	}{
		{contract.FieldPeriodStart, cmp.Or(p.Start, "nothing"), date, isDate},
		{contract.FieldPeriodEnd, cmp.Or(p.End, "nothing"), date, isDate},
		// A venue need not have what follows.
		{meta + contract.FieldPayPeriodStartAt, m.PayPeriodStart, date, isDate},
		{meta + contract.FieldPayPeriodEndAt, m.PayPeriodEnd, date, isDate},
		{meta + contract.FieldTimezone, m.Timezone,
			"in the time zone database; correct it in the point of sale, or set the venue's timezone here", isZone},
	} {
		if f.value != "" && !f.valid(f.value) {
			return p, "", fmt.Errorf("%s: %q is not %s", f.name, oneLine(f.value, maxQuote), f.want)
		}
	}
	return p, p.ID, nil
}

func isDate(s string) bool {
	t, err := time.Parse(time.DateOnly, s)
	return err == nil && t.Year() > 0
}

func isZone(s string) bool {
	_, err := time.LoadLocation(s)
	return err == nil && s != "Local" // which is this box's zone, not the venue's
}
