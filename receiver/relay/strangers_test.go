package relay

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"ticketrail/receiver/source"
)

// TestWhoAsksAgainAndAgainHowMuchWaitsIsToldToWait: each time the servers are asked.
func TestWhoAsksAgainAndAgainHowMuchWaitsIsToldToWait(t *testing.T) {
	_, venue, d := oneVenue(t)
	status := 0
	for end := time.Now().Add(testTime); status != http.StatusTooManyRequests && time.Now().Before(end); {
		status, _, _ = d.ask(t, "HEAD", source.PathNext, tokenOf(venue), "")
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("it is answered %d", status)
	}
}

// TestABoxWithAnOldTokenIsAlwaysToldSo: it tries about every five seconds, and gives advice only when told why.
func TestABoxWithAnOldTokenIsAlwaysToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := rate.NewLimiter(wrongPerSecond, wrongAtOnce)
		for i := range 1000 {
			if !limit.AllowN(time.Now(), 100) { // boxes
				t.Fatalf("at its attempt %d it is told that there were too many", i)
			}
			time.Sleep(5 * time.Second)
		}
	})
}
