package dispatch

import (
	"errors"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func TestARecoveringStationFirstPrintsTheSlip(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.now(off)
		k.Set([]Line{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		k.q.put("grill", "a", "b")
		k.pass(3 * time.Hour)
		k.q.put("grill", "c")
		k.pass(2 * time.Hour)
		p.now(fine)
		k.pass(longestPause)
		k.wantPaper(p, "slip a b", "c")
	})
}

func TestATicketThatGotTooOldOnAHeldStationExpires(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		k.q.hold("grill", true)
		k.Set([]Line{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		k.q.put("grill", "a", "b")
		k.pass(5 * time.Hour)
		k.q.put("grill", "c")
		k.q.hold("grill", false)
		k.pass(0)
		k.wantPaper(p, "slip a b", "c")
		if j := k.q.job("a"); j.attempts != 0 || j.state != ticket.Expired {
			t.Errorf("%d attempts, %s", j.attempts, j.state)
		}
	})
}

func TestTicketsPrintLateWhenTheQueueCannotExpireThem(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		k.q.expireErr = errors.New("storage full")
		k.q.put("grill", "a", "b")
		k.pass(5 * time.Hour)
		k.Set([]Line{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		k.pass(time.Second)
		k.wantPaper(p, "a", "b")
	})
}

func TestNothingExpiresWithoutALimit(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		k.q.put("grill", "a")
		k.pass(1000 * time.Hour)
		k.Set([]Line{{Name: "grill", Station: p}})
		k.pass(0)
		k.wantPaper(p, "a")
	})
}
