package posapi

import (
	"context"
	"encoding/json"
	"time"
)

// A PayrollPeriod says from when to when work is paid together, and by which rules.
type PayrollPeriod struct {
	ID        string          `json:"id"` // canonical, if it is a UUID
	UpdatedAt time.Time       `json:"updatedAt,omitzero"`
	Start     Date            `json:"payrollPeriodStartDateTime"` // the first day
	End       Date            `json:"payrollPeriodEndDateTime"`   // the last day
	Meta      PayrollMeta     `json:"meta"`
	Raw       json.RawMessage `json:"-"` // the record as received, unknown fields included
}

// PayrollMeta are the venue's labor settings behind a period. What the service left out is
// empty or nil; no hours are not 0 hours.
type PayrollMeta struct {
	SchedulingStartDay  string   `json:"laborSchedulingStartDayOfWeek"` // SUNDAY
	OvertimeStartDay    string   `json:"overtimeWeekStartDayOfWeek"`
	PayPeriodStart      Date     `json:"payPeriodStartAt"`
	PayPeriodEnd        Date     `json:"payPeriodEndAt"`
	Timezone            string   `json:"timezone"`                 // a name that [time.LoadLocation] knows, or ""
	OvertimeDailyDouble *float64 `json:"overtimeDailyDoubleHours"` // hours a day, after which they are paid double
	OvertimeDaily       *float64 `json:"overtimeDailyHours"`       // hours a day
	OvertimeWeekly      *float64 `json:"overtimeWeeklyHours"`      // hours a week
}

// PayrollPeriods are the venue's, in the service's order. Pay depends on them, so a date or a
// time zone that does not exist is an error. Beside a [*CountError] what came is returned as
// well; beside any other error nothing is.
func (v *Venue) PayrollPeriods(ctx context.Context) ([]PayrollPeriod, error) {
	return nil, v.todo(CallPayrollPeriods)
}
