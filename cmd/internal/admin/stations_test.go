package admin

import (
	"testing"

	"ticketrail/deploy/assert"
)

func TestAListOfStationsSaysWhatToDo(t *testing.T) {
	c := startDaemon(t)
	assert.NoError(t, c.Hold(t.Context(), "grill", "cleaning"))
	all, err := c.Stations(t.Context())
	assert.NoError(t, err)
	assert.True(t, len(all.Stations) == 3 && all.Stations[0].Advice != "", all.Stations)
	assert.NoError(t, c.Resume(t.Context(), "grill"))
}
