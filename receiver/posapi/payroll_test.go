package posapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const period = `{"id":"p1","updatedAt":"2026-01-02T03:04:05Z","payrollPeriodStartDateTime":"2026-01-05",` +
	`"payrollPeriodEndDateTime":"2026-01-18","meta":{` +
	`"laborSchedulingStartDayOfWeek":"SUNDAY","payPeriodStartAt":"2026-01-05",` +
	`"overtimeWeekStartDayOfWeek":"MONDAY","payPeriodEndAt":"2026-01-18",` +
	`"timezone":"Australia/Melbourne","overtimeDailyDoubleHours":12,"overtimeDailyHours":8.5,` +
	`"overtimeWeeklyHours":"40","extra":1}}`

func TestPayrollPeriodIsReadCompletely(t *testing.T) {
	second := `{"id":"p2","payrollPeriodStartDateTime":"2024-02-29","payrollPeriodEndDateTime":"2024-02-29"}`
	s := payroll(list(2, period, second))
	got, err := client(t, s, &Options{PayrollVenueParam: "venue"}).PayrollPeriods(t.Context(), grill)
	if err != nil {
		t.Fatal(err)
	}
	const leap = "2024-02-29"
	want := []PayrollPeriod{{
		ID: "p1", UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Start: "2026-01-05", End: "2026-01-18",
		Meta: PayrollMeta{
			SchedulingStartDay: "SUNDAY", OvertimeStartDay: "MONDAY",
			PayPeriodStart: "2026-01-05", PayPeriodEnd: "2026-01-18", Timezone: "Australia/Melbourne",
			OvertimeDailyDouble: new(12.0), OvertimeDaily: new(8.5), OvertimeWeekly: new(40.0),
		},
		Raw: json.RawMessage(period),
	}, {ID: "p2", Start: leap, End: leap, Raw: got[1].Raw}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if b, err := json.Marshal(got[0]); err != nil || string(b) != period {
		t.Errorf("%s, %v", b, err)
	}
	if calls := s.calls(); !slices.Equal(calls, []string{"/api/v1/labor/payrollperiods?venue=" + grill}) {
		t.Error(calls)
	}
}

func TestInvalidPayrollPeriodIsAnError(t *testing.T) {
	for _, c := range []struct{ replace, by, want string }{
		{`"Australia/Melbourne"`, `"Mars/Olympus\u0007"`, `records[0].meta.timezone: "Mars/Olympus" is not in the ` +
			`time zone database; correct it in the point of sale, or set the venue's timezone here`},
		{`"Australia/Melbourne"`, `"Local"`, `records[0].meta.timezone: "Local" is not in the time zone database; ` +
			`correct it in the point of sale, or set the venue's timezone here`},
		{`"Australia/Melbourne"`, `"../etc/passwd"`, `records[0].meta.timezone: "../etc/passwd" is not in the ` +
			`time zone database; correct it in the point of sale, or set the venue's timezone here`},
		{`"Australia/Melbourne"`, `10`, `records[0].meta.timezone: want a string, got a number`},
		{`"payrollPeriodStartDateTime":"2026-01-05"`, `"payrollPeriodStartDateTime":"2026-02-30"`,
			`records[0].payrollPeriodStartDateTime: "2026-02-30" is not a date like 2026-01-31`},
		{`"payrollPeriodStartDateTime":"2026-01-05"`, `"payrollPeriodStartDateTime":"2026-01-05T00:00:00Z"`,
			`records[0].payrollPeriodStartDateTime: "2026-01-05T00:00:00Z" is not a date like 2026-01-31`},
		{`"payrollPeriodEndDateTime":"2026-01-18"`, `"payrollPeriodEndDateTime":null`,
			`records[0].payrollPeriodEndDateTime: missing`},
		{`"payPeriodEndAt":"2026-01-18"`, `"payPeriodEndAt":"18/01/2026"`,
			`records[0].meta.payPeriodEndAt: "18/01/2026" is not a date like 2026-01-31`},
		{`"MONDAY"`, `"MO"`, `records[0].meta.overtimeWeekStartDayOfWeek: "MO" is not a day of the week`},
		{`8.5`, `"eight"`, `records[0].meta.overtimeDailyHours: want hours, got a string`},
		{`8.5`, `-1`, `records[0].meta.overtimeDailyHours: want hours, got a number`},
		{`8.5`, `"NaN"`, `records[0].meta.overtimeDailyHours: want hours, got a string`},
		{`"meta":{`, `"meta":"none","x":{`, `records[0].meta: want an object, got a string`},
	} {
		body := strings.Replace(period, c.replace, c.by, 1)
		got, err := client(t, payroll(list(1, body)), nil).PayrollPeriods(t.Context(), grill)
		if want := "payrollperiods of venue " + grill + ": " + c.want; got != nil || !errors.Is(err, ErrMalformed) ||
			err.Error() != want {
			t.Errorf("%v, %v, want %s", got, err, want)
		}
	}
}

func TestPayrollPeriodsAreReturnedBesideACountError(t *testing.T) {
	got, err := client(t, payroll(list(2, period)), nil).PayrollPeriods(t.Context(), grill)
	if _, ok := errors.AsType[*CountError](err); !ok || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestEachWeekdayOfTheContractIsValid(t *testing.T) {
	for _, day := range []string{"SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY",
		"Sunday"} {
		s := payroll(list(1, strings.Replace(period, "MONDAY", day, 1)))
		got, err := client(t, s, nil).PayrollPeriods(t.Context(), grill)
		if err != nil || got[0].Meta.OvertimeStartDay != strings.ToUpper(day) {
			t.Errorf("%s: %v", day, err)
		}
	}
}

func payroll(body string) *service {
	return &service{Payroll: func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, body) }}
}
