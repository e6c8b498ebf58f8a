package admin

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"ticketrail/queue"
)

func TestAnOverviewHasTheWorstFirstAndNamesEachStationThatNeedsAPerson(t *testing.T) {
	c := startDaemon(t)
	o, err := c.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(o.Findings, WorstFirst) {
		t.Errorf("not sorted: %+v", o.Findings)
	}
	if got := strings.Join(o.NeedsPerson(), " "); got != "database bar old" {
		t.Errorf("a person is needed for %q", got)
	}
	var text strings.Builder
	for _, f := range o.Findings {
		text.WriteString(string(f.Level) + " " + f.Subject + ": " + f.String() + "\n")
	}
	for _, want := range []string{
		"fail database: the database was damaged: see the log\n",
		"fail bar: connection refused; 1 ticket waits: check power, cable and address",
		"fail old: it is no longer in the configuration, and has 1 ticket: not in",
		"warn clock: wrong\n", "ok stations: the others print: 1\n", "ok orders: 2\n",
		"ok tickets: 1 waiting, 1 held, the oldest waits for ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

func TestAStationThatPrintsAndIsLowOnPaperIsAWarning(t *testing.T) {
	low := Station{Name: "bar", State: Up, Device: &Device{Fine: true, Conditions: []string{"paper_low"}},
		Advice: "have a roll ready"}
	held := Station{Name: "grill", State: Up, Held: 2, Advice: "2 tickets wait for your decision"}
	got := stationFindings([]Station{low, held, {Name: "hot", State: Untried}}, time.Now())
	if diff := gocmp.Diff([]Finding{
		{Level: Warn, Subject: "bar", Text: "it reports: paper low", Do: "have a roll ready", Station: true},
		{Level: Fail, Subject: "grill", Text: "2 tickets held", Do: held.Advice, Station: true},
		{Level: OK, Subject: "stations", Text: "the others print: 1"},
		{Level: OK, Subject: "tickets", Text: "0 waiting, 2 held"},
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestThePresentErrorOfADeviceIsShownAndNotItsLastReport(t *testing.T) {
	p := Station{Device: &Device{Conditions: []string{"paper_out"}, Error: "connection refused"},
		Hold: &queue.StationHold{Reason: "lunch (by anna)", Since: time.Date(2026, 11, 20, 18, 31, 0, 0, time.UTC)}}
	for now, want := range map[time.Time]string{
		time.Date(2026, 11, 20, 20, 0, 0, 0, time.FixedZone("CET", 3600)): "19:31",
		time.Date(2026, 11, 21, 0, 10, 0, 0, time.UTC):                    "2026-11-20 18:31",
	} {
		want = "held since " + want + ": lunch (by anna); connection refused"
		if got := p.Problem(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheZoneIsThatOfTheKitchenOrOfTheBox(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, zone := range []*time.Location{tokyo, nil} {
		c := startDaemon(t, func(_ *testDaemon, o *Options) { o.Zone = func() *time.Location { return zone } })
		want := cmp.Or(zone, time.Local)
		if got, err := c.Client.Zone(t.Context()); err != nil || got.String() != want.String() {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		// A test ticket shows the time of the kitchen too.
		id, err := c.Test(t.Context(), "grill")
		if err != nil {
			t.Fatal(err)
		}
		if x, err := c.Job(t.Context(), id); err != nil || (zone != nil) != (x.Ticket.Zone == "Asia/Tokyo") {
			t.Errorf("the test ticket has zone %q, %v", x.Ticket.Zone, err)
		}
	}
}
