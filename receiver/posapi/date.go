package posapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// A Date is a day of the calendar, at no hour and in no time zone. The zero Date is none.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate reads YYYY-MM-DD, a day that exists.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() == 0 {
		return Date{}, fmt.Errorf("%q is not a date like 2026-01-31", printable(s, maxQuote))
	}
	y, m, d := t.Date()
	return Date{y, m, d}, nil
}

// IsZero says that d is no date.
func (d Date) IsZero() bool { return d == Date{} }

// String is YYYY-MM-DD, and "" for the zero Date.
func (d Date) String() string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// Compare is -1, 0 or +1: d is before, is, or is after e.
func (d Date) Compare(e Date) int {
	return cmp.Or(cmp.Compare(d.Year, e.Year), cmp.Compare(d.Month, e.Month), cmp.Compare(d.Day, e.Day))
}

// MarshalJSON is the string YYYY-MM-DD, and null for the zero Date.
func (d Date) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(d.String())
}

// UnmarshalJSON reads what [Date.MarshalJSON] writes.
func (d *Date) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("date: want a string like \"2026-01-31\"")
	}
	if s == nil {
		*d = Date{}
		return nil
	}
	var err error
	*d, err = ParseDate(*s)
	return err
}
