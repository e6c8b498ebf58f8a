package receiver

import (
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

const (
	otherVenue = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a12"
	plainVenue = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a13"
	noVenue    = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a14"
)

func TestAVenueWithASecretOfItsOwnIsTakenOnlyThere(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy func(*Options, *Policy)
		want   map[string]int // by the end of the path and the venue
	}{
		{"no secret for all", ownSecrets, map[string]int{
			"/own-old " + venueID: 200, "/own-new " + venueID: 200, " " + venueID: 404, "/other " + venueID: 404,
			"/other " + otherVenue: 200, "/own-old " + otherVenue: 404, " " + otherVenue: 404,
			" " + plainVenue: 200, "/other " + plainVenue: 404, "/wrong " + plainVenue: 404, "/wrong " + venueID: 404,
			"/own-old " + noVenue: 403, " " + noVenue: 403, "/wrong " + noVenue: 404,
		}},
		{"a secret for all", func(o *Options, p *Policy) {
			ownSecrets(o, p)
			p.Secrets = []string{"all"}
		}, map[string]int{
			"/own-old " + venueID: 200, "/all " + venueID: 404, " " + venueID: 404,
			"/all " + plainVenue: 200, " " + plainVenue: 404, "/other " + plainVenue: 404,
		}},
		{"each has one", func(o *Options, p *Policy) { ownSecrets(o, p); p.Venues = p.Venues[:2] }, map[string]int{
			"/own-new " + venueID: 200, "/other " + otherVenue: 200, " " + venueID: 404, " " + noVenue: 404,
			"/other " + venueID: 404,
		}},
	} {
		b := newTestbed(t, c.policy)
		for at, want := range c.want {
			end, id, _ := strings.Cut(at, " ")
			req := post([]byte(burger))
			req.URL.Path += end
			req.Header.Set(contract.HeaderVenue, strings.ToUpper(id))
			w := b.do(req)
			assert.Equal(t, w.Code, want, c.name, at, w.Body)
			if want == 404 {
				code, message := errorOf(t, w.Body.Bytes())
				assert.True(t, code == NotFound && message == "not found", c.name, at, code, message)
				last := b.rejects[len(b.rejects)-1]
				known := last.Venue == venueID || last.Venue == otherVenue
				assert.True(t, !known || last.Code == "wrong_path", c.name, at, last)
			}
			// Whatever the venue is: a GET has no venue.
			req.Method = "GET"
			w, reached := b.do(req), want != 404 || end != "/wrong" && end != ""
			assert.True(t, !reached || w.Code == 405, c.name, at, w.Code)
		}
		for _, q := range b.intake.requests() {
			assert.True(t, q.Venue != noVenue, c.name)
		}
		out := b.log.String()
		assert.True(t, !strings.Contains(out, "own-") && strings.Contains(out, "code=wrong_path"), c.name, out)
	}
}

// ownSecrets gives two venues secrets of their own, and one none.
func ownSecrets(_ *Options, p *Policy) {
	p.Venues[0].Secrets = []string{"own-old", "own-new"}
	p.Venues = append(p.Venues, Venue{Venue: plan.Venue{ID: otherVenue}, Secrets: []string{"other"}},
		Venue{Venue: plan.Venue{ID: plainVenue}})
}
