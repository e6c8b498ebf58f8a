package app_test

import (
	"strings"
	"testing"
	"time"
)

func TestTheQueueKeepsTheLimitsOfTheConfiguration(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		withoutPolls(k)
		s := &k.Conf.Storage
		s.HistoryRetention, s.DedupRetention, s.MaxBacklog = time.Hour, 8*time.Hour, 2
	}, func(k *testDaemon) {
		id := k.Accept("A1", at("grill", "Burger"))
		again := func(after time.Duration, want string) {
			k.T.Helper()
			k.Advance(after)
			if got := k.Post(id, "A1", 1, at("grill", "Burger")); !strings.HasPrefix(got, want) {
				k.T.Errorf("after %s it got %s, want %s", after, got, want)
			}
		}
		again(time.Minute, answerKnown)
		k.Restart()
		again(7*time.Hour, answerKnown)
		if jobs := k.jobsOf("grill", ""); len(jobs) > 0 {
			k.T.Errorf("the history still has %+v", jobs)
		}
		k.WantPrinted("grill", "A1")

		k.must(k.App.Queue().HoldStation(k.T.Context(), "grill", "cleaning"))
		k.Accept("A2", at("grill", "Burger"))
		k.Accept("A3", at("grill", "Burger"))
		if got := k.Post("another", "A4", 0, at("grill", "Burger")); !strings.HasPrefix(got, "503 ") {
			k.T.Errorf("a third that waits got %s", got)
		}
	}, "grill")
}
