package posapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that time zones are known on a box without time zone files

	"ticketrail/receiver/contract"
)

// An Employee is active at the venue. Fields that are missing, or not what the contract says, are
// zero: a name that cannot be read is no reason to lose the others. Raw has them as they came.
type Employee struct {
	ID        string // canonical, if it is a UUID
	Name      string // for display: mostly first name, initial of the last name, period
	FirstName string
	LastName  string
	UpdatedAt time.Time       // in UTC; zero: missing or not readable
	Raw       json.RawMessage // the record as received, unknown fields included
}

// MarshalJSON is the record as received, unknown fields included.
func (e Employee) MarshalJSON() ([]byte, error) { return e.Raw.MarshalJSON() }

// Employees are the venue's active employees, in the service's order, each id once. Pages are
// requested as the sequence gets to them, and each run of the sequence starts anew. An error is
// the last element: an [*Error] when the list breaks off, and a [*CountError] when it ended with
// another number of employees than a page named. One case goes unseen: a service that pages by
// position, and as many hired as left between two pages.
func (v *Venue) Employees(ctx context.Context) iter.Seq2[Employee, error] {
	query := url.Values{}
	if v.c.o.PageLimit > 0 {
		query.Set(contract.ParamLimit, strconv.Itoa(v.c.o.PageLimit))
	}
	return func(yield func(Employee, error) bool) {
		for r, err := range v.list(ctx, CallEmployees, v.c.o.LaborPrefix+contract.PathEmployees, query) {
			e := Employee{
				ID:        r.id(),
				Name:      jsonText(r.fields[contract.FieldName]),
				FirstName: jsonText(r.fields[contract.FieldFirstName]),
				LastName:  jsonText(r.fields[contract.FieldLastName]),
				UpdatedAt: jsonTime(r.fields[contract.FieldUpdatedAt]),
				Raw:       r.raw,
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A PayrollPeriod is the time from one pay day to the next, and its overtime rules. Its dates are
// written as 2026-01-31 and exist. Dates stay text: a day has no time zone, and a time.Time would
// invent one.
type PayrollPeriod struct {
	ID        string    // canonical, if it is a UUID
	UpdatedAt time.Time // in UTC; zero: missing or not readable
	Start     string    // the first day
	End       string    // the last day
	Meta      PayrollMeta
	Raw       json.RawMessage // the record as received, unknown fields included
}

// PayrollMeta are the venue's labor settings behind a period. What is missing is empty or nil: no
// limit of hours is not a limit of 0 hours.
type PayrollMeta struct {
	SchedulingStartDay  string   // in capitals: SUNDAY
	OvertimeStartDay    string   // in capitals
	PayPeriodStart      string   // date
	PayPeriodEnd        string   // date
	Timezone            string   // a name that [time.LoadLocation] knows, or ""
	OvertimeDailyDouble *float64 // hours a day, after which they are paid double
	OvertimeDaily       *float64 // hours a day, after which they are overtime
	OvertimeWeekly      *float64 // hours a week, after which they are overtime
}

// MarshalJSON is the record as received, unknown fields included.
func (p PayrollPeriod) MarshalJSON() ([]byte, error) { return p.Raw.MarshalJSON() }

// PayrollPeriods are the venue's, in the service's order. Pay depends on them, so a date, a day or
// a time zone that does not exist is an error. With a [*CountError], what was received
// is returned too; with any other error, nothing. All of them are collected before any is returned, unlike
// employees: there are a few each year.
func (v *Venue) PayrollPeriods(ctx context.Context) ([]PayrollPeriod, error) {
	periods := []PayrollPeriod{}
	query := url.Values{v.c.o.PayrollVenueParam: {v.id}}
	for r, err := range v.list(ctx, CallPayrollPeriods, v.c.o.LaborPrefix+contract.PathPayrollPeriods, query) {
		if _, ok := errors.AsType[*CountError](err); ok {
			return periods, err
		}
		if err != nil {
			return nil, err
		}
		p, problem := r.period()
		if problem != "" {
			return nil, v.fault(CallPayrollPeriods, ErrMalformed, "%s", problem)
		}
		periods = append(periods, p)
	}
	return periods, nil
}

// period returns the first problem of the record, or "". What is missing in meta is no problem: a
// venue need not have overtime rules.
func (r record) period() (PayrollPeriod, string) {
	f := fields{of: r.fields, path: r.path()}
	p := PayrollPeriod{ID: r.id(), UpdatedAt: jsonTime(r.fields[contract.FieldUpdatedAt]), Raw: r.raw}
	p.Start, p.End = f.date(contract.FieldPeriodStart), f.date(contract.FieldPeriodEnd)
	meta := r.fields[contract.FieldMeta]
	m := fields{of: jsonObject(meta), path: r.path() + "." + contract.FieldMeta}
	switch {
	case p.Start == "":
		f.report(contract.FieldPeriodStart, "missing")
	case p.End == "":
		f.report(contract.FieldPeriodEnd, "missing")
	case m.of == nil && !jsonNull(meta):
		f.report(contract.FieldMeta, "want an object, got "+jsonKind(meta))
	}
	p.Meta = PayrollMeta{
		SchedulingStartDay:  m.weekday(contract.FieldSchedulingStartDay),
		OvertimeStartDay:    m.weekday(contract.FieldOvertimeStartDay),
		PayPeriodStart:      m.date(contract.FieldPayPeriodStartAt),
		PayPeriodEnd:        m.date(contract.FieldPayPeriodEndAt),
		Timezone:            m.zone(contract.FieldTimezone),
		OvertimeDailyDouble: m.hours(contract.FieldOvertimeDailyDouble),
		OvertimeDaily:       m.hours(contract.FieldOvertimeDaily),
		OvertimeWeekly:      m.hours(contract.FieldOvertimeWeekly),
	}
	return p, cmp.Or(f.problem, m.problem)
}

// fields reads members of an object and keeps the first problem: one is enough to distrust the
// record, and the point of sale is corrected one field at a time.
type fields struct {
	of      map[string]json.RawMessage
	path    string
	problem string
}

// report keeps a problem, if it is the first.
func (f *fields) report(name, problem string) {
	f.problem = cmp.Or(f.problem, f.path+"."+name+": "+problem)
}

// text is a string that is valid, "" where there is none.
func (f *fields) text(name string, valid func(string) bool, want string) string {
	raw := f.of[name]
	s := strings.TrimSpace(jsonText(raw))
	if k := jsonKind(raw); !jsonNull(raw) && k != "a string" {
		f.report(name, "want a string, got "+k)
	} else if s != "" && !valid(s) {
		f.report(name, fmt.Sprintf("%q is not %s", printable(s), want))
	}
	return s
}

func (f *fields) date(name string) string {
	return f.text(name, func(s string) bool {
		t, err := time.Parse(time.DateOnly, s)
		return err == nil && t.Year() > 0
	}, "a date like 2026-01-31")
}

func (f *fields) weekday(name string) string {
	days := []string{"SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"}
	return strings.ToUpper(f.text(name, func(s string) bool {
		return slices.Contains(days, strings.ToUpper(s))
	}, "a day of the week"))
}

func (f *fields) zone(name string) string {
	return f.text(name, func(s string) bool {
		_, err := time.LoadLocation(s)
		return err == nil && s != "Local" // which is this box's zone, not the venue's
	}, "in the time zone database; correct it in the point of sale, or set the venue's timezone here")
}

// hours is nil where there are none.
func (f *fields) hours(name string) *float64 {
	raw := f.of[name]
	if jsonNull(raw) {
		return nil
	}
	h, ok := jsonNumber(raw)
	if !ok || h < 0 {
		f.report(name, "want hours, got "+jsonKind(raw))
	}
	return &h
}
