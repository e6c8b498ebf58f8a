package board

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheReportOfAnEveningIsWhatPaperAndPencilSay(t *testing.T) {
	zone, err := time.LoadLocation("Australia/Melbourne")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := NewReport("2026-11-22", evening(), zone).WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	// Of two values p50 is the first and p90 the second; of one, both are that one.
	want := strings.TrimPrefix(`
day,station,hour,item,count,seen_p50_s,seen_p90_s,bumped_p50_s,bumped_p90_s,sent_out_p50_s,sent_out_p90_s,`+
		`late,late_percent,recalls
2026-11-22,cold,,,1,0,0,2,2,,,0,0,0
2026-11-22,cold,20,,1,0,0,2,2,,,0,0,0
2026-11-22,hot,,,4,2,60,240,600,300,300,2,67,2
2026-11-22,hot,19,,2,2,60,240,600,300,300,1,50,2
2026-11-22,hot,20,,2,1,1,,,,,1,100,0
2026-11-22,hot,,'=1+1,1,1,1,,,,,1,100,0
2026-11-22,hot,,Burger,3,60,60,180,600,300,300,2,67,4
2026-11-22,hot,,Fries,2,2,2,240,240,300,300,0,0,0
`, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestADayWithoutTicketsHasAReportWithoutRows(t *testing.T) {
	r := NewReport("2026-11-22", nil, time.UTC)
	if b, err := json.Marshal(r); string(b) != `{"day":"2026-11-22","rows":[]}` || err != nil {
		t.Errorf("%s, %v", b, err)
	}
}

func TestAPercentileIsTheSmallestValueThatEnoughAreNotAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 2026))
	for n := 1; n <= 60; n++ {
		var list []int64
		for range n {
			list = append(list, r.Int64N(900))
		}
		// From the definition, by counting.
		percentile := func(percent int) int64 {
			smallest := int64(900)
			for _, v := range list {
				notAbove := 0
				for _, w := range list {
					if w <= v {
						notAbove++
					}
				}
				if 100*notAbove >= percent*n {
					smallest = min(smallest, v)
				}
			}
			return smallest
		}
		want := Spread{N: n, P50: percentile(50), P90: percentile(90)}
		if got := spread(slices.Clone(list)); got != want {
			t.Errorf("of %v: %+v, want %+v", list, got, want)
		}
	}
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
			Items: []PastItem{{Name: "=1+1"}}},
		// On paper: whether that was late is not known.
		{Station: "hot", Late: true, Received: melbourne(20, 0, 0), Paper: true,
			Items: []PastItem{{Name: "Fries"}}},
		// The clock was set back.
		{Station: "cold", Received: melbourne(20, 0, 0), Seen: melbourne(19, 30, 0),
			Bumped: melbourne(20, 0, 1) + 500},
	}
}
