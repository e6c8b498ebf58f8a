package app_test

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
			setup := func(k *testDaemon) { withCapability(c.can)(k); k.Printer("grill").Confirm = c.confirm }
			runDaemonWith(t, setup, func(k *testDaemon) {
				for _, n := range []string{"A1", "A2", "A3"} {
					k.Accept(n, at("grill", "Burger"))
				}
				k.Advance(time.Minute)
				k.Restart() // the detected capability is stored
				k.Accept("A4", at("grill", "Burger"))
				k.Advance(time.Minute)
				k.WantPrinted("grill", "A1 A2 A3 A4")
				k.wantOutcomes("grill", map[ticket.State]uint64{c.want: 4})
				if d := k.status("grill").Device; d == nil || d.Ability != string(c.want) || !d.Fine {
					k.T.Errorf("the printer is %+v, want it fine and able of %s", d, c.want)
				}
			}, "grill")
		})
	}
}

func TestPaperOutStopsTheQueueWithoutAttemptsAndItResumesInOrder(t *testing.T) {
	runDaemonWith(t, withCapability(virtual.Everything), func(k *testDaemon) {
		grill := k.Printers["grill"]
		k.Accept("A1", at("grill", "Burger"))
		k.Advance(10 * time.Second)
		grill.Set(virtual.PaperOut, true)
		for _, n := range []string{"A2", "A3", "A4"} {
			k.Accept(n, at("grill", "Burger"), at("bar", "Cola"))
		}
		k.Advance(30 * time.Minute)
		k.WantPrinted("grill", "A1")
		k.WantPrinted("bar", "A2 A3 A4")
		jobs, err := k.App.Queue().Jobs(k.T.Context(),
			queue.Filter{Station: "grill", States: []ticket.State{ticket.Pending, ticket.Printing}})
		if err != nil || len(jobs) != 3 {
			k.T.Fatalf("%d wait (%v), want 3", len(jobs), err)
		}
		for _, j := range jobs {
			if j.Attempts != 0 || j.Doubt {
				k.T.Errorf("job %d has %d attempts, doubt %v: nothing was tried", j.ID, j.Attempts, j.Doubt)
			}
		}
		d := k.status("grill").Device
		if d.State != printer.PaperOut || d.Fine || !slices.Contains(d.Conditions, "paper_out") ||
			!strings.Contains(d.Advice, "roll") {
			k.T.Errorf("the printer is %+v, want it out of paper", d)
		}
		k.wantCondition(1, "paper_out", "grill")
		k.wantCondition(0, "paper_out", "bar")
		if s := k.App.StatusLine(); !strings.Contains(s, "grill: paper out") {
			k.T.Errorf("the status line is %q", s)
		}
		grill.Refill()
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1 A2 A3 A4")
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Confirmed: 4})
		k.wantCondition(0, "paper_out", "grill")
		if !k.status("grill").Device.Fine {
			k.T.Errorf("the printer is %+v, want it fine", k.status("grill").Device)
		}
	}, "grill", "bar")
}

// TestAPersonCanHaveASilentPrinterAskedAgain is for a printer in the place of one that answers: nothing else ends the
// wait for that one.
func TestAPersonCanHaveASilentPrinterAskedAgain(t *testing.T) {
	runDaemonWith(t, withCapability(0), func(k *testDaemon) {
		k.Advance(time.Minute)
		r := httptest.NewRequest("POST", "/v1/stations/grill/probe", nil)
		r.Header.Set(admin.HeaderAPI, admin.API)
		w := httptest.NewRecorder()
		k.App.Control().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			k.T.Errorf("%d %s", w.Code, w.Body)
		}
	}, "grill")
}

func TestAnIdlePrinterIsPolledForItsStatus(t *testing.T) {
	runDaemonWith(t, withCapability(virtual.Everything), func(k *testDaemon) {
		k.Advance(time.Minute)
		if d := k.status("grill").Device; d.State != printer.Ready {
			k.T.Errorf("the printer is %+v, want it ready", d)
		}
		k.Printers["grill"].Set(virtual.CoverOpen, true)
		k.Advance(6 * time.Minute)
		if d := k.status("grill").Device; d.State != printer.CoverOpen {
			k.T.Errorf("the printer is %+v, want its cover open", d)
		}
		k.reload(func(c *config.Config) { c.Printers[0].PollEvery = 0 })
		k.Printers["grill"].Set(virtual.CoverOpen, false)
		k.Advance(time.Hour)
		if d := k.status("grill").Device; d.State != printer.Unknown {
			k.T.Errorf("the printer is %+v and was not to be asked", d)
		}
	}, "grill")
}

func TestAReloadThatChangesAPrintersConnectionKeepsItsQueue(t *testing.T) {
	slow := func(k *testDaemon) {
		k.Printers["grill"] = virtual.New(virtual.Options{Name: "grill", Columns: 48, Kanji: true,
			Can: virtual.Everything, Clients: 1, LinesPerSecond: 2, ReceiveBuffer: 512})
	}
	runDaemonWith(t, slow, func(k *testDaemon) {
		for _, n := range []string{"A1", "A2"} {
			k.Accept(n, at("grill", "Burger"))
		}
		k.Advance(2 * time.Second) // A1 is being printed
		k.reload(func(c *config.Config) { c.Printers[0].Linger, c.Printers[0].Confirm = 0, "status" })
		k.Accept("A3", at("grill", "Burger"))
		k.Advance(5 * time.Minute)
		k.reload(func(c *config.Config) { c.Printers[0].Linger = 30 * time.Second })
		k.Accept("A4", at("grill", "Burger"))
		// It is being printed, perhaps with the second attempt: the printer serves one client, and the device
		// before the reload may leave just after the new one has asked.
		k.Advance(3 * time.Second)
		k.reload(func(c *config.Config) { c.Printers[0].WaitForPerson, c.Printers[0].Confirm = time.Minute, "none" })
		k.Accept("A5", at("grill", "Burger"))
		k.Advance(10 * time.Minute)
		k.WantPrinted("grill", "A1 A2 A3 A4 A5")
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Confirmed: 1, ticket.Processed: 3, ticket.Sent: 1})
	}, "grill")
}

func TestABackupTakesOverAndGivesBack(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.Printer("grill").Backup, k.Printer("grill").HoldFor = "bar", 2*time.Minute
	}, func(k *testDaemon) {
		grill := k.Printers["grill"]
		grill.Refuse(true)
		k.Accept("A1", at("grill", "Burger"))
		k.Advance(time.Minute)
		k.Accept("A2", at("grill", "Fries"), at("bar", "Cola"))
		k.Advance(time.Second)
		k.WantPrinted("bar", "A2")
		if l := k.status("grill"); l.ActiveBackup != "" {
			k.T.Errorf("%s stands in too early", l.ActiveBackup)
		}
		k.Advance(2 * time.Minute)
		k.WantPrinted("bar", "A2 A1@GRILL A2@GRILL")
		if l := k.status("grill"); l.ActiveBackup != "bar" || l.Up {
			k.T.Errorf("%+v, want it down and bar to stand in", l)
		}
		jobs, err := k.App.Queue().Jobs(k.T.Context(), queue.Filter{Station: "grill"})
		if err != nil || len(jobs) != 2 || jobs[0].Reason != "came out of bar" {
			k.T.Errorf("the jobs of grill are %+v (%v), want two that came out of bar", jobs, err)
		}
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Sent: 2}) // its tickets, wherever they come out
		k.wantOutcomes("bar", map[ticket.State]uint64{ticket.Sent: 1})
		grill.Refuse(false)
		k.Advance(5 * time.Minute)
		k.Accept("A3", at("grill", "Soup"))
		k.Advance(time.Minute)
		k.Accept("A4", at("grill", "Pie"))
		k.Advance(time.Second)
		if got := strings.Fields(k.Printed("grill")); len(got) == 0 || got[len(got)-1] != "A4" {
			k.T.Errorf("grill works again and printed %v", got)
		}
		if l := k.status("grill"); l.ActiveBackup != "" || !l.Up {
			k.T.Errorf("%+v, want it up and nobody to stand in", l)
		}
	}, "grill", "bar")
}

func TestNothingComesOutOfAHeldPrinterAndItsBackupDoesNotPrint(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.Printer("grill").Backup, k.Printer("cold").Backup = "bar", "pie"
	}, func(k *testDaemon) {
		k.Printers["grill"].Refuse(true)
		for _, held := range []string{"bar", "cold"} {
			k.must(k.App.Queue().HoldStation(k.T.Context(), held, "cleaning"))
		}
		k.Accept("A1", at("grill", "Burger"))
		k.Accept("A2", at("cold", "Salad"))
		k.Restart()
		k.Advance(time.Hour)
		for _, station := range []string{"bar", "cold", "pie"} {
			k.WantPrinted(station, "")
		}

		for _, held := range []string{"bar", "cold"} {
			k.must(k.App.Queue().ResumeStation(k.T.Context(), held))
		}
		k.Advance(time.Minute)
		k.WantPrinted("bar", "A1@GRILL")
		k.WantPrinted("cold", "A2")
	}, "grill", "bar", "cold", "pie")
}
