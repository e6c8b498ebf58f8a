package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue"
)

func TestEachStationWithAProblemHasAdvice(t *testing.T) {
	c := startDaemon(t)
	if err := c.Hold(t.Context(), "grill", "cleaning"); err != nil {
		t.Fatal(err)
	}
	all, err := c.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"the database was damaged: see the log"}, all.Notices); d != "" {
		t.Errorf("notices: -want +got\n%s", d)
	}
	want := map[string]struct {
		state  Condition
		advice string
	}{
		"bar":   {Down, "power"},
		"grill": {OnHold, "printers resume grill"},
		"old":   {Orphaned, "jobs move --from old"},
	}
	for _, p := range all.Stations {
		if w := want[p.Name]; p.State != w.state || !strings.Contains(p.Advice, w.advice) || p.Fine() {
			t.Errorf("%s is %s, advice %q; want %s with %q", p.Name, p.State, p.Advice, w.state, w.advice)
		}
	}
	if len(all.Stations) != len(want) {
		t.Errorf("%d printers, want %d", len(all.Stations), len(want))
	}
	if err := c.Resume(t.Context(), "grill"); err != nil {
		t.Fatal(err)
	}
}

func TestAStationNamesTheBackupThatPrintsItsTickets(t *testing.T) {
	c := startDaemon(t, func(_ *testDaemon, o *Options) {
		o.Statuses = func() []Status {
			return []Status{
				{Name: "bar", Known: true,
					Device:       &Device{State: "paper out", Since: time.Unix(5, 0), Advice: "put in a new roll"},
					ActiveBackup: "grill"},
				{Name: "grill", Known: true, Up: true,
					Device: &Device{State: "ready", Fine: true, Ability: "confirmed"}},
			}
		}
	})
	all, err := c.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bar, grill := all.Stations[0], all.Stations[1]
	if want := "put in a new roll; grill prints its tickets meanwhile"; bar.StandIn != "grill" ||
		bar.Advice != want || !bar.Since.Equal(time.Unix(5, 0)) {
		t.Errorf("%+v, want %q", bar, want)
	}
	if len(grill.StandsInFor) != 1 || grill.StandsInFor[0] != "bar" || !grill.Fine() ||
		grill.Device.Ability != "confirmed" {
		t.Errorf("%+v, want it to stand in for bar", grill)
	}
}

func TestADisplayThatRefusesEveryTicketIsResumedByAPerson(t *testing.T) {
	p := stationOf(queue.StationState{Name: "fresh bar", Configured: true},
		Status{Kind: KindKDS, Known: true, Device: &Device{State: "refusing", Since: time.Unix(5, 0)}})
	if !strings.Contains(p.Advice, "ticketrail printers resume 'fresh bar'") || !p.Since.Equal(time.Unix(5, 0)) {
		t.Errorf("%+v", p)
	}
}

func TestTheStateOfAStationIsItsMostUrgentCondition(t *testing.T) {
	hold := &queue.StationHold{Reason: "x", Since: time.Unix(9, 0)}
	up, down := Status{Known: true, Up: true}, Status{Known: true}
	low, out := up, up
	low.Device = &Device{State: "paper low", Fine: true, Conditions: []string{"paper_low"}}
	out.Device = &Device{State: "paper out", Since: time.Unix(5, 0), Advice: "put in a new roll"}
	for _, x := range []struct {
		st   queue.StationState
		l    Status
		want Condition
		fine bool
	}{
		{queue.StationState{Configured: true}, Status{}, Untried, true},
		{queue.StationState{Configured: true}, up, Up, true},
		{queue.StationState{Configured: true, Held: 1}, up, Up, false},
		{queue.StationState{Configured: true}, down, Down, false},
		{queue.StationState{Configured: true}, low, Up, true},
		{queue.StationState{Configured: true}, out, Down, false},
		{queue.StationState{Configured: true}, Status{Device: out.Device}, Down, false},
		{queue.StationState{Configured: true, Hold: hold}, out, OnHold, false},
		{queue.StationState{Configured: true, Hold: hold}, down, OnHold, false},
		{queue.StationState{Hold: hold}, down, Orphaned, false},
	} {
		p := stationOf(x.st, x.l)
		if p.State != x.want || p.Fine() != x.fine || (p.Advice == "") != x.fine {
			t.Errorf("%+v, %+v: %s, fine %v, advice %q; want %s, fine %v", x.st, x.l, p.State, p.Fine(), p.Advice,
				x.want, x.fine)
		}
	}
}
