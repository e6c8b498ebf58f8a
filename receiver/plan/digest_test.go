package plan

import (
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// TestWhatTicketsSayIsInTheDigestOfTheBody: else a change of it would be taken for a retry.
func TestWhatTicketsSayIsInTheDigestOfTheBody(t *testing.T) {
	p := compile(t, Config{Fallback: "grill"})
	of := func(body string) (said, kept ticket.Digest) {
		r := p.Split(parse(t, body), Venue{}, "", time.Time{}, nil)
		_, said = ticket.Shares(r.Request.Drafts)
		return said, ticket.BodyDigest([]byte(body))
	}
	for name, x := range map[string][2]string{
		"a time that it is wanted at, beside the records": {
			`{"pickupTime":"2026-11-28T19:00:00Z","records":[{"id":"a","items":[{"name":"Fish"}]}]}`,
			`{"pickupTime":"2026-11-28T21:00:00Z","records":[{"id":"a","items":[{"name":"Fish"}]}]}`},
		"a time in seconds that it is wanted at": {
			`{"deliveryAt":1795950000,"records":[{"id":"a","items":[{"name":"Fish"}]}]}`,
			`{"deliveryAt":1795960000,"records":[{"id":"a","items":[{"name":"Fish"}]}]}`},
		"an allergy under a key with an underscore": {
			`{"records":[{"id":"a","items":[{"name":"Fish","_allergyNote":"none at all"}]}]}`,
			`{"records":[{"id":"a","items":[{"name":"Fish","_allergyNote":"peanuts"}]}]}`},
		"a note under a key with an underscore": {
			`{"records":[{"id":"a","_kitchenNote":"rare","items":[{"name":"Fish"}]}]}`,
			`{"records":[{"id":"a","_kitchenNote":"well done","items":[{"name":"Fish"}]}]}`},
		"a cancellation under a key with an underscore": {
			`{"records":[{"id":"a","items":[{"name":"Fish"}]}]}`,
			`{"records":[{"id":"a","items":[{"name":"Fish","_cancelled":true}]}]}`},
		"a raw item's note": {
			`{"records":[{"id":"a","items":[{"plu":"7","_allergyNote":"nuts"}]}]}`,
			`{"records":[{"id":"a","items":[{"plu":"7","_allergyNote":"egg"}]}]}`},
	} {
		a, aBody := of(x[0])
		b, bBody := of(x[1])
		if a == b || aBody == bBody {
			t.Errorf("%s: the tickets differ: %v, the body's digests: %v", name, a != b, aBody != bBody)
		}
	}
}
