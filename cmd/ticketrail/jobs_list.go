package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// page is how many jobs a person at a terminal gets unasked: the newest come first and
// must not scroll away.
const page = 50

func (c *cli) jobsList() *cobra.Command {
	var (
		f       admin.Filter
		since   string
		request string
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list tickets, newest first",
		Example: `  ticketrail jobs list --state pending,held
  ticketrail jobs list --station grill --since 2h
  ticketrail jobs list --request 5b7c1d    (as it stands at the foot of the ticket)`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if f.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			if f.Limit < 0 {
				return usage("--limit %d is not a number of jobs: use 0 for all", f.Limit)
			}
			d, err := c.daemon()
			if err != nil {
				return err
			}
			short := !asJSON && terminal(c.out) && !cmd.Flags().Changed("limit")
			if short {
				f.Limit = page
			}
			jobs, err := listJobs(cmd, d, f, request)
			if err != nil {
				return err
			}
			if asJSON {
				return showJSON(c.out, jobs)
			}
			if err := c.jobTable(jobs); err != nil {
				return err
			}
			if short && len(jobs) == page {
				return say(c.err, "the newest %d; --limit 0 shows all", page)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.States, "state", nil, "only these `states`: "+stateNames())
	fl.StringVar(&f.Station, "station", "", "only of this `printer`")
	fl.StringVar(&request, "request", "", "only of this print request: its `id`, or the end of it")
	fl.StringVar(&since, "since", "", "only received since: `2h`, 3d, 18:30, 2026-11-20, \"2026-11-20 18:30\" or RFC 3339")
	fl.IntVar(&f.Limit, "limit", 0, "at most so many; 0 is all (default: 50 on a terminal, else all)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// listJobs asks for jobs. The daemon knows whole request ids; people have the end of one, on
// a slip of paper.
func listJobs(cmd *cobra.Command, d *admin.Client, f admin.Filter, request string) ([]admin.Job, error) {
	if request == "" {
		return d.Jobs(cmd.Context(), f)
	}
	limit := f.Limit
	f.Limit = 0
	all, err := d.Jobs(cmd.Context(), f)
	if err != nil {
		return nil, err
	}
	some := []admin.Job{}
	for _, j := range all {
		if strings.HasSuffix(strings.ToLower(j.Request), strings.ToLower(request)) && (limit == 0 || len(some) < limit) {
			some = append(some, j)
		}
	}
	return some, nil
}

func (c *cli) jobTable(jobs []admin.Job) error {
	t := newTable(c.out, "ID", "STATE", "PRINTER", "RECEIVED", "TRIES", "REQUEST", "NOTE")
	for _, j := range jobs {
		t.row(strconv.FormatUint(j.ID, 10), j.State.String(), j.Station, clock(j.ReceivedAt),
			strconv.Itoa(j.Attempts), ticket.Short(j.Request), note(j))
	}
	return t.end()
}

// note is what is unusual about a job.
func note(j admin.Job) string {
	var n []string
	if j.Kind != ticket.Order {
		n = append(n, string(j.Kind))
	}
	switch {
	case j.Of != 0 && j.Reprint:
		n = append(n, "reprint of "+strconv.FormatUint(j.Of, 10))
	case j.Of != 0:
		n = append(n, "was "+strconv.FormatUint(j.Of, 10))
	}
	if j.Doubt {
		n = append(n, "may have come out before")
	}
	if j.Reason != "" {
		n = append(n, j.Reason)
	}
	return strings.Join(n, "; ")
}

func stateNames() string {
	var names []string
	for _, s := range ticket.States() {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

// parseSince reads a time as people say it, in the machine's time zone.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, l := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(l, s, now.Location()); err == nil {
			return t, nil
		}
	}
	if t, err := time.ParseInLocation("15:04", s, now.Location()); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if at.After(now) { // 23:30, asked after midnight
			at = at.AddDate(0, 0, -1)
		}
		return at, nil
	}
	return time.Time{}, usage("--since %q is neither a duration nor a time: use 2h, 3d, 18:30, 2026-11-20 or \"2026-11-20 18:30\"", s)
}
