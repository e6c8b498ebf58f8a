package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

func (c *cli) laborPayrollPeriods() *cobra.Command {
	columns := []string{
		"id", "start", "end", "timezone", "pay_period_start", "pay_period_end", "overtime_daily_hours",
		"overtime_daily_double_hours", "overtime_weekly_hours", "overtime_week_start", "scheduling_week_start", "updated_at",
	}
	return c.labor("payrollperiods", "the payroll periods of a venue and their overtime rules", columns, func(cmd *cobra.Command, venue string) (report, error) {
		all, err := doctor.PayrollPeriods(cmd.Context(), c.config, venue)
		r := report{heads: []string{"START", "END", "TIMEZONE", "OVERTIME A DAY", "DOUBLE", "A WEEK", "WEEK FROM", "SCHEDULE FROM", "ID"}, all: all}
		for _, p := range all {
			m := p.Meta
			start, end := p.Start, p.End
			r.rows = append(r.rows, reportRow{
				table: []string{start, end, m.Timezone, hours(m.OvertimeDaily), hours(m.OvertimeDailyDouble), hours(m.OvertimeWeekly),
					strings.ToLower(m.OvertimeStartDay), strings.ToLower(m.SchedulingStartDay), p.ID},
				csv: []string{p.ID, start, end, m.Timezone, m.PayPeriodStart, m.PayPeriodEnd, hours(m.OvertimeDaily),
					hours(m.OvertimeDailyDouble), hours(m.OvertimeWeekly), m.OvertimeStartDay, m.SchedulingStartDay, stamp(p.UpdatedAt)},
			})
		}
		return r, err
	})
}

// hours are empty when they are not said, which is not 0 hours.
func hours(h *float64) string {
	if h == nil {
		return ""
	}
	return strconv.FormatFloat(*h, 'f', -1, 64)
}
