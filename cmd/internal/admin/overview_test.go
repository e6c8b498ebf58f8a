package admin

import (
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

func TestTheZoneIsThatOfTheKitchenOrOfTheBox(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	assert.NoError(t, err)
	for _, zone := range []*time.Location{tokyo, time.Local} {
		c := startDaemon(t, func(_ *testDaemon, o *Options) { o.Zone = func() *time.Location { return zone } })
		got, err := c.Client.Zone(t.Context())
		assert.True(t, err == nil && got.String() == zone.String(), got, err, zone)
		// A test ticket shows the time of the kitchen too.
		id, err := c.Test(t.Context(), "grill")
		assert.NoError(t, err)
		x, err := c.Job(t.Context(), id)
		assert.True(t, err == nil && (zone == tokyo) == (x.Ticket.Zone == "Asia/Tokyo"), x.Ticket, err)
	}
}
