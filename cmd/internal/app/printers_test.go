package app_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestTheOutcomeOfATicketIsWhatThePrinterReported(t *testing.T) {
	cases := map[string]struct {
		can     virtual.Capability
		confirm string
		want    ticket.State
	}{
		"everything":         {virtual.Everything, "", ticket.Confirmed},
		"status only":        {virtual.RealTime | virtual.StatusQuery, "", ticket.Processed},
		"nothing":            {0, "", ticket.Sent},
		"told not to ask":    {virtual.Everything, "none", ticket.Sent},
		"told to use status": {virtual.Everything, "status", ticket.Processed},
		"told to use ids":    {virtual.Everything, "process_id", ticket.Confirmed},
	}
	names := slices.Collect(maps.Keys(cases))
	runDaemonWith(t, func(k *testDaemon) {
		for name, c := range cases {
			k.Printers[name] = newPrinter(name, c.can)
			k.Printer(name).Confirm = c.confirm
		}
	}, func(k *testDaemon) {
		order := func(number string) {
			var items []string
			for _, name := range names {
				items = append(items, at(name, "Burger"))
			}
			k.Accept(number, items...)
		}
		for _, number := range []string{"A1", "A2", "A3"} {
			order(number)
		}
		k.Advance(time.Minute)
		k.Restart() // the detected capability is stored
		order("A4")
		k.Advance(time.Minute)

		for name, c := range cases {
			k.WantPrinted(name, "A1 A2 A3 A4")
			k.wantOutcomes(name, map[ticket.State]uint64{c.want: 4})
			if d := k.status(name).Device; d == nil || d.Ability != string(c.want) || !d.Fine {
				t.Errorf("%s: the printer is %+v, want it fine and able of %s", name, d, c.want)
			}
		}
	}, names...)
}

func TestAHeldPrinterIsNoBackup(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) { k.Printer("grill").Backup = "bar" }, func(k *testDaemon) {
		k.Printers["grill"].Refuse(true)
		k.must(k.App.Queue().HoldStation(k.T.Context(), "bar", "cleaning"))
		k.Accept("A1", at("grill", "Burger"))
		k.Restart()
		k.Advance(time.Hour)
		k.WantPrinted("bar", "")
		wantText(t, k.App.StatusLine(), "bar: held: cleaning")

		k.must(k.App.Queue().ResumeStation(k.T.Context(), "bar"))
		k.Advance(time.Minute)
		k.WantPrinted("bar", "A1@GRILL")
	}, "grill", "bar")
}

// TestAPersonCanHaveASilentPrinterAskedAgain is for a printer in the place of one that answers: nothing else ends the
// wait for that one.
func TestAPersonCanHaveASilentPrinterAskedAgain(t *testing.T) {
	runDaemonWith(t, withCapability(0), func(k *testDaemon) {
		k.Advance(time.Minute)
		if code, said := k.control("/v1/stations/grill/probe", ""); code != http.StatusOK {
			k.T.Errorf("%d %s", code, said)
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
