package dispatch

import (
	"errors"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestASlipNeverExpires(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.failing(noPaper)
		h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: time.Hour}})
		h.q.enqueue("grill", "a")
		h.advance(2 * time.Hour) // the slip takes the place of the ticket
		h.q.hold("grill", true)
		h.advance(2 * time.Hour) // and gets too old itself
		p.setFault(fine)
		h.q.mu.Lock()
		h.q.ends = nil
		h.q.mu.Unlock()
		h.q.hold("grill", false)
		h.advance(time.Second)
		h.wantPrinted(p, "slip a")
		h.wantEnds("grill  ack") // and was not returned first
	})
}

func TestATicketCancelledOrTooOldOnAHeldStationDoesNotPrint(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer(off)
		h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		h.q.enqueue("grill", "gone", "a", "b")
		h.advance(0) // the worker is in a pause, the head is not lent
		assert.NoError(t, h.q.Cancel(t.Context(), h.q.job("gone").ID, "left"))
		h.q.hold("grill", true)
		h.advance(5 * time.Hour)
		h.q.enqueue("grill", "c")
		h.wantPrinted(p)
		h.q.hold("grill", false)
		h.advance(0)
		h.wantPrinted(p, "slip a b", "c")
		j := h.q.job("a")
		assert.True(t, j.Attempts == 0 && j.State == ticket.Expired, j)
	})
}

func TestTicketsPrintLateWhenTheQueueCannotExpireThem(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		h.q.setErrors(nil, errors.New("storage full"))
		h.q.enqueue("grill", "a", "b")
		h.advance(5 * time.Hour)
		h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		h.advance(10 * time.Second)
		h.wantPrinted(p, "a", "b")
	})
}

func TestOrdersOfARelayThatAreTooOldAreOnOneSlip(t *testing.T) {
	// Orders that waited at a relay come one in each second, too old already.
	type relayed struct {
		orders int
		then   func(h *harness, p *fakePrinter)
		want   []string
	}
	each(t, map[string]relayed{
		"a second after the last": {3, func(h *harness, p *fakePrinter) {
			h.wantPrinted(p)
			h.advance(2 * time.Second)
			h.q.enqueue("grill", "d")
			h.advance(2 * time.Second)
		}, []string{"slip order-000 order-001 order-002", "slip d"}},
		"at once before one that is wanted": {2, func(h *harness, p *fakePrinter) {
			h.q.age = time.Minute
			h.q.enqueue("grill", "fresh")
			h.advance(0)
			h.wantPrinted(p, "slip order-000 order-001", "fresh")

			h.q.hold("grill", true)
			h.q.age = 2 * time.Hour
			h.q.enqueue("grill", "c")
			h.q.age = 0
			h.q.enqueue("grill", "next")
			h.q.hold("grill", false)
			h.advance(0)
		}, []string{"slip order-000 order-001", "fresh", "slip c", "next"}},
		"however many come, after ten seconds": {11, func(h *harness, p *fakePrinter) {
			assert.Equal(h.t, len(p.printed()), 1)
		}, []string{"slip order-000 order-001 order-002 order-003 order-004 order-005 order-006 order-007 " +
			"order-008 order-009"}},
		"after a restart": {2, func(h *harness, p *fakePrinter) {
			h.restart()
			h.serveRelayed(p)
			h.q.enqueue("grill", "c")
			h.advance(3 * time.Second)
		}, []string{"slip order-000 order-001 c"}},
		"not during a stop, which does not wait for it": {1, func(h *harness, _ *fakePrinter) {
			begun := time.Now()
			assert.NoError(h.t, h.Stop(h.t.Context()))
			assert.Equal(h.t, time.Since(begun), 0)
		}, nil},
		"one that is there waits for no more": {1, func(h *harness, p *fakePrinter) {
			p.setFault(noPaper)
			h.advance(time.Minute)
			p.setFault(fine)
			h.Kick("grill")
			h.advance(0)
		}, []string{"slip order-000"}},
	}, func(_ *testing.T, h *harness, c relayed) {
		p := h.printer()
		h.serveRelayed(p)
		for _, name := range names(c.orders) {
			h.q.enqueue("grill", name)
			h.advance(time.Second)
		}
		c.then(h, p)
		h.wantPrinted(p, c.want...)
	})
}

// serveRelayed serves grill for orders that are two hours old when they come.
func (h *harness) serveRelayed(p *fakePrinter) {
	h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: time.Hour}})
	h.advance(0)
	h.q.age = 2 * time.Hour
}
