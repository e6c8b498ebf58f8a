package sim

import (
	"net/http"
	"time"

	"ticketrail/receiver/contract"
)

// Two weeks are a common pay period.
const (
	periodDays = 14
	periods    = 6 // that are listed; the last is the current one
)

// payrollPeriods answers with the periods of the token's venue, the oldest first. There is one page
// only: the contract names no cursor for this call.
func (x *exchange) payrollPeriods() {
	granted, ok := x.authorize(scopeLabor)
	if !ok {
		return
	}

	const param = contract.ParamPayrollVenue
	asked := x.r.URL.Query().Get(param)
	if asked == "" {
		x.refuse(http.StatusBadRequest, "bad_request", param+": missing")
		return
	}

	if id, _ := contract.CanonicalID(asked); id != granted.venue {
		x.unauthorized("the access token is for another venue")
		return
	}

	venue := x.s.venues[granted.venue]
	var records []map[string]any
	first := currentPeriod(venue.Zone) - periods + 1
	for n := range periods {
		records = append(records, x.s.period(venue, first+n))
	}

	x.list(records, len(records), "")
}

// anchor is the Monday on which period 0 begins: fixed, so that a period has the same id on every
// day of a test, and before any clock.
func anchor() time.Time { return time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC) }

// currentPeriod is the number of the period that contains today, by the date in a zone.
func currentPeriod(zone string) int {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC
	}
	year, month, day := time.Now().In(loc).Date()
	return int(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Sub(anchor())/(24*time.Hour)) / periodDays
}

// period is the nth period of a venue, with the fields and example values of the contract (section 2.3).
func (s *Service) period(v *Restaurant, n int) map[string]any {
	start := anchor().AddDate(0, 0, n*periodDays)
	end := start.AddDate(0, 0, periodDays-1)

	return map[string]any{
		contract.FieldID:          newID(newRand(s.o.Seed, "payroll", v.ID, start.Format(time.DateOnly))),
		contract.FieldUpdatedAt:   stamp(start.AddDate(0, 0, -3).Add(9 * time.Hour)),
		contract.FieldPeriodStart: start.Format(time.DateOnly),
		contract.FieldPeriodEnd:   end.Format(time.DateOnly),
		contract.FieldMeta: map[string]any{
			"laborSchedulingStartDayOfWeek": "MONDAY",
			contract.FieldPayPeriodStartAt:  start.Format(time.DateOnly),
			"overtimeWeekStartDayOfWeek":    "MONDAY",
			contract.FieldPayPeriodEndAt:    end.Format(time.DateOnly),
			contract.FieldTimezone:          v.Zone,
			"overtimeDailyDoubleHours":      12,
			"overtimeDailyHours":            8,
			"overtimeWeeklyHours":           38.5,
		},
	}
}
