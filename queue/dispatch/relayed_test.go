package dispatch

import (
	"testing"
	"time"
)

// afterACut serves grill with a fast printer, and has orders come that waited at a relay, one in each second.
func afterACut(h *harness, names ...string) *fakePrinter {
	p := h.printer()
	h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: time.Hour}})
	h.advance(0)
	h.q.age = 2 * time.Hour
	for _, name := range names {
		h.q.enqueue("grill", name)
		h.advance(time.Second)
	}
	return p
}

func TestOrdersOfARelayThatAreTooOldAreOnOneSlip(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := afterACut(h, "a", "b", "c")
		h.wantPrinted(p)
		h.advance(2 * time.Second)
		h.wantPrinted(p, "slip a b c")
		h.q.enqueue("grill", "d")
		h.advance(2 * time.Second)
		h.wantPrinted(p, "slip a b c", "slip d")
	})
}

func TestAnOrderThatIsWantedWaitsForNoSlip(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := afterACut(h, "a", "b")
		h.q.age = time.Minute
		h.q.enqueue("grill", "fresh")
		h.advance(0)
		h.wantPrinted(p, "slip a b", "fresh")
		h.q.age = 2 * time.Hour
		h.q.hold("grill", true)
		h.q.enqueue("grill", "c")
		h.q.age = 0
		h.q.enqueue("grill", "next")
		h.q.hold("grill", false)
		h.advance(0)
		h.wantPrinted(p, "slip a b", "fresh", "slip c", "next")
	})
}

func TestASlipDoesNotWaitForEver(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		all := names(11)
		p := afterACut(h, all...) // in eleven seconds
		if n := len(p.printed()); n != 1 {
			t.Errorf("%d slips after 11 s, want 1", n)
		}
	})
}

func TestASlipOfOrdersOfARelayComesOutAfterACrash(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		afterACut(h, "a", "b")
		if err := h.stopAtOnce(); err != nil {
			t.Fatal(err)
		}
		h.q.close()
		h.q.open()
		h.start()
		p := afterACut(h, "c")
		h.advance(2 * time.Second)
		h.wantPrinted(p, "slip a b c")
	})
}

func TestAStopDoesNotWaitForASlip(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := afterACut(h, "a")
		begun := time.Now()
		if err := h.Stop(t.Context()); err != nil || time.Since(begun) != 0 {
			t.Errorf("it took %s: %v", time.Since(begun), err)
		}
		h.wantPrinted(p)
	})
}

func TestASlipThatIsThereWaitsForNoMore(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := afterACut(h, "a")
		p.setFault(noPaper)
		h.advance(time.Minute)
		p.setFault(fine)
		h.Kick("grill")
		h.advance(0)
		h.wantPrinted(p, "slip a")
	})
}
