package kds

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"ticketrail/printer/kds/board"
)

// ErrDay says that a day is not written as 2026-11-22.
var ErrDay = errors.New("not a day: write it as 2026-11-22")

// Times is how long the tickets took that were accepted on a day, as 2026-11-22 in the kitchen's time
// zone; "" is today. The error wraps [ErrDay], or is one of the storage.
func (s *Server) Times(day string) (board.Report, error) {
	zone, _ := s.kitchen()
	now := time.Now().In(zone)
	if day == "" {
		day = now.Format(time.DateOnly)
	}

	from, err := time.ParseInLocation(time.DateOnly, day, zone)
	if err != nil {
		return board.Report{}, fmt.Errorf("%.40q: %w", day, ErrDay)
	}

	to := from.AddDate(0, 0, 1) // not 24 hours: clocks change
	views := s.screenViews()
	sent := map[board.Ref]int64{}
	for _, v := range views {
		if pass := v.screen.Options().Pass; pass != nil {
			for card, at := range pass.Sent() {
				sent[card] = max(sent[card], at) // of two passes the later one
			}
		}
	}

	var all []board.Past
	for _, v := range views {
		past, err := v.screen.Board().Past(from, to)
		if err != nil {
			return board.Report{}, err
		}
		late := v.screen.Options().LateAfter.Milliseconds()
		for i := range past {
			p := &past[i]
			p.Late = cmp.Or(p.Bumped, now.UnixMilli()) >= max(p.Received+late, p.Promised)
			p.SentOut = sent[board.Ref{Station: v.Name, Job: p.Job}]
		}
		all = append(all, past...)
	}

	return board.NewReport(day, all, zone), nil
}

// A timesView is the data of the page with the times of a day.
type timesView struct {
	Report board.Report
	Before string // the day before
	After  string
	Titles map[string]string // of the screens, by name
}

// times is the page with the times of a day, and the same as a file for a spreadsheet.
func (s *Server) times(w http.ResponseWriter, r *http.Request, g *grant) {
	report, err := s.Times(r.URL.Query().Get("day"))
	switch {
	case errors.Is(err, ErrDay):
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case err != nil:
		s.log.Warn("cannot read the times of a day", "err", err)
		http.Error(w, "not available now: try again", http.StatusServiceUnavailable)
		return
	}

	g.renew(w, r)
	if r.URL.Query().Has("csv") {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="times-`+report.Day+`.csv"`)
		_ = report.WriteCSV(w) // the browser has gone
		return
	}

	day, _ := time.Parse(time.DateOnly, report.Day) // Times has read it
	v := timesView{
		Report: report, Titles: map[string]string{},
		Before: day.AddDate(0, 0, -1).Format(time.DateOnly), After: day.AddDate(0, 0, 1).Format(time.DateOnly),
	}

	for _, view := range s.screenViews() {
		v.Titles[view.Name] = view.Title
	}

	s.serveTemplate(w, r, "times.html", v)
}

// Parts returns the rows of the report as the page groups them: for each screen the whole day with its
// hours, then its items.
func (v timesView) Parts() (parts [][]board.ReportRow) {
	for i, row := range v.Report.Rows {
		starts := i == 0 || row.Station != v.Report.Rows[i-1].Station ||
			row.Item != "" && v.Report.Rows[i-1].Item == ""
		if starts {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], row)
	}
	return parts
}
