package app_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func TestWhatTheStartDoesToADamagedTicketIsKeptForTheOutcomes(t *testing.T) {
	damaged := func(k *testDaemon) {
		k.Conf.Outcomes = config.Outcomes{Address: config.NewSecret("http://127.0.0.1:1/"), LateAfter: time.Hour,
			Keys: config.NewSecret("whsec_QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD\n")}
		q, err := queue.Open(queue.Options{Path: k.Conf.Storage.Path, NoSync: true, Reserve: -1})
		if err == nil {
			_, err = q.Accept(k.T.Context(), ticket.Request{Venue: "v", ID: "a", Body: []byte("a"),
				Drafts: []ticket.Draft{{Station: "grill", Ticket: ticket.Ticket{Request: "a"}}}})
		}
		if err == nil {
			err = q.Close()
		}
		var b []byte
		if err == nil {
			b, err = os.ReadFile(k.Conf.Storage.Path)
		}
		if err == nil {
			b = bytes.ReplaceAll(b, []byte(`{"s":"grill"`), []byte(`{"s":"grilX"`))
			err = os.WriteFile(k.Conf.Storage.Path, b, 0o600)
		}
		if err != nil {
			k.T.Fatal(err)
		}
	}
	runDaemonWith(t, damaged, func(k *testDaemon) {
		all, err := k.App.Queue().Outcomes(10)
		if err != nil || len(all) != 1 || all[0].What != string(ticket.Failed) {
			t.Errorf("%+v, %v", all, err)
		}
	}, "grill")
}
