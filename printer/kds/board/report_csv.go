package board

import (
	"encoding/csv"
	"io"
	"strconv"

	"ticketrail/printer/layout"
)

// WriteCSV writes the rows with a line of headings. Durations are whole seconds, rounded; a cell
// without a value is empty.
func (r Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"day", "station", "hour", "item", "count",
		"seen_p50_s", "seen_p90_s", "bumped_p50_s", "bumped_p90_s", "sent_out_p50_s", "sent_out_p90_s",
		"late", "late_percent", "recalls"}) // Error returns the cause

	for _, row := range r.Rows {
		cells := []string{r.Day, row.Station, row.Hour, layout.Cell(row.Item), strconv.Itoa(row.Count)}
		for _, s := range []Spread{row.Seen, row.Bumped, row.SentOut} {
			cells = append(cells, s.cell(s.P50), s.cell(s.P90))
		}

		percent := ""
		if row.Judged != 0 {
			percent = strconv.Itoa(row.latePercent())
		}
		_ = out.Write(append(cells, strconv.Itoa(row.Late), percent, strconv.Itoa(row.Recalls)))
	}

	out.Flush()
	return out.Error()
}

// cell is one of the percentiles in a spreadsheet.
func (s Spread) cell(seconds int64) string {
	if s.N == 0 {
		return ""
	}
	return strconv.FormatInt(seconds, 10)
}
