package admin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAListOfStationsHasWhatNeedsAPerson(t *testing.T) {
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
	if len(all.Stations) != 3 || all.Stations[0].Advice == "" {
		t.Errorf("%+v", all.Stations)
	}
	if err := c.Resume(t.Context(), "grill"); err != nil {
		t.Fatal(err)
	}
}
