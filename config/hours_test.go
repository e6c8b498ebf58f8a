package config

import (
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

func venueWith(t *testing.T, hours ...string) (v Venue) {
	t.Helper()
	for _, text := range hours {
		var h Hours
		assert.NoError(t, h.UnmarshalText([]byte(text)))
		v.Hours = append(v.Hours, h)
	}
	return v
}

func TestAVenueIsOpenDuringItsHoursAlsoOverMidnight(t *testing.T) {
	v := venueWith(t, "mon-thu 11:30-14:30", "Fri,SATURDAY 18:00-02:00", "sun 20:00-24:00")
	for at, want := range map[string]bool{
		"Mon 11:29": false, "Mon 11:30": true, "Thu 14:29": true, "Thu 14:30": false, "Fri 12:00": false,
		"Fri 01:00": false, "Fri 18:00": true, "Sat 01:59": true, "Sat 02:00": false, "Sun 01:59": true,
		"Sun 02:00": false,
		"Sun 19:59": false, "Sun 23:59": true, "Mon 00:00": false, "Tue 12:00": true,
	} {
		local, err := time.Parse("2006-01-02 Mon 15:04", map[string]string{"Mon": "2026-11-23 ", "Tue": "2026-11-24 ",
			"Thu": "2026-11-26 ", "Fri": "2026-11-27 ", "Sat": "2026-11-28 ", "Sun": "2026-11-29 "}[at[:3]]+at)
		assert.NoError(t, err)
		assert.Equal(t, v.OpenAt(local), want, at)
	}
	daily := venueWith(t, "daily 00:00-24:00")
	around := venueWith(t, "sat-mon 10:00-11:00")
	for d := range 7 {
		at := time.Date(2026, 11, 23+d, 10, 30, 0, 0, time.UTC)
		assert.True(t, daily.OpenAt(at), "closed on", at.Weekday())
		want := d == 0 || d > 4
		assert.Equal(t, around.OpenAt(at), want, "sat-mon on", at.Weekday(), !want)
	}
	assert.True(t, !(Venue{}).OpenAt(time.Now()), "a venue without hours is open")
}
