package app

import (
	"net/http"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestAHeldPrinterIsNoBackup(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) { k.Printer("grill").Backup = "bar" }, func(k *testDaemon) {
		k.Printers["grill"].Refuse(true)
		k.must(k.App.Queue().HoldStation(k.T.Context(), "bar", "cleaning"))
		k.Accept("A1", at("grill", "Burger"))
		k.Restart()
		k.Advance(time.Hour)
		k.WantPrinted("bar", "")
		wantText(t, k.App.statusLine(), "bar: held: cleaning")

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
		code, said := k.control("/v1/stations/grill/probe", "")
		assert.Equal(k.T, code, http.StatusOK, said)
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
