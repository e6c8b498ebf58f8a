package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

func TestTheReportOfAnEveningIsWhatPaperAndPencilSay(t *testing.T) {
	zone, err := time.LoadLocation("Australia/Melbourne")
	assert.NoError(t, err)
	var got []string
	for _, row := range NewReport("2026-11-22", evening(), zone).Rows {
		got = append(got, fmt.Sprint(row.Station, ",", row.Hour, ",", row.Item, ": ", row.Count, ", seen ", row.Seen,
			", bumped ", row.Bumped, ", sent out ", row.SentOut, ", late ", row.LateText(), ", recalls ", row.Recalls))
	}
	// Of two values p50 is the first and p90 the second; of one, both are that one.
	want := []string{
		"cold,,: 1, seen 0:00 / 0:00, bumped 0:02 / 0:02, sent out , late 0 (0 %), recalls 0",
		"cold,20,: 1, seen 0:00 / 0:00, bumped 0:02 / 0:02, sent out , late 0 (0 %), recalls 0",
		"hot,,: 4, seen 0:02 / 1:00, bumped 4:00 / 10:00, sent out 5:00 / 5:00, late 2 (67 %), recalls 2",
		"hot,19,: 2, seen 0:02 / 1:00, bumped 4:00 / 10:00, sent out 5:00 / 5:00, late 1 (50 %), recalls 2",
		"hot,20,: 2, seen 0:01 / 0:01, bumped , sent out , late 1 (100 %), recalls 0",
		"hot,,Burger: 3, seen 1:00 / 1:00, bumped 3:00 / 10:00, sent out 5:00 / 5:00, late 2 (67 %), recalls 4",
		"hot,,Fish: 1, seen 0:01 / 0:01, bumped , sent out , late 1 (100 %), recalls 0",
		"hot,,Fries: 2, seen 0:02 / 0:02, bumped 4:00 / 4:00, sent out 5:00 / 5:00, late 0 (0 %), recalls 0",
	}
	wantEqual(t, "rows", want, got)
}

// atReport is a time on 2026-11-22 in UTC, as a card has it.
func atReport(hour, minute, second int) int64 {
	return time.Date(2026, 11, 22, hour, minute, second, 0, time.UTC).UnixMilli()
}

// evening is one of five tickets, whose numbers were computed by hand.
func evening() []Past {
	melbourne := func(h, m, s int) int64 { return atReport(h-11, m, s) } // 19:00 there is 08:00 UTC
	return []Past{
		{Station: "hot", SentOut: melbourne(19, 5, 0),
			Received: melbourne(19, 0, 0), Seen: melbourne(19, 0, 2), Bumped: melbourne(19, 4, 0),
			Items: []PastItem{{Name: "Burger", Done: melbourne(19, 3, 0)},
				{Name: "Fries", Done: melbourne(19, 4, 0)}}},
		{Station: "hot", Late: true,
			Received: melbourne(19, 59, 59), Seen: melbourne(20, 0, 59), Bumped: melbourne(20, 9, 59), Recalls: 2,
			Items: []PastItem{{Name: "Burger", Done: melbourne(20, 9, 59)},
				{Name: "Burger", Done: melbourne(20, 1, 59)}}},
		// Still open, and late already.
		{Station: "hot", Late: true, Received: melbourne(20, 0, 0), Seen: melbourne(20, 0, 1),
			Items: []PastItem{{Name: "Fish"}}},
		// On paper: whether that was late is not known.
		{Station: "hot", Late: true, Received: melbourne(20, 0, 0), Paper: true,
			Items: []PastItem{{Name: "Fries"}}},
		// The clock was set back.
		{Station: "cold", Received: melbourne(20, 0, 0), Seen: melbourne(19, 30, 0),
			Bumped: melbourne(20, 0, 1) + 500},
	}
}

func TestTheReportOfADayIsAFileForASpreadsheet(t *testing.T) {
	minute := Spread{N: 1, P50: 60, P90: 60}
	report := Report{Day: "2026-11-22", Rows: []ReportRow{
		{Station: "hot", Count: 3, Seen: minute, Late: 2, Judged: 3, Recalls: 1},
		{Station: "hot", Item: "＝1+1", Count: 1},
	}}
	var out strings.Builder
	assert.NoError(t, report.WriteCSV(&out))

	_, rows, _ := strings.Cut(out.String(), "\n")
	assert.Equal(t, rows, "2026-11-22,hot,,,3,60,60,,,,,2,67,1\n2026-11-22,hot,,'＝1+1,1,,,,,,,0,,0\n")
}
