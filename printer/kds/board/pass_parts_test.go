package board

import (
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestAnOrderIsReadyOnlyWhenEveryPartIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t, barJob(50, ticket.Pending))
		p.doneAtHot(t)
		assert.True(t, !p.find(18, Open).Ready, "it is ready before the queue was asked")
		for _, c := range []struct{ state, want, why string }{
			{"pending", "#18 hot=done bar=wait", ""},
			{"held", "#18 hot=done bar=held", "no paper"},
			{"failed", "#18 hot=done bar=held", "no paper"},
			{"printing", "#18 hot=done bar=wait", ""},
			{"confirmed", "#18 hot=done bar=out", ""},
		} {
			s := barJob(50, ticket.State(c.state))
			s.Why = "no paper"
			p.set(s)
			p.wantParts(t, c.want)
			got := p.find(18, Open).Parts[1]
			assert.True(t, got.Told == c.state && got.Why == c.why &&
				(c.state != "confirmed" || got.Clock == "21:51"), c.state, got)
			if s.State != ticket.Confirmed {
				p.tick(t, Tick, "bar", Conflict)
			}
		}
		tick := p.press(Tick, 18)
		tick.PartStation = "bar"
		for range 2 { // delivered twice
			p.wants(t, tick, Done)
			p.wantParts(t, "#18 ready hot=done bar=ticked")
		}
		p.start(t)
		time.Sleep(time.Second)
		p.wantParts(t, "#18 ready hot=done bar=ticked")
		p.tick(t, Tick, "bar", Already)
		p.tick(t, Untick, "bar", Done)
		p.wantParts(t, "#18 hot=done bar=out")
		p.tick(t, Untick, "cellar", Gone)

		// A later part at the same station must be ticked, too.
		p.tick(t, Tick, "bar", Done)
		put(t, p.cold, numbered(18, 3)) // asks the queue again
		p.set(barJob(50, ticket.Confirmed), barJob(51, ticket.Sent))
		p.wantParts(t, "#18 hot=done cold=open/2 bar=out")
		do(t, p.cold, press(p.cold, Bump, 3, 0))
		p.set(barJob(50, ticket.Cancelled))
		put(t, p.cold, numbered(18, 4))
		do(t, p.cold, press(p.cold, Bump, 4, 0))
		synctest.Wait()
		p.wantParts(t, "#18 ready hot=done cold=done bar=gone")
		got := p.find(18, Open).Parts
		assert.True(t, got[0].Told == "bumped" && got[0].Clock != "" && got[2].Told == "cancelled", got)
	})
}

func TestAPassTicksAnExpiredPartByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t, barJob(50, ticket.Expired))
		p.doneAtHot(t)
		p.set(barJob(50, ticket.Expired))
		p.wantParts(t, "#18 hot=done bar=expired")
		assert.Equal(t, p.find(18, Open).Parts[1].Told, "expired")
		p.set(barJob(50, ticket.Expired), barJob(60, ticket.Pending))
		p.wantParts(t, "#18 hot=done bar=expired")
		p.tick(t, Tick, "bar", Done)
		p.wantParts(t, "#18 hot=done bar=wait")
		p.set(barJob(50, ticket.Expired))
		p.wantParts(t, "#18 ready hot=done bar=ticked")
		assert.Equal(t, p.find(18, Open).Parts[1].Told, "expired")

		// A copy of it, and one more that a person holds.
		parts := map[ticket.State]string{ticket.Held: "held", ticket.Pending: "wait", ticket.Sent: "out"}
		for state, part := range parts {
			p.set(barJob(50, ticket.Expired), barJob(51, ticket.Confirmed), barJob(52, state))
			p.wantParts(t, "#18 hot=done bar="+part)
		}
		p.set(barJob(50, ticket.Expired), barJob(51, ticket.Confirmed), barJob(52, ticket.Sent))
		p.tick(t, Tick, "bar", Done)
		p.wantParts(t, "#18 ready hot=done bar=ticked")
	})
}

func TestWhatADarkScreenSentToPaperIsAPartOfTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		salad := numbered(18, 3)
		p.siblings = []Sibling{{Job: 3, Routed: "cold", At: "grill", Kind: Paper, State: ticket.Printing,
			Ticket: salad.Ticket}}
		p.start(t)
		put(t, p.hot, numbered(18, 1))
		assert.NoError(t, p.cold.ComesOut(t.Context(), salad, "grill"))
		do(t, p.hot, press(p.hot, Bump, 1, 0))
		p.set(p.siblings...)
		p.wantParts(t, "#18 hot=done cold=wait")
		p.siblings[0].State = ticket.Confirmed
		p.set(p.siblings...)
		p.wantParts(t, "#18 hot=done cold=out")
		got := p.find(18, Open).Parts[1]
		assert.True(t, got.Told == "confirmed" && got.At == "grill", got)
		p.start(t)
		p.set(p.siblings...)
		p.wantParts(t, "#18 hot=done cold=out")

		// A card that was shown before the screen went dark.
		put(t, p.cold, numbered(19, 4))
		show(t, p.cold, 4)
		toPaper(t, p.cold, p.stores["cold"])
		p.set()
		p.wantParts(t, "#18 hot=done cold=out", "#19 cold=out")
	})
}
