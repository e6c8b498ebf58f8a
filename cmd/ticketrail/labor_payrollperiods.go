package main

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"

	"ticketrail/receiver/pos"
)

// laborPayrollPeriods lists the periods as the service has them. Start and end are dates without a
// time or a zone, whatever the service's field names say, so they are passed on as text.
func (c *cli) laborPayrollPeriods() *cobra.Command {
	// The names of the CSV are fixed: payroll programs read them.
	columns := []string{
		"id", "start", "end", "timezone", "pay_period_start", "pay_period_end", "overtime_daily_hours",
		"overtime_daily_double_hours", "overtime_weekly_hours", "overtime_week_start",
		"scheduling_week_start", "updated_at",
	}

	short := "list the payroll periods of a venue and their overtime rules"
	return c.labor("payrollperiods", short, columns, func(ctx context.Context, venue *pos.Account) (report, error) {
		return newReport(venue.PayrollPeriods(ctx), func(p pos.PayrollPeriod) (json.RawMessage, []string) {
			meta := p.Meta
			return p.Raw, []string{
				p.ID, p.Start, p.End, meta.Timezone, meta.PayPeriodStart, meta.PayPeriodEnd,
				formatHours(meta.OvertimeDaily), formatHours(meta.OvertimeDailyDouble),
				formatHours(meta.OvertimeWeekly),
				meta.OvertimeStartDay, meta.SchedulingStartDay, formatUTC(p.UpdatedAt),
			}
		})
	})
}

// formatHours is empty if the service sent no number, which differs from 0 hours.
func formatHours(h *float64) string {
	if h == nil {
		return ""
	}
	return strconv.FormatFloat(*h, 'f', -1, 64)
}
