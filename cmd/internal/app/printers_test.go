package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// withCapability replaces the printers by ones with that capability.
func withCapability(can virtual.Capability) func(*testDaemon) {
	return func(k *testDaemon) {
		for name := range k.printers {
			k.printers[name] = virtual.New(virtual.Options{Name: name, Columns: 48, Kanji: true, Can: can, Clients: 1})
		}
	}
}

// reload applies a changed configuration, as [App.Reload] does.
func (k *testDaemon) reload(change func(*config.Config)) {
	k.t.Helper()
	next := *k.conf
	next.Printers = slices.Clone(next.Printers)
	change(&next)
	built, err := k.app.build(&next)
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.app.apply(built); err != nil {
		k.t.Fatal(err)
	}
	k.conf = &next
}

// outcomes counts the tickets of a station by outcome, from its books.
func (k *testDaemon) outcomes(station string) map[ticket.State]uint64 {
	k.t.Helper()
	for _, s := range k.app.queue.Stations() {
		if s.Name == station {
			out := map[ticket.State]uint64{}
			for state, n := range s.Books.Outcomes {
				if n > 0 {
					out[state] = uint64(n)
				}
			}
			return out
		}
	}
	k.t.Fatalf("no station is called %s", station)
	return nil
}

// metric is the value of a gauge with those labels, in the order of their names.
func (k *testDaemon) metric(name string, labels ...string) float64 {
	k.t.Helper()
	families, err := k.app.registry.Gather()
	if err != nil {
		k.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var has []string
			for _, l := range m.Label {
				has = append(has, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(has, labels) {
				return m.GetGauge().GetValue()
			}
		}
	}
	k.t.Fatalf("there is no %s of %v", name, labels)
	return 0
}

func (k *testDaemon) condition(station, name string) float64 {
	k.t.Helper()
	return k.metric("ticketrail_station_condition", name, station)
}

func TestTheOutcomeOfATicketIsWhatThePrinterReported(t *testing.T) {
	for name, c := range map[string]struct {
		can     virtual.Capability
		confirm string
		want    ticket.State
	}{
		"everything":          {virtual.Everything, "", ticket.Confirmed},
		"status only":         {virtual.RealTime | virtual.StatusQuery, "", ticket.Processed},
		"nothing":             {0, "", ticket.Sent},
		"told not to ask":     {virtual.Everything, "none", ticket.Sent},
		"told to use status":  {virtual.Everything, "status", ticket.Processed},
		"told to use its ids": {virtual.Everything, "process_id", ticket.Confirmed},
	} {
		t.Run(name, func(t *testing.T) {
			setup := func(k *testDaemon) { withCapability(c.can)(k); k.printer("grill").Confirm = c.confirm }
			runDaemonWith(t, setup, func(k *testDaemon) {
				for _, n := range []string{"A1", "A2", "A3"} {
					k.accept(n, at("grill", "Burger"))
				}
				k.advance(time.Minute)
				k.restart() // the detected capability is stored
				k.accept("A4", at("grill", "Burger"))
				k.advance(time.Minute)
				k.wantPrinted("grill", "A1 A2 A3 A4")
				k.wantOutcomes("grill", map[ticket.State]uint64{c.want: 4})
				if d := k.status("grill").Device; d == nil || d.Ability != string(c.want) || !d.Fine {
					k.t.Errorf("the printer is %+v, want it fine and able of %s", d, c.want)
				}
			}, "grill")
		})
	}
}

func TestPaperOutStopsTheQueueWithoutAttemptsAndItResumesInOrder(t *testing.T) {
	runDaemonWith(t, withCapability(virtual.Everything), func(k *testDaemon) {
		grill := k.printers["grill"]
		k.accept("A1", at("grill", "Burger"))
		k.advance(10 * time.Second)
		grill.Set(virtual.PaperOut, true)
		for _, n := range []string{"A2", "A3", "A4"} {
			k.accept(n, at("grill", "Burger"), at("bar", "Cola"))
		}
		k.advance(30 * time.Minute)
		k.wantPrinted("grill", "A1")
		k.wantPrinted("bar", "A2 A3 A4")
		jobs, err := k.app.queue.Jobs(k.t.Context(),
			queue.Filter{Station: "grill", States: []ticket.State{ticket.Pending, ticket.Printing}})
		if err != nil || len(jobs) != 3 {
			k.t.Fatalf("%d wait (%v), want 3", len(jobs), err)
		}
		for _, j := range jobs {
			if j.Attempts != 0 || j.Doubt {
				k.t.Errorf("job %d has %d attempts, doubt %v: nothing was tried", j.ID, j.Attempts, j.Doubt)
			}
		}
		d := k.status("grill").Device
		if d.State != printer.PaperOut || d.Fine || !slices.Contains(d.Conditions, "paper_out") ||
			!strings.Contains(d.Advice, "roll") {
			k.t.Errorf("the printer is %+v, want it out of paper", d)
		}
		if k.condition("grill", "paper_out") != 1 || k.condition("bar", "paper_out") != 0 {
			k.t.Error("the metrics do not say who is out of paper")
		}
		if s := k.app.health.status(); !strings.Contains(s, "grill: paper out") {
			k.t.Errorf("the status line is %q", s)
		}
		grill.Refill()
		k.advance(time.Minute)
		k.wantPrinted("grill", "A1 A2 A3 A4")
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Confirmed: 4})
		if k.condition("grill", "paper_out") != 0 || !k.status("grill").Device.Fine {
			k.t.Errorf("the printer is %+v, want it fine", k.status("grill").Device)
		}
	}, "grill", "bar")
}

// A person has put it in the place of one that answers: nothing else ends the wait for that one.
func TestAPersonCanHaveASilentPrinterAskedAgain(t *testing.T) {
	runDaemonWith(t, withCapability(0), func(k *testDaemon) {
		k.advance(time.Minute)
		r := httptest.NewRequest("POST", "/v1/stations/grill/probe", nil)
		r.Header.Set(admin.HeaderAPI, admin.API)
		w := httptest.NewRecorder()
		k.app.control.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			k.t.Errorf("%d %s", w.Code, w.Body)
		}
	}, "grill")
}

func TestAnIdlePrinterIsPolledForItsStatus(t *testing.T) {
	runDaemonWith(t, withCapability(virtual.Everything), func(k *testDaemon) {
		k.advance(time.Minute)
		if d := k.status("grill").Device; d.State != printer.Ready {
			k.t.Errorf("the printer is %+v, want it ready", d)
		}
		k.printers["grill"].Set(virtual.CoverOpen, true)
		k.advance(6 * time.Minute)
		if d := k.status("grill").Device; d.State != printer.CoverOpen {
			k.t.Errorf("the printer is %+v, want its cover open", d)
		}
		k.reload(func(c *config.Config) { c.Printers[0].PollEvery = 0 })
		k.printers["grill"].Set(virtual.CoverOpen, false)
		k.advance(time.Hour)
		if d := k.status("grill").Device; d.State != printer.Unknown {
			k.t.Errorf("the printer is %+v and was not to be asked", d)
		}
	}, "grill")
}

func TestAReloadThatChangesAPrintersConnectionKeepsItsQueue(t *testing.T) {
	slow := func(k *testDaemon) {
		k.printers["grill"] = virtual.New(virtual.Options{Name: "grill", Columns: 48, Kanji: true,
			Can: virtual.Everything, Clients: 1, LinesPerSecond: 2, ReceiveBuffer: 512})
	}
	runDaemonWith(t, slow, func(k *testDaemon) {
		for _, n := range []string{"A1", "A2"} {
			k.accept(n, at("grill", "Burger"))
		}
		k.advance(2 * time.Second) // A1 is being printed
		k.reload(func(c *config.Config) { c.Printers[0].Linger, c.Printers[0].Confirm = 0, "status" })
		k.accept("A3", at("grill", "Burger"))
		k.advance(5 * time.Minute)
		k.reload(func(c *config.Config) { c.Printers[0].Linger = 30 * time.Second })
		k.accept("A4", at("grill", "Burger"))
		// It is being printed, perhaps with the second attempt: the printer serves one client, and the device
		// before the reload may leave just after the new one has asked.
		k.advance(3 * time.Second)
		k.reload(func(c *config.Config) { c.Printers[0].WaitForPerson, c.Printers[0].Confirm = time.Minute, "none" })
		k.accept("A5", at("grill", "Burger"))
		k.advance(10 * time.Minute)
		k.wantPrinted("grill", "A1 A2 A3 A4 A5")
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Confirmed: 1, ticket.Processed: 3, ticket.Sent: 1})
	}, "grill")
}

// status is the status of a station, as printers list has it.
func (k *testDaemon) status(name string) admin.Status {
	k.t.Helper()
	for _, l := range k.app.stations.List() {
		if l.Name == name {
			return l
		}
	}
	k.t.Fatalf("no station is called %s", name)
	return admin.Status{}
}

func TestABackupTakesOverAndGivesBack(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.printer("grill").Backup, k.printer("grill").HoldFor = "bar", 2*time.Minute
		k.printer("bar").Backup, k.printer("bar").HoldFor = "cold", 3*time.Minute
	}, func(k *testDaemon) {
		grill, bar := k.printers["grill"], k.printers["bar"]
		grill.Refuse(true)
		k.accept("A1", at("grill", "Burger"))
		k.advance(time.Minute)
		k.accept("A2", at("grill", "Fries"), at("bar", "Cola"))
		k.advance(time.Second)
		k.wantPrinted("bar", "A2")
		if l := k.status("grill"); l.ActiveBackup != "" {
			k.t.Errorf("%s stands in too early", l.ActiveBackup)
		}
		k.advance(2 * time.Minute)
		k.wantPrinted("bar", "A2 A1@GRILL A2@GRILL")
		if l := k.status("grill"); l.ActiveBackup != "bar" || l.Up {
			k.t.Errorf("%+v, want it down and bar to stand in", l)
		}
		jobs, err := k.app.queue.Jobs(k.t.Context(), queue.Filter{Station: "grill"})
		if err != nil || len(jobs) != 2 || jobs[0].Reason != "came out of bar" {
			k.t.Errorf("the jobs of grill are %+v (%v), want two that came out of bar", jobs, err)
		}
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Sent: 2}) // its tickets, wherever they come out
		k.wantOutcomes("bar", map[ticket.State]uint64{ticket.Sent: 1})
		// Both dead: the backup's backup, after the hold_for of both.
		bar.Refuse(true)
		k.accept("A3", at("grill", "Salad"))
		k.advance(10 * time.Minute)
		k.wantPrinted("cold", "A3@GRILL")
		// Whichever returns first; in the end it is itself.
		grill.Refuse(false)
		k.advance(5 * time.Minute)
		k.accept("A4", at("grill", "Soup"))
		k.advance(5 * time.Minute)
		k.accept("A5", at("grill", "Pie"))
		k.advance(time.Second)
		if got := strings.Fields(k.printed("grill")); len(got) == 0 || got[len(got)-1] != "A5" {
			k.t.Errorf("grill works again and printed %v", got)
		}
		if l := k.status("grill"); l.ActiveBackup != "" || !l.Up {
			k.t.Errorf("%+v, want it up and nobody to stand in", l)
		}
	}, "grill", "bar", "cold")
}

func TestNothingComesOutOfAHeldPrinterAlsoNotForAStationWhoseBackupItIs(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) { k.printer("grill").Backup = "bar" }, func(k *testDaemon) {
		k.printers["grill"].Refuse(true)
		if err := k.app.queue.HoldStation(k.t.Context(), "bar", "new roll"); err != nil {
			k.t.Fatal(err)
		}
		k.accept("A1", at("grill", "Burger"))
		k.advance(time.Hour)
		k.wantPrinted("bar", "")
		if err := k.app.queue.ResumeStation(k.t.Context(), "bar"); err != nil {
			k.t.Fatal(err)
		}
		k.advance(time.Minute)
		k.wantPrinted("bar", "A1@GRILL")
	}, "grill", "bar")
}

func TestAHeldStationWaitsThroughARestartAndItsBackupDoesNotPrint(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) { k.printer("grill").Backup = "bar" }, func(k *testDaemon) {
		if err := k.app.queue.HoldStation(k.t.Context(), "grill", "cleaning"); err != nil {
			k.t.Fatal(err)
		}
		k.accept("A1", at("grill", "Burger"))
		k.restart()
		k.advance(time.Hour)
		k.wantPrinted("grill", "")
		k.wantPrinted("bar", "")
		if err := k.app.queue.ResumeStation(k.t.Context(), "grill"); err != nil {
			k.t.Fatal(err)
		}
		k.advance(time.Second)
		k.wantPrinted("grill", "A1")
	}, "grill", "bar")
}
