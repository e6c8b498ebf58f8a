package app_test

import (
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/receiver"
)

func TestTheStatusCountsTheOrdersOfTheLastHourAndKeepsTheTimeOfTheLastOne(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		if s := k.finding(admin.OK, "orders"); s != "0 orders in the last hour; none has come yet" {
			t.Error(s)
		}
		k.Accept("A1", at("grill", "Soup"))
		k.Accept("A2", at("grill", "Soup"))
		time.Sleep(59 * time.Minute)
		want := "2 orders in the last hour; the last request 59m ago, at "
		if s := k.finding(admin.OK, "orders"); !strings.HasPrefix(s, want) {
			t.Error(s)
		}
		time.Sleep(2 * time.Minute)
		k.Restart()
		want = "0 orders in the last hour; the last request 1h1m ago, at "
		if s := k.finding(admin.OK, "orders"); !strings.HasPrefix(s, want) {
			t.Error(s)
		}
		if got := k.Send(`{"records":7}`); !strings.HasPrefix(got, "400 ") {
			t.Fatal(got)
		}
		want = "0 orders in the last hour; the last request 0s ago, at " // it reached the box
		if s := k.finding(admin.OK, "orders"); !strings.HasPrefix(s, want) {
			t.Error(s)
		}
	}, "grill")
}

func TestTheStatusNamesRefusedRequestsForAnHour(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		k.App.Rejects().Keep(receiver.Reject{Time: time.Now(), Code: "schema_mismatch", Message: "records: missing"})
		time.Sleep(time.Minute)
		if s := k.finding(admin.Fail, "orders"); !strings.HasPrefix(s, "1 request refused in the last hour") {
			t.Error(s)
		}
		time.Sleep(time.Hour)
		if s := k.finding(admin.Fail, "orders"); s != "" {
			t.Error(s)
		}
	}, "grill")
}
