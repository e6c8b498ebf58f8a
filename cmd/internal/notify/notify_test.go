package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/queue/queuetest"
)

func TestATroubleIsToldOnceWhenItBeginsAndOnceWhenItIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		k.findings = []admin.Finding{topic(admin.OK, "disk"), down("grill")}
		k.wait(2*time.Minute + 55*time.Second)
		k.expect() // a cover that is closed again within notify.after calls nobody
		k.wait(time.Hour)
		k.expect("+grill")
		k.findings = []admin.Finding{topic(admin.OK, "disk")}
		k.wait(50 * time.Second)
		k.expect()
		k.wait(time.Hour)
		k.expect("-grill")
		if n := testutil.ToFloat64(k.n.sent.WithLabelValues("boss", "sent")); n != 2 {
			t.Errorf("%v messages are counted", n)
		}
	})
}

func TestWhenATroubleIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		findings []admin.Finding
		damaged  error
		after    time.Duration
		want     []string
	}{
		"a refused order and a failed ticket at once": {
			findings: []admin.Finding{
				topic(admin.Fail, "orders"), topic(admin.Fail, "tickets"), topic(admin.Fail, "disk"),
			},
			after: every, want: []string{"+orders +tickets"}},
		"paper that gets low never": {after: time.Hour,
			findings: []admin.Finding{{Level: admin.Warn, Subject: "grill", Station: true, Text: "paper low"}}},
		"findings that cannot be read": {damaged: errors.New("damaged page"), after: time.Hour,
			want: []string{"+database"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(_ *testing.T, k *kitchen) {
				k.start(to())
				k.findings, k.damaged = c.findings, c.damaged
				k.wait(c.after)
				k.expect(c.want...)
			})
		})
	}
}

func TestWhatFailsTogetherIsOneMessage(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		for i := range 30 { // one each 2 s after the other
			k.findings = append(k.findings, down(fmt.Sprintf("s%02d", i)))
			k.wait(2 * time.Second)
		}
		k.wait(time.Hour)
		if len(k.got) > 2 {
			t.Errorf("%d messages: %q", len(k.got), k.got)
		}
	})
}

func TestAPrinterThatComesAndGoesAllEveningIsAFewMessages(t *testing.T) {
	for _, period := range []time.Duration{20 * time.Second, time.Minute, 4 * time.Minute, 6 * time.Minute,
		10 * time.Minute} {
		t.Run(period.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, k *kitchen) {
				k.start(to())
				k.wait(every / 2) // so that no change is at the moment of a look
				for began := time.Now(); time.Since(began) < 6*time.Hour; k.wait(period) {
					if k.findings == nil {
						k.findings = []admin.Finding{down("grill")}
					} else {
						k.findings = nil
					}
				}
				if n := len(k.got); n == 0 || n > 12 {
					t.Errorf("%d messages in six hours: %q", n, k.got)
				}
			})
		})
	}
}

func TestARestartTellsNothingTwice(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		conf := to()
		conf.Slip = true
		k.start(conf)
		k.findings = []admin.Finding{down("grill"), topic(admin.Warn, "disk")}
		k.wait(10 * time.Minute)
		k.expect("+grill +disk")
		k.stop()
		k.start(conf)
		k.wait(time.Hour)
		k.expect()
		if len(k.slips) != 1 {
			t.Errorf("%d slips", len(k.slips))
		}
		k.stop()
		// It is repaired while the daemon is down.
		k.findings = []admin.Finding{topic(admin.Warn, "disk")}
		k.start(conf)
		k.wait(30 * time.Second)
		k.expect() // printers are not known yet
		k.wait(time.Hour)
		k.expect("-grill")
		if n := testutil.ToFloat64(k.n.sent.WithLabelValues("slip", "sent")); n != 0 || len(k.slips) != 1 {
			t.Errorf("%v messages on paper are counted since the restart, %d slips", n, len(k.slips))
		}
		k.findings = append(k.findings, down("grill")) // again, so that paper is due again
		k.wait(2 * time.Hour)
		k.expect("+grill")
		if len(k.slips) != 2 {
			t.Errorf("%d slips", len(k.slips))
		}
		since := k.messages[len(k.messages)-2].Ended[0].Since
		if d := k.messages[len(k.messages)-2].At.Sub(since); d < time.Hour {
			t.Errorf("it was wrong since %v", d)
		}
	})
}

func TestWhatWasOverBeforeItCouldBeDeliveredIsNotTold(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		k.err = errors.New("no route to host")
		k.findings = []admin.Finding{down("grill"), down("bar")}
		k.wait(30 * time.Minute)
		k.findings = []admin.Finding{down("bar")}
		k.wait(30 * time.Minute)
		failed := testutil.ToFloat64(k.n.sent.WithLabelValues("boss", "failed"))
		if failed < 5 || failed > 12 {
			t.Errorf("%v attempts in an hour", failed)
		}
		k.err = nil
		k.wait(2 * lastRetry)
		k.expect("+bar")
	})
}

func TestAWarningThatBecomesAFailureIsToldAgainAndNotTheOtherWayRound(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		for _, step := range []struct {
			level admin.Level
			want  []string
		}{{admin.Warn, []string{"+certificate"}}, {admin.Fail, []string{"+certificate"}}, {admin.Warn, nil},
			{admin.Fail, nil}, {admin.OK, []string{"-certificate"}}} {
			k.findings = []admin.Finding{topic(step.level, "certificate")}
			k.wait(10 * time.Minute)
			k.expect(step.want...)
		}
		if text := k.messages[2].Text; !strings.Contains(text, "certificate: fine again after 40m: certificate is ok") {
			t.Error(text)
		}
	})
}

func TestARecipientIsToldOnlyOfItsTopics(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to("stations"))
		k.findings = []admin.Finding{down("grill"), topic(admin.Fail, "disk"), topic(admin.Fail, "orders")}
		k.wait(time.Hour)
		k.expect("+grill")
		k.n.Use(to("disk"))
		k.wait(time.Hour)
		k.expect("+disk")
		k.findings = k.findings[1:]
		k.wait(time.Hour)
		k.expect() // not that grill is fine: it is not its business any more
	})
}

func TestTheFindingsOfOneSubjectAreOneEvent(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		k.findings = []admin.Finding{
			{Level: admin.Warn, Subject: "certificate", Text: "screens: it expires", Do: "renew b"},
			{Level: admin.Fail, Subject: "certificate", Text: "webhook: it expired", Do: "renew a"},
			topic(admin.OK, "certificate")}
		k.wait(time.Hour)
		k.expect("+certificate")
		e := k.messages[0].Began[0]
		if e.Level != admin.Fail || e.Text != "webhook: it expired\nscreens: it expires" || e.Do != "renew a; renew b" {
			t.Errorf("%+v", e)
		}
	})
}

func TestAStationThatIsOffWhileTheVenueIsClosedIsToldWhenItOpens(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		k.closed = true
		k.findings = []admin.Finding{down("grill"), topic(admin.Fail, "disk")}
		k.wait(12 * time.Hour)
		k.expect("+disk")
		k.closed = false
		k.wait(every)
		k.expect("+grill")
	})
}

func TestADeliveryThatHangsEndsAndDelaysNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		conf := to()
		conf.Slip = true
		k.start(conf)
		k.hangs = true
		k.findings = []admin.Finding{down("grill")}
		k.wait(conf.After + 2*every)
		if len(k.slips) != 1 {
			t.Error("no slip")
		}
		k.wait(sendTimeout)
		k.hangs = false
		k.wait(2*firstRetry + every)
		k.expect("+grill")
	})
}

func TestWithoutARecipientTheFindingsAreNotAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(config.Notify{})
		k.wait(time.Hour)
		if k.asked != 0 {
			t.Errorf("asked %d times", k.asked)
		}
	})
}

func TestTheMessageSaysWhereWhatSinceWhenAndWhatToDo(t *testing.T) {
	now := time.Date(2026, 11, 20, 18, 40, 0, 0, time.UTC)
	m := &Message{Began: []Event{
		{Topic: "stations", Station: "grill", Level: admin.Fail, Since: now.Add(-8 * time.Minute),
			Text: "it reports: cover open; 3 tickets wait", Do: "close the cover"},
		{Topic: "disk", Level: admin.Warn, Since: now.Add(-24 * time.Hour), Text: "90 MB free"},
	}, Ended: []Event{{Topic: "stations", Station: "bar", Level: admin.OK, Since: now.Add(-2 * time.Hour)}}}
	m.describe("Harbour Grill", now, time.FixedZone("CET", 3600))
	want := "grill: it reports: cover open; 3 tickets wait\nWhat to do: close the cover\nSince 19:32\n\n" +
		"disk: 90 MB free\nSince Thu 19 Nov 19:40\n\nbar: fine again after 2h0m\n\n" +
		"ticketrail at Harbour Grill, " + m.Host
	if m.Text != want {
		t.Errorf("got\n%s\nwant\n%s", m.Text, want)
	}
	if m.Title != "Harbour Grill: grill needs somebody, and 1 more" {
		t.Error(m.Title)
	}
	night := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC) // half past midnight there
	late := &Message{Began: []Event{{Topic: "disk", Level: admin.Warn, Since: night}}}
	if late.describe("", night, time.FixedZone("CET", 3600)); !strings.Contains(late.Text, "Since 00:30") {
		t.Error(late.Text)
	}
	for want, e := range map[string]Event{
		"orders were refused":       {Topic: "orders", Level: admin.Fail},
		"no orders arrive":          {Topic: "orders", Level: admin.Warn},
		"tickets did not print":     {Topic: "tickets", Level: admin.Fail},
		"clock needs somebody soon": {Topic: "clock", Level: admin.Warn},
		"bar works again":           {Topic: "stations", Station: "bar", Level: admin.OK},
		"disk fine again":           {Topic: "disk", Level: admin.OK},
	} {
		m := &Message{Began: []Event{e}}
		if e.Level == admin.OK {
			m = &Message{Ended: []Event{e}}
		}
		if got := m.headline(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A kitchen is a Notifier with a recipient that is a list. Its methods run in a synctest bubble.
type kitchen struct {
	t        *testing.T
	mu       sync.Mutex // the test holds it, except while it waits
	n        *Notifier
	registry *prometheus.Registry
	store    *queuetest.Store
	findings []admin.Finding
	damaged  error // instead of findings
	asked    int   // for the findings
	closed   bool
	err      error // of a delivery
	hangs    bool  // a delivery does not end
	got      []string
	messages []*Message
	slips    []Event
	stop     func()
}

func (k *kitchen) start(conf config.Notify) {
	k.t.Helper()
	if k.store == nil {
		k.store = queuetest.NewStore()
	}
	k.registry = prometheus.NewRegistry()
	k.n = New(Options{
		Findings: func(context.Context) ([]admin.Finding, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.asked++
			return slices.Clone(k.findings), k.damaged
		},
		Open: func(time.Time) bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			return !k.closed
		},
		Slip: func(_ context.Context, e Event) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.slips = append(k.slips, e)
			return k.err
		},
		Place: func() string { return "Harbour Grill" },
		Zone:  func() *time.Location { return time.UTC },
		Store: k.store, Registerer: k.registry, Logger: slog.New(slog.DiscardHandler),
	})
	k.n.sender = func(config.Recipient) (sender, error) { return k.send, nil }
	k.n.Use(conf)
	ctx, cancel := context.WithCancel(k.t.Context())
	ended := make(chan error)
	go func() { ended <- k.n.Run(ctx) }()
	k.stop = func() {
		k.mu.Unlock()
		defer k.mu.Lock()
		cancel()
		if err := <-ended; err != nil {
			k.t.Error(err)
		}
	}
}

func (k *kitchen) send(ctx context.Context, m *Message) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hangs {
		k.mu.Unlock()
		defer k.mu.Lock()
		<-ctx.Done()
		return ctx.Err()
	}
	if k.err != nil {
		return k.err
	}
	var what []string
	for _, e := range m.Began {
		what = append(what, "+"+e.Subject())
	}
	for _, e := range m.Ended {
		what = append(what, "-"+e.Subject())
	}
	k.got, k.messages = append(k.got, strings.Join(what, " ")), append(k.messages, m)
	return nil
}

// wait lets time pass, until everything is done that was to happen meanwhile.
func (k *kitchen) wait(d time.Duration) {
	k.mu.Unlock()
	defer k.mu.Lock()
	time.Sleep(d)
	synctest.Wait()
}

// expect compares what was told since the last call.
func (k *kitchen) expect(want ...string) {
	k.t.Helper()
	if fmt.Sprint(k.got) != fmt.Sprint(want) {
		k.t.Errorf("told %q, want %q", k.got, want)
	}
	k.got = nil
}

func down(station string) admin.Finding {
	return admin.Finding{Level: admin.Fail, Subject: station, Station: true, Text: "it reports: cover open",
		Do: "close the cover"}
}

func topic(level admin.Level, name string) admin.Finding {
	return admin.Finding{Level: level, Subject: name, Text: name + " is " + string(level)}
}

func to(about ...string) config.Notify {
	return config.Notify{After: 3 * time.Minute, To: []config.Recipient{{Name: "boss", About: about}}}
}

func bubble(t *testing.T, f func(*testing.T, *kitchen)) {
	synctest.Test(t, func(t *testing.T) {
		k := &kitchen{t: t}
		k.mu.Lock()
		f(t, k)
		k.stop()
	})
}
