package app

import (
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
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
			got := k.Post(id, "A1", 1, at("grill", "Burger"))
			assert.True(k.T, strings.HasPrefix(got, want), after, got, want)
		}
		again(time.Minute, answerKnown)
		k.Restart()
		again(7*time.Hour, answerKnown)
		jobs := k.jobsOf("grill", "")
		assert.True(k.T, len(jobs) == 0, "the history still has", jobs)
		k.WantPrinted("grill", "A1")

		k.must(k.App.Queue().HoldStation(k.T.Context(), "grill", "cleaning"))
		k.Accept("A2", at("grill", "Burger"))
		k.Accept("A3", at("grill", "Burger"))
		got := k.Post("another", "A4", 0, at("grill", "Burger"))
		assert.True(k.T, strings.HasPrefix(got, "503 "), "a third that waits got", got)
	}, "grill")
}
