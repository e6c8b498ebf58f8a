package pos

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that time zones are known on a box without time zone files

	"ticketrail/receiver/contract"
)

// An Employee is active at the venue. Fields that are missing, or of another type, are empty: a name that
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
func (v *Account) Employees(ctx context.Context) iter.Seq2[Employee, error] {
	query := url.Values{}
	if limit := v.c.o.Employees.Limit; limit > 0 {
		query.Set(contract.ParamLimit, strconv.Itoa(limit))
	}

	return list(ctx, v, CallEmployees, v.c.o.Labor.Prefix+contract.PathEmployees, query,
		func(raw json.RawMessage) (Employee, string, error) {
			employee := Employee{Raw: raw}
			_ = json.Unmarshal(raw, &employee) // goes on after a field of another type
			employee.ID, _ = contract.CanonicalID(employee.ID)
			return employee, employee.ID, nil
		})
}

// A PayrollPeriod is the time from one pay day to the next. Its dates, such as 2026-01-31, stay text as they came: a
// day has no time zone, and a time.Time would invent one.
type PayrollPeriod struct {
	ID        string          `json:"id"`
	UpdatedAt string          `json:"updatedAt"`
	Start     string          `json:"payrollPeriodStartDateTime"` // the first day
	End       string          `json:"payrollPeriodEndDateTime"`   // the last day
	Meta      PayrollMeta     `json:"meta"`
	Raw       json.RawMessage `json:"-"` // the record as received
}

// PayrollMeta are the venue's labor settings behind a period. A missing value is empty or nil: no limit of hours is not
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

// PayrollPeriods are the venue's, in the service's order. An error is the last element.
func (v *Account) PayrollPeriods(ctx context.Context) iter.Seq2[PayrollPeriod, error] {
	query := url.Values{v.c.o.Payroll.VenueParam: {v.id}}
	return list(ctx, v, CallPayrollPeriods, v.c.o.Labor.Prefix+contract.PathPayrollPeriods, query, readPeriod)
}

// Zone is the time zone of the newest payroll period: that is the one active now or soon. With an error it is the zone
// of the periods received.
func (v *Account) Zone(ctx context.Context) (string, error) {
	var newest PayrollPeriod
	for p, err := range v.PayrollPeriods(ctx) {
		if err != nil {
			return newest.Meta.Timezone, err
		}
		if p.Meta.Timezone != "" && cmp.Or(cmp.Compare(p.Start, newest.Start), cmp.Compare(p.End, newest.End)) >= 0 {
			newest = p
		}
	}

	if newest.Meta.Timezone == "" {
		return "", v.fault(CallPayrollPeriods, "no payroll period has a time zone: the venue's tickets show UTC",
			"set the venue's timezone in the configuration")
	}
	return newest.Meta.Timezone, nil
}

// readPeriod reads a record. Its error has the field's name.
func readPeriod(raw json.RawMessage) (PayrollPeriod, string, error) {
	period := PayrollPeriod{Raw: raw}
	err := json.Unmarshal(raw, &period)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(wrong.Value, " ") // without the number itself
		err = fmt.Errorf("%s: cannot be a %s", wrong.Field, kind)
	}

	zone := period.Meta.Timezone
	if _, unknown := time.LoadLocation(zone); unknown != nil || zone == "Local" { // which is this box's zone
		err = fmt.Errorf("%s.%s: %q is not in the time zone database; correct it in the point of sale, or set the "+
			"venue's timezone here", contract.FieldMeta, contract.FieldTimezone, contract.OneLine(zone, maxQuote))
	}

	period.ID, _ = contract.CanonicalID(period.ID)
	return period, period.ID, err
}

// A list is read page by page, and the contract states neither where a page names the next one nor how the list behaves
// when it changes between two pages. So a record that comes twice is left out, a cursor that comes twice ends the list
// with an error, and the counts that pages name are compared at the end.

const (
	maxRecords  = 25_000    // of one list, repeated ones included
	headerPlace = "header:" // before the name of a header, where other places are paths into the envelope
)

// A listing is kept from page to page. It has hashes of ids and cursors: the service decides how long they are.
type listing struct {
	v        *Account
	call     string
	query    url.Values // of the next page
	more     bool       // there is one
	seen     map[[sha256.Size]byte]bool
	cursorAt string // where the pages name the next one; "": not known yet
	paged    bool   // one of them has named it
	received int    // records, repeated ones included
	yielded  int    // without them
	counts   []int  // as the pages name them
	keys     string // of the latest page
}

// list yields the records of a list, each id once; read returns a record and its id. An error is the last element;
// see [Error.Incomplete]. Pages are requested as the sequence gets to them.
func list[T any](
	ctx context.Context, v *Account, call, path string, query url.Values, read func(json.RawMessage) (T, string, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		pages := &listing{v: v, call: call, query: maps.Clone(query), more: true,
			seen: map[[sha256.Size]byte]bool{}, cursorAt: v.c.o.Employees.Cursor}
		var none T

		for pages.more {
			page, err := pages.next(ctx, path)
			if err != nil {
				yield(none, err)
				return
			}

			for record := range page.All() {
				one, id, err := read(json.RawMessage(record.Text()))
				// One record that is no object makes the page untrustworthy: a shorter list would remove people.
				if record.Kind() != '{' {
					err = errors.New("want an object")
				}
				if err != nil {
					yield(none, pages.malformed("%s[%d]: %v", contract.FieldRecords, pages.received, err))
					return
				}
				// When somebody is hired while the list is read, the next page repeats a record.
				if pages.received++; id != "" && pages.known("id", id) {
					continue
				}
				if pages.yielded++; !yield(one, nil) {
					return
				}
			}
		}

		if err := pages.compareCounts(); err != nil {
			yield(none, err)
		}
	}
}

// next requests the next page.
func (l *listing) next(ctx context.Context, path string) (contract.Value, error) {
	if l.known("cursor", l.query.Get(contract.ParamCursor)) {
		return nil, l.malformed("the service names the same next page twice; the list would never end")
	}
	answered, err := l.v.get(ctx, l.call, path, l.query)
	if err != nil {
		return nil, err
	}

	page := answered.body.Get(contract.FieldRecords)
	switch {
	case cmp.Or(text(answered.body.Get(contract.FieldStatus)), contract.ValueSuccess) != contract.ValueSuccess:
		return nil, l.malformed("the answer's %s is not %s", contract.FieldStatus, contract.ValueSuccess)
	case page.Kind() != '[':
		return nil, l.malformed("%s: want an array", contract.FieldRecords)
	case l.received+page.Len() > maxRecords:
		return nil, l.malformed("the list has more than %d records", maxRecords)
	}

	// A count that is no number counts as not sent: it is only a cross-check.
	if count, err := strconv.Atoi(text(answered.body.Get(contract.FieldCount))); err == nil && count >= 0 {
		l.counts = append(l.counts, count)
	}

	cursor := l.nextCursor(answered)
	l.query.Set(contract.ParamCursor, cursor)
	l.keys, l.more = keys(answered.body), cursor != "" && page.Len() > 0
	return page, nil
}

// known says whether this came before. The kind keeps ids and cursors apart.
func (l *listing) known(kind, s string) bool {
	hash := sha256.Sum256([]byte(kind + s))
	was := l.seen[hash]
	l.seen[hash] = true
	return was
}

func (l *listing) malformed(format string, args ...any) error {
	return l.v.fault(l.call, fmt.Sprintf(format, args...), adviceTell)
}

// compareCounts compares with every count: when the count changes between two pages, a record may have moved from a
// page that is not read yet to one that is, and the last count agrees all the same.
func (l *listing) compareCounts() error {
	for _, n := range l.counts {
		if n == l.yielded {
			continue
		}
		failed := l.v.fault(l.call, fmt.Sprintf("received %d, but the service counts %d", l.yielded, n),
			"the list changed while it was read: try again; if it persists check service.employees.cursor")
		if l.yielded < n && !l.paged {
			failed.Problem += "; no cursor of a next page was found in the answer: " + l.keys
			failed.Advice = "name its place with service.employees.cursor"
		}

		failed.Incomplete = true
		return failed
	}

	return nil
}

// nextCursor finds the cursor of the next page; "": this is the last. The contract states no place. Where one page
// names it, all do. Until that place is known, one whose name says "next" is believed even if it is empty: a plain
// "cursor" beside it may be the page's own.
func (l *listing) nextCursor(answered answer) string {
	places := []string{headerPlace + "X-Next-Cursor", "nextCursor", "next_cursor", "meta.nextCursor",
		"meta.next_cursor", "pagination.nextCursor", "pagination.next_cursor", "cursor", "meta.cursor",
		"pagination.cursor"}
	if l.cursorAt != "" {
		places = []string{l.cursorAt}
	}

	emptyNext := false
	for _, place := range places {
		value, there := text(answered.body.At(place)), answered.body.At(place) != nil
		if name, isHeader := strings.CutPrefix(place, headerPlace); isHeader {
			value, there = strings.TrimSpace(answered.header.Get(name)), answered.header.Values(name) != nil
		}

		isNext := strings.Contains(strings.ToLower(place), "next")
		if value != "" && (isNext || !emptyNext) {
			l.cursorAt, l.paged = place, true
			return value
		}
		emptyNext = emptyNext || isNext && there
	}
	return ""
}
