package main

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// terminalLimit is how many jobs are listed on a terminal without --limit. The newest come first;
// with a whole evening's jobs they would scroll away. A pipe gets all of them: a script must not
// work with a part without knowing it.
const terminalLimit = 50

// jobsList is the first command of most searches: an operator has a time, a station, or the paper
// of a ticket in hand.
func (c *cli) jobsList() *cobra.Command {
	var (
		f                     admin.Filter
		states                []string
		since, request, order string
	)

	cmd := &cobra.Command{
		Use:   "list",
		Short: "list tickets, newest first",
		Example: `  ticketrail jobs list --state pending,held
  ticketrail jobs list --station grill --since 2h
  ticketrail jobs list --order 142
  ticketrail jobs list --request 5b7c1d    (as at the foot of the ticket)`,
		Args: noArgs,
	}

	c.stationFlag(cmd, &f.Station, "station", "only jobs of this `station`")
	fl := cmd.Flags()
	fl.StringSliceVar(&states, "state", nil, "only jobs in these `states`: "+strings.Join(admin.StateNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("state",
		cobra.FixedCompletions(admin.StateNames(), cobra.ShellCompDirectiveNoFileComp))
	fl.StringVar(&request, "request", "", "only jobs of this print request: its `id` or the end of it")
	fl.StringVar(&order, "order", "", "only jobs of the order with this `number`, as it is called out")
	fl.StringVar(&since, "since", "",
		"only jobs received since this `time`: 2h, 3d, 18:30, 2026-11-20, \"2026-11-20 18:30\" or RFC 3339")
	fl.IntVar(&f.Limit, "limit", 0, "at most this many, newest first; 0 is all (default: 50 on a terminal, else all)")

	return query(c, cmd, func(ctx context.Context, d *admin.Client, _ []string) (jobs []admin.Job, err error) {
		// Before the daemon is asked for the kitchen's zone, so that a mistake is told in any case.
		if _, err = parseSince(since, time.Now()); err != nil {
			return nil, err
		}

		if f.Limit < 0 {
			return nil, usagef("--limit %d is negative: use 0 for all jobs", f.Limit)
		}
		for _, s := range states {
			f.States = append(f.States, ticket.State(s))
		}
		if err = c.findZone(ctx, d); err != nil {
			return nil, err
		}
		if f.Since, err = parseSince(since, time.Now().In(c.location())); err != nil {
			return nil, err
		}

		// A limit that the operator gave is meant as given, also 0 for all. The group has the flags of its list.
		short := isTerminal(c.out) && !fl.Changed("limit")
		if short {
			f.Limit = terminalLimit
		}

		jobs, err = listJobs(ctx, d, f, request, order)
		// On stderr: it is not a part of the list. Exactly 50 jobs cause it too, which does no harm.
		if short && len(jobs) == terminalLimit {
			err = errors.Join(err, printLine(c.err, "only the newest %d are shown; --limit 0 shows all", terminalLimit))
		}
		return jobs, err
	}, c.jobTable)
}

// listJobs asks the daemon for jobs. The daemon finds a request by its whole id, but an operator
// has only the end of one, from the foot of a ticket, so that case is filtered here. The end is
// enough: the foot of a ticket shows six characters of a UUID, which two orders of an evening
// hardly ever share.
func listJobs(ctx context.Context, d *admin.Client, f admin.Filter, request, order string) ([]admin.Job, error) {
	if request == "" && order == "" {
		return d.Jobs(ctx, f)
	}

	// The daemon's limit would count jobs of other requests.
	limit := f.Limit
	f.Limit = 0
	all, err := d.Jobs(ctx, f)
	if err != nil {
		return nil, err
	}

	end, order := strings.ToLower(request), strings.ToLower(strings.TrimPrefix(order, "#"))
	matching := []admin.Job{} // not nil: no job is [] in JSON
	for _, j := range all {
		if strings.HasSuffix(strings.ToLower(j.Request), end) &&
			(order == "" || order == strings.ToLower(strings.TrimPrefix(j.Number, "#"))) &&
			(limit == 0 || len(matching) < limit) {
			matching = append(matching, j)
		}
	}

	return matching, nil
}

// jobTable shows the request as its short form, as it is printed at the foot of the ticket, so that
// paper and list can be compared.
func (c *cli) jobTable(jobs []admin.Job) error {
	rows := newTable(c.out, "ID", "STATE", "STATION", c.timeHead("RECEIVED"), "ORDER", "TABLE", "ITEMS", "REQUEST",
		"NOTE")
	for _, j := range jobs {
		rows.row(strconv.FormatUint(j.ID, 10), string(j.State), j.Station, c.formatTime(j.ReceivedAt),
			cmp.Or(j.Number, "-"), cmp.Or(j.Table, "-"), strconv.Itoa(j.Items), ticket.Short(j.Request),
			cmp.Or(jobNote(j), "-"))
	}
	return rows.end()
}

// orderOf is the order of a job as people call it: its number and its table.
func orderOf(j admin.Job) string {
	var parts []string
	if j.Number != "" {
		parts = append(parts, ticket.NumberLabel(j.Number))
	}

	if j.Table != "" {
		parts = append(parts, ticket.TableLabel(j.Table, ""))
	}
	return strings.Join(parts, ", ")
}

// jobNote names the unusual facts about a job. An ordinary order has none, so that the rest stands out in a long
// list.
func jobNote(j admin.Job) string {
	var n []string
	if j.Kind != ticket.Order {
		n = append(n, string(j.Kind))
	}

	switch {
	case j.MadeFrom != 0 && j.Reprint:
		n = append(n, "reprint of job "+strconv.FormatUint(j.MadeFrom, 10))
	case j.MadeFrom != 0:
		n = append(n, "from job "+strconv.FormatUint(j.MadeFrom, 10))
	}

	if len(j.RefusedBy) > 0 {
		n = append(n, "refused by "+strings.Join(j.RefusedBy, ", "))
	}
	if j.Attempts > 1 {
		n = append(n, strconv.Itoa(j.Attempts)+" attempts")
	}

	if j.Doubt {
		n = append(n, "possible duplicate")
	}
	if j.Reason != "" {
		n = append(n, j.Reason)
	}

	return strings.Join(n, "; ")
}

// parseSince reads a time in the forms that people use, in the time zone of the box. A time of day
// without a date is the last one before now: 23:30, asked after midnight, is yesterday's. Days are
// counted by the calendar, not as 24 hours: after a change of the clocks "3d" is still the same
// time of day.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if count, err := strconv.Atoi(days); err == nil && count >= 0 {
			return now.AddDate(0, 0, -count), nil
		}
	}

	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, l := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if given, err := time.ParseInLocation(l, s, now.Location()); err == nil {
			return given, nil
		}
	}

	if clock, err := time.ParseInLocation("15:04", s, now.Location()); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if at.After(now) {
			at = at.AddDate(0, 0, -1)
		}
		return at, nil
	}

	return time.Time{}, usagef(
		"--since %q is neither a duration nor a time: use 2h, 3d, 18:30, 2026-11-20 or \"2026-11-20 18:30\"", s)
}
