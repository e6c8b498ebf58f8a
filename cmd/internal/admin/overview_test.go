package admin

import (
	"cmp"
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

func TestTheZoneIsThatOfTheKitchenOrOfTheBox(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	assert.NoError(t, err)
	for _, zone := range []*time.Location{tokyo, nil} {
		c := startDaemon(t, func(_ *testDaemon, o *Options) { o.Zone = func() *time.Location { return zone } })
		want := cmp.Or(zone, time.Local)
		got, err := c.Client.Zone(t.Context())
		assert.True(t, err == nil && got.String() == want.String(), got, err, want)
		// A test ticket shows the time of the kitchen too.
		id, err := c.Test(t.Context(), "grill")
		assert.NoError(t, err)
		if x, err := c.Job(t.Context(), id); err != nil || (zone != nil) != (x.Ticket.Zone == "Asia/Tokyo") {
			t.Errorf("the test ticket has zone %q, %v", x.Ticket.Zone, err)
		}
	}
}
