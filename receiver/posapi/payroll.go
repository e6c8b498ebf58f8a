package posapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a time zone is not wrong because this box has no time zone files

	"ticketrail/receiver/contract"
)

// A PayrollPeriod says from when to when work is paid together, and by which rules. Its dates
// are written as 2026-01-31 and exist.
type PayrollPeriod struct {
	ID        string    // canonical, if it is a UUID
	UpdatedAt time.Time // in UTC; zero: not said, or not readable
	Start     string    // the first day
	End       string    // the last day
	Meta      PayrollMeta
	Raw       json.RawMessage // the record as received, unknown fields included
}

// PayrollMeta are the venue's labor settings behind a period. What the service left out is
// empty or nil; no hours are not 0 hours.
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

// PayrollPeriods are the venue's, in the service's order. Pay depends on them, so a date, a day
// or a time zone that does not exist is an error. Beside a [*CountError] what came is returned
// as well; beside any other error nothing is.
func (v *Venue) PayrollPeriods(ctx context.Context) ([]PayrollPeriod, error) {
	periods := []PayrollPeriod{}
	query := url.Values{v.c.o.PayrollVenueParam: {v.id}}
	for r, err := range v.list(ctx, CallPayrollPeriods, contract.PathPayrollPeriods, query) {
		if _, ok := errors.AsType[*CountError](err); ok {
			return periods, err
		}
		if err != nil {
			return nil, err
		}
		p, wrong := r.period()
		if wrong != "" {
			return nil, v.fault(CallPayrollPeriods, ErrMalformed, "%s", v.secrets.hide([]byte(wrong)))
		}
		periods = append(periods, p)
	}
	return periods, nil
}

// period says what is wrong with a record, or "".
func (r record) period() (PayrollPeriod, string) {
	f := fields{of: r.fields, path: r.path()}
	p := PayrollPeriod{ID: r.id(), Raw: r.raw, Start: f.date(contract.FieldPeriodStart, true), End: f.date(contract.FieldPeriodEnd, true)}
	p.UpdatedAt, _ = jsonTime(r.fields[contract.FieldUpdatedAt])
	meta := r.fields[contract.FieldMeta]
	m := fields{of: jsonObject(meta), path: r.path() + "." + contract.FieldMeta, wrong: f.wrong}
	if m.of == nil && !jsonNull(meta) {
		f.say(contract.FieldMeta, "want an object, got "+jsonKind(meta))
		return p, f.wrong
	}
	p.Meta = PayrollMeta{
		SchedulingStartDay:  m.day(contract.FieldSchedulingStartDay),
		OvertimeStartDay:    m.day(contract.FieldOvertimeStartDay),
		PayPeriodStart:      m.date(contract.FieldPayPeriodStartAt, false),
		PayPeriodEnd:        m.date(contract.FieldPayPeriodEndAt, false),
		Timezone:            m.zone(contract.FieldTimezone),
		OvertimeDailyDouble: m.hours(contract.FieldOvertimeDailyDouble),
		OvertimeDaily:       m.hours(contract.FieldOvertimeDaily),
		OvertimeWeekly:      m.hours(contract.FieldOvertimeWeekly),
	}
	return p, m.wrong
}

// fields reads members of an object and keeps the first thing that is wrong.
type fields struct {
	of    map[string]json.RawMessage
	path  string
	wrong string
}

func (f *fields) say(name, problem string) {
	if f.wrong == "" {
		f.wrong = f.path + "." + name + ": " + problem
	}
}

// text is "" where there is none.
func (f *fields) text(name string) string {
	raw := f.of[name]
	if k := jsonKind(raw); !jsonNull(raw) && k != "a string" {
		f.say(name, "want a string, got "+k)
		return ""
	}
	return strings.TrimSpace(jsonText(raw))
}

func (f *fields) date(name string, must bool) string {
	s := f.text(name)
	if s == "" && must {
		f.say(name, "missing")
	}
	if t, err := time.Parse(time.DateOnly, s); s != "" && (err != nil || t.Year() == 0) {
		f.say(name, fmt.Sprintf("%q is not a date like 2026-01-31", printable(s)))
	}
	return s
}

func (f *fields) day(name string) string {
	s := strings.ToUpper(f.text(name))
	days := []string{"", "SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"}
	if !slices.Contains(days, s) {
		f.say(name, fmt.Sprintf("%q is not a day of the week", printable(s)))
	}
	return s
}

func (f *fields) zone(name string) string {
	s := f.text(name)
	if _, err := time.LoadLocation(s); err != nil || s == "Local" { // which is this box's zone, not the venue's
		f.say(name, fmt.Sprintf("%q is not in the time zone database; correct it in the point of sale, or set the venue's timezone here", printable(s)))
	}
	return s
}

func (f *fields) hours(name string) *float64 {
	raw := f.of[name]
	if jsonNull(raw) {
		return nil
	}
	h, ok := jsonNumber(raw)
	if !ok || h < 0 {
		f.say(name, "want hours, got "+jsonKind(raw))
		return nil
	}
	return &h
}
