package plan

import (
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

// TestWhatTicketsSayIsInTheDigestOfTheBody: else a change of it would be taken for a retry.
func TestWhatTicketsSayIsInTheDigestOfTheBody(t *testing.T) {
	p := compile(t, Config{Fallback: "grill"})
	of := func(body string) (said, kept ticket.Digest) {
		r := p.Split(parse(t, body), Venue{}, "", time.Time{}, nil)
		_, said = ticket.Shares(r.Request.Drafts)
		return said, r.Request.Content
	}
	const fish = `{"id":"a","items":[{"name":"Fish"}]}`
	for _, c := range []struct{ body, one, two string }{
		{`{"pickupTime":"…","records":[` + fish + `]}`, "2026-11-28T19:00:00Z", "2026-11-28T21:00:00Z"},
		{`{"deliveryAt":…,"records":[` + fish + `]}`, "1795950000", "1795960000"},
		{`{"records":[{"id":"a","items":[{"name":"Fish","_allergyNote":"…"}]}]}`, "none at all", "peanuts"},
		{`{"records":[{"id":"a","_kitchenNote":"…","items":[{"name":"Fish"}]}]}`, "rare", "well done"},
		{`{"records":[{"id":"a","items":[{"name":"Fish","_cancelled":…}]}]}`, "false", "true"},
		{`{"records":[{"id":"a","items":[{"plu":"7","_allergyNote":"…"}]}]}`, "nuts", "egg"},
	} {
		one, oneBody := of(strings.Replace(c.body, "…", c.one, 1))
		two, twoBody := of(strings.Replace(c.body, "…", c.two, 1))
		assert.True(t, one != two && oneBody != twoBody, c.body, one != two, oneBody != twoBody)
	}
}
