package app

import (
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/receiver"
)

// stateOf is the finding about a subject at a level; its text is empty if there is none.
func (k *testDaemon) stateOf(level admin.Level, subject string) string {
	k.t.Helper()
	all, err := k.app.state(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, f := range all {
		if f.Level == level && f.Subject == subject {
			return f.String()
		}
	}
	return ""
}

func TestTheStatusCountsTheOrdersOfTheLastHourAndKeepsTheTimeOfTheLastOne(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		if s := k.stateOf(admin.OK, "orders"); s != "0 orders in the last hour; none has come yet" {
			t.Error(s)
		}
		k.accept("A1", at("grill", "Soup"))
		k.accept("A2", at("grill", "Soup"))
		time.Sleep(59 * time.Minute)
		want := "2 orders in the last hour; the last request 59m ago, at "
		if s := k.stateOf(admin.OK, "orders"); !strings.HasPrefix(s, want) {
			t.Error(s)
		}
		time.Sleep(2 * time.Minute)
		k.restart()
		want = "0 orders in the last hour; the last request 1h1m ago, at "
		if s := k.stateOf(admin.OK, "orders"); !strings.HasPrefix(s, want) {
			t.Error(s)
		}
		if got := k.send(`{"records":7}`); !strings.HasPrefix(got, "400 ") {
			t.Fatal(got)
		}
		want = "0 orders in the last hour; the last request 0s ago, at " // it reached the box
		if s := k.stateOf(admin.OK, "orders"); !strings.HasPrefix(s, want) {
			t.Error(s)
		}
	}, "grill")
}

func TestTheStatusNamesRefusedRequestsForAnHour(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		k.app.rejects.Keep(receiver.Reject{Time: time.Now(), Code: "schema_mismatch", Message: "records: missing"})
		time.Sleep(time.Minute)
		if s := k.stateOf(admin.Fail, "orders"); !strings.HasPrefix(s, "1 request refused in the last hour") {
			t.Error(s)
		}
		time.Sleep(time.Hour)
		if s := k.stateOf(admin.Fail, "orders"); s != "" {
			t.Error(s)
		}
	}, "grill")
}
