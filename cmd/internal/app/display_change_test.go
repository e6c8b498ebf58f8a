package app

import (
	"slices"
	"testing"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/kds/board"
	"ticketrail/receiver/plan"
)

func TestARestartKeepsTheBoards(t *testing.T) {
	screens := withScreens(testScreen("hot-line"), testScreen("cold"), testPass("pass", "hot-line"))
	runDaemonWith(t, screens, func(k *testDaemon) {
		p, pass := k.openPage("hot-line"), k.openPage("pass")
		for _, number := range []string{"A1", "A2", "A3"} {
			k.Accept(number, at("hot-line", "Fish"))
		}
		p.want("A1 A2 A3")
		p.press(board.ItemDone, "A1")
		p.press(board.Bump, "A2")
		p.want("A1- A3")
		pass.want("A1 A2+ A3")
		pass.press(board.Bump, "A2")
		pass.want("A1 A3")
		p.close()
		pass.close()
		k.Restart()

		p, pass = k.openPage("hot-line"), k.openPage("pass")
		defer p.close()
		defer pass.close()
		p.want("A1- A3")
		pass.want("A1 A3")
		k.WantPrinted("grill", "")
		moments, err := k.App.stations.Displays().Timeline(2)
		k.must(err)
		var got []string
		for _, m := range moments {
			got = append(got, m.Text)
		}
		want := []string{"accepted", "on the board of hot-line", "shown on hot-line", "bumped at hot-line", "sent out"}
		assert.True(t, slices.Equal(got, want), "the timeline of job 2 is", got, want)
	}, "grill")
}

func TestAReloadAddsAndRemovesScreens(t *testing.T) {
	runDaemonWith(t, withScreens(), func(k *testDaemon) {
		without := k.Conf
		k.reload(func(c *config.Config) {
			c.Screens = []config.Screen{testScreen("hot-line"), testScreen("cold"), testPass("pass", "hot-line")}
			c.Routes = append(c.Routes, plan.Route{When: `item.station == "cold"`, To: []string{"cold"}},
				plan.Route{When: `item.station == "hot-line"`, To: []string{"hot-line"}})
		})
		p, pass := k.openPage("hot-line"), k.openPage("pass")
		k.Accept("A1", at("hot-line", "Burger"), at("cold", "Salad"))
		p.want("A1")
		pass.want("A1")

		// A pass of more stations; the page of the other screen stays connected.
		k.reload(func(c *config.Config) {
			c.Screens = []config.Screen{c.Screens[0], c.Screens[1], testPass("pass", "hot-line", "cold")}
		})
		cold := k.openPage("cold")
		pass.close()
		pass = k.openPage("pass")
		cold.want("A1")
		p.press(board.Bump, "A1")
		p.want("")
		pass.want("A1")
		cold.press(board.Bump, "A1")
		pass.want("A1+")
		k.Accept("A2", at("hot-line", "Soup"))
		p.want("A2")

		k.reload(func(c *config.Config) { *c = *without })
		for _, p := range []*page{p, pass, cold} {
			p.close()
		}
		assert.Contains(t, k.finding(finding.Fail, "stations"), "hot-line is no screen any more")
		for _, l := range k.App.stations.List() {
			assert.Equal(t, l.Kind, "", l.Name)
		}
		k.Restart()
		got := k.finding(finding.Fail, "stations")
		assert.True(t, got != "", "after a restart", got)
	}, "grill")
}
