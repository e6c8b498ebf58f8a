package station

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/queue/ticket"
)

func TestAReloadKeepsTheStationsThatDidNotChange(t *testing.T) {
	conf := configOfEveryKind()
	s, _ := openSet(t, conf)
	prev := s.active.Load()
	same, err := s.Build(configOfEveryKind())
	assert.NoError(t, err)
	for name, st := range prev.stations {
		assert.True(t, same.stations[name] == st, "is another one although nothing changed", name)
	}
	changed := configOfEveryKind()
	changed.Printers[0].Copies = 2
	changed.KDS[0].URL = "https://kds.example/v2"
	changed.Logs[0].IncludeRaw = true
	changed.Screens[0].HoldFor = time.Hour
	next, err := s.Build(changed)
	assert.NoError(t, err)
	for name, st := range prev.stations {
		assert.True(t, (next.stations[name] == st) == (name == "pass"), "is the same although it changed", name)
	}
	assert.True(t, next.devices["tcp://127.0.0.1:1"] == prev.devices["tcp://127.0.0.1:1"] && next.drawer == prev.drawer,
		"another number of copies is another device, or other letters")
}

func TestAPassSaysWhatIsReadyInsteadOfTheScreensThatItShows(t *testing.T) {
	conf := configOfEveryKind()
	alone := conf.Screens[0]
	alone.Name = "alone"
	conf.Screens = append(conf.Screens, alone)
	s, _ := openSet(t, conf)
	got := slices.Sorted(maps.Keys(s.Orders()))
	assert.True(t, slices.Equal(got, []string{"alone", "pass"}), got)
}

func TestABuildThatFailsDoesNotChangeTheActiveStations(t *testing.T) {
	s, _ := openSet(t, configOfEveryKind())
	prev := s.active.Load()
	for what, spoil := range map[string]func(*config.Config){
		"profile": func(c *config.Config) { c.Printers[0].Profile = "none such" },
		"address": func(c *config.Config) { c.Printers[0].Address = "pigeon://" },
		"url":     func(c *config.Config) { c.KDS[0].URL = "pigeon://" },
		"log":     func(c *config.Config) { c.Logs[0].To = "pigeon://" },
	} {
		conf := configOfEveryKind()
		spoil(conf)
		_, err := s.Build(conf)
		assert.True(t, err != nil && s.active.Load() == prev, what, err)
	}
}

func TestAPaperCopyOfATicketThatStillWaitsIsRefused(t *testing.T) {
	conf := configOfEveryKind()
	s, q := openSet(t, conf)
	_, err := q.Accept(t.Context(),
		ticket.Request{ID: "1", Body: []byte("{}"), Drafts: []ticket.Draft{{Station: "hot"}}})
	assert.NoError(t, err)
	// No page is open, so the ticket waits.
	err = s.screens.paperFor(s.active.Load(), conf.Screens[0])(t.Context(), 1)
	assert.True(t, errors.Is(err, kds.ErrInProgress), "a ticket that still waits", err)
}

func TestARefusedTicketGoesToTheBackupsAndThenToTheFallback(t *testing.T) {
	conf := configOfEveryKind()
	bar := config.DefaultPrinter()
	bar.Name, bar.Address, bar.Backup = "bar", "tcp://127.0.0.1:2", "hot"
	conf.Printers = append(conf.Printers, bar)
	cold := conf.KDS[0]
	cold.Name, cold.Backup = "cold", "bar"
	conf.KDS = append(conf.KDS, cold)
	conf.Fallback = "fresh"
	s, _ := openSet(t, conf)
	got := map[string][]string{}
	for _, l := range s.active.Load().lanes() {
		got[l.Name] = l.OnRefusal
	}
	want := map[string][]string{
		"grill": {"fresh"}, "bar": {"hot", "grill", "fresh"}, "hot": {"grill", "fresh"},
		"fresh": nil, "archive": {"fresh"}, "cold": {"bar", "hot", "grill", "fresh"},
	}
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "", "where refused tickets go", diff)
}
