package admin

import "testing"

func TestAListOfStationsSaysWhatToDo(t *testing.T) {
	c := startDaemon(t)
	if err := c.Hold(t.Context(), "grill", "cleaning"); err != nil {
		t.Fatal(err)
	}
	all, err := c.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Stations) != 3 || all.Stations[0].Advice == "" {
		t.Errorf("%+v", all.Stations)
	}
	if err := c.Resume(t.Context(), "grill"); err != nil {
		t.Fatal(err)
	}
}
