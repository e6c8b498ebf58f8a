package app

import (
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/kds/board"
)

func TestAnOrderIsNotReadyBeforeEveryPartOfItIs(t *testing.T) {
	atPass := testPass("pass", "hot-line", "cold")
	atPass.LeaveOut = []string{"grill"}
	setup := func(k *testDaemon) {
		withScreens(testScreen("hot-line"), testScreen("cold"), testScreen("wall"), atPass)(k)
		withThirdParty(&thirdParty{}, func(*config.KDS) {})(k)
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		hot, wall, pass := k.openPage("hot-line"), k.openPage("wall"), k.openPage("pass")
		defer hot.close()
		defer wall.close()
		defer pass.close()
		k.Accept("A401", at("hot-line", "Fish"), at("cold", "Salad"), at("bar", "Wine"), at("wall", "Soup"),
			at("fresh", "Roll"), at("grill", "Steak")) // which the pass leaves out
		k.Accept("A402", at("hot-line", "Fish"))
		k.Advance(40 * time.Second) // no page of cold is open
		k.WantPrinted("grill", "A401 A401@COLD")
		k.WantPrinted("bar", "A401")
		cold := "cold sent at grill"
		bar := "bar sent"
		fresh := "fresh taken"
		pass.wantParts("A401", "hot-line open", cold, bar, "wall open", fresh, "not ready")
		hot.press(board.Bump, "A401")
		hot.press(board.Bump, "A402")
		pass.wantParts("A401", "hot-line bumped", cold, bar, "wall open", fresh, "not ready")
		pass.wantParts("A402", "hot-line bumped", "ready")
		wall.press(board.Bump, "A401")
		pass.wantParts("A401", "hot-line bumped", cold, bar, "wall bumped", fresh, "not ready")
		for _, station := range []string{"cold", "bar", "fresh"} {
			assert.Equal(t, pass.tick("A401", station), board.Done, "a tick of", station)
		}
		pass.wantParts("A401", "hot-line bumped", cold+" (ticked)", bar+" (ticked)", "wall bumped",
			fresh+" (ticked)", "ready")
	}, "grill", "bar")
}
