package board

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// atReport is a time on 2026-11-22 in UTC, as a card has it.
func atReport(hour, minute, second int) int64 {
	return time.Date(2026, 11, 22, hour, minute, second, 0, time.UTC).UnixMilli()
}

// An evening of five tickets, whose numbers were computed by hand.
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

// judge computes percentiles from their definition, by counting for each value how many are not
// above it. It knows nothing of ranks.
const judge = `
import json, sys
def share(d, v): return sum(x <= v for x in d) * 100
def p(d, q): return min(v for v in d if share(d, v) >= q * len(d))
for d in json.load(sys.stdin): print(*([p(d, 50), p(d, 90)] if d else ["", ""]), sep=",")
`

func TestAnotherProgramComputesTheSamePercentiles(t *testing.T) {
	python, err := exec.LookPath("python3")
	switch {
	case err != nil && os.Getenv("TICKETRAIL_TEST_ALL") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	r := rand.New(rand.NewPCG(13, 2026))
	var served []Past
	var durations [][]int
	for n := range 60 { // a station for each number of tickets
		list := []int{}
		for range n + 1 {
			s := r.IntN(900)
			list = append(list, s)
			served = append(served, Past{Station: fmt.Sprintf("s%02d", n),
				Received: atReport(12, 0, 0), Bumped: atReport(12, 0, s)})
		}
		durations = append(durations, list)
	}
	in, err := json.Marshal(durations)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", judge)
	cmd.Stdin = bytes.NewReader(in)
	want, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	var out bytes.Buffer
	if err := NewReport("2026-11-22", served, time.UTC).WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, row := range rows[1:] {
		if row[2] == "" { // not one of an hour
			fmt.Fprintf(&got, "%s,%s\n", row[7], row[8])
		}
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}
