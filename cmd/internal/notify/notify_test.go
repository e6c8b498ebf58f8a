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

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
)

func TestATroubleIsToldOnceWhenItBeginsAndOnceWhenItIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		k.findings = []finding.Finding{topic(finding.OK, "disk"), down("grill")}
		k.wait(2*time.Minute + 55*time.Second)
		k.expect() // a cover that is closed again within notify.after is not told
		k.wait(time.Hour)
		k.expect("+grill")
		k.findings = []finding.Finding{topic(finding.OK, "disk")}
		k.wait(50 * time.Second)
		k.expect()
		k.wait(time.Hour)
		k.expect("-grill")
		assert.Equal(t, testutil.ToFloat64(k.n.sent.WithLabelValues("boss", "sent")), 2)
	})
}

func TestWhenATroubleIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		findings []finding.Finding
		after    time.Duration
		want     []string
	}{
		"a refused order and a failed ticket at once": {
			findings: []finding.Finding{
				topic(finding.Fail, "orders"), topic(finding.Fail, "tickets"), topic(finding.Fail, "disk"),
			},
			after: every, want: []string{"+orders +tickets"}},
		"paper that gets low never": {after: time.Hour,
			findings: []finding.Finding{{ID: "station/grill/paper_low", Level: finding.Warn, Station: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(_ *testing.T, k *kitchen) {
				k.start(to())
				k.findings = c.findings
				k.wait(c.after)
				k.expect(c.want...)
			})
		})
	}
}

func TestWhatIsNewIsToldWhateverIsOld(t *testing.T) {
	troubles := []finding.Finding{
		{ID: "orders/refused/wrong_secret", Level: finding.Fail, Subject: "orders"},
		{ID: "orders/refused/unknown_venue", Level: finding.Fail, Subject: "orders"},
		{ID: "orders/disk_full", Level: finding.Fail, Subject: "orders"},
		{ID: "orders/silent/Harbour Grill", Level: finding.Warn, Subject: "orders"},
		{ID: "tickets/failed", Level: finding.Fail, Subject: "tickets"},
		{ID: "disk/low", Level: finding.Warn, Subject: "disk"},
		{ID: "database/damaged/db.corrupt-1", Level: finding.Fail, Subject: "database"},
		{ID: "database/copy_incomplete", Level: finding.Warn, Subject: "database"},
		{ID: "config/secret_missing", Level: finding.Fail, Subject: "configuration"},
		{ID: "certificate/expired/webhook", Level: finding.Fail, Subject: "certificate"},
		{ID: "clock/not_synchronized", Level: finding.Warn, Subject: "clock"},
		at("grill", "unreachable"), at("grill", "paper_out"), at("bar", "unreachable"), at("grill", "tickets_held"),
	}
	for i := range troubles {
		troubles[i].Text, troubles[i].Do = "cause of "+troubles[i].ID, "repair "+troubles[i].ID
	}
	for i, first := range troubles {
		for j, second := range troubles {
			if i == j {
				continue
			}
			for _, order := range []string{"one after the other", "the first over before the second", "at once"} {
				bubble(t, func(t *testing.T, k *kitchen) {
					k.start(to())
					k.findings = []finding.Finding{first}
					switch order {
					case "at once":
						k.findings = append(k.findings, second)
					case "one after the other":
						k.wait(10 * time.Minute)
						k.findings = append(k.findings, second)
					default:
						k.wait(10 * time.Minute)
						k.findings = []finding.Finding{second}
					}
					k.wait(10 * time.Minute)
					texts := ""
					for _, m := range k.messages {
						for _, e := range m.Began {
							texts += e.ID + "\n"
						}
						texts += m.Text + "\n"
					}
					for _, f := range []finding.Finding{first, second} {
						for _, want := range []string{f.ID + "\n", f.Text + "\n", "What to do: " + f.Do + "\n"} {
							assert.True(t, strings.Contains(texts, want), order, first.ID, texts, want)
						}
					}
				})
			}
		}
	}
}

func TestEachFurtherTicketThatWaitsForAPersonIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		held := at("grill", "tickets_held")
		for _, held.Count = range []int{1, 2, 1, 3} {
			k.findings = []finding.Finding{held}
			k.wait(5 * time.Minute)
		}
		k.expect("+grill", "+grill", "+grill")
	})
}

func TestWhatNeedsAPersonAndLastsIsToldAgain(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		conf := to()
		conf.Repeat = 4 * time.Hour
		k.start(conf)
		k.findings = []finding.Finding{topic(finding.Fail, "database"), topic(finding.Warn, "clock"), down("grill")}
		k.wait(3*time.Hour + time.Minute)
		k.expect("+database +grill +clock")
		k.closed = true
		k.wait(2 * time.Hour)
		k.expect("+database")
		assert.Equal(t, k.messages[len(k.messages)-1].Title, "Harbour Grill: still: database: wrong")
		assert.True(t, k.messages[0].id() != k.messages[1].id(),
			"a receiver would take the repetition for the same message")
		k.stop()
		k.start(conf) // it remembers when it told
		k.wait(4 * time.Hour)
		k.expect("+database")
		k.findings = nil
		k.wait(10 * time.Hour)
		k.expect("-clock -database -grill")
	})
}

func TestAStormIsOneMessageThatNamesEachCause(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		for i := range 40 {
			k.findings = append(k.findings, at(fmt.Sprintf("s%02d", i), "paper_out"))
		}
		k.wait(5 * time.Minute)
		if len(k.messages) != 1 || !strings.Contains(k.messages[0].Title, "40 things began") {
			t.Fatalf("told %q", k.got)
		}
		if text := k.messages[0].Text; strings.Count(text, "What to do") != maxDescribed ||
			!strings.Contains(text, "s39: paper_out") {
			t.Error(text)
		}
	})
}

func TestTheJournalAndTheMetricSayWhatBeginsAndWhatIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(config.Notify{})
		want := func(step, metric string, lines ...string) {
			t.Helper()
			k.wait(2 * every)
			if got := strings.Split(strings.TrimSpace(k.log.String()), "\n"); len(got) != len(lines) ||
				!strings.HasPrefix(got[len(got)-1], lines[len(lines)-1]) {
				t.Errorf("%s: the journal has\n%s", step, k.log)
			}
			if metric != "" {
				metric = "# HELP ticketrail_finding Always 1: something is wrong, as ticketrail status says it; no " +
					"series when it is over.\n# TYPE ticketrail_finding gauge\n" + metric + "\n"
			}
			if err := testutil.CollectAndCompare(k.n, strings.NewReader(metric)); err != nil {
				t.Errorf("%s: %v", step, err)
			}
		}
		const began = `level=ERROR msg="a finding has begun" finding=disk/wrong cause=wrong`
		const over = `level=ERROR msg="a finding is over" finding=disk/wrong cause=wrong lasted=`
		k.findings = []finding.Finding{topic(finding.Fail, "disk"), topic(finding.OK, "clock")}
		want("begun", `ticketrail_finding{id="disk/wrong",severity="fail"} 1`, began)
		k.findings = []finding.Finding{topic(finding.Fail, "disk"), topic(finding.Fail, "disk")}
		want("it lasts", `ticketrail_finding{id="disk/wrong",severity="fail"} 1`, began)
		dated := slices.Clone(k.findings)
		if k.n.AddSince(dated); dated[0].Since.IsZero() || time.Since(dated[0].Since) < every {
			t.Errorf("since %v", dated[0].Since)
		}
		k.findings = nil
		want("over", "", began)
		k.wait(firstCalm)
		want("over for a while", "", began, over)
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
						k.findings = []finding.Finding{down("grill")}
					} else {
						k.findings = nil
					}
				}
				n := len(k.got)
				assert.True(t, n != 0 && n <= 12, "messages in six hours", n, k.got)
			})
		})
	}
}

func TestARestartTellsNothingTwice(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		conf := to()
		conf.Slip = true
		k.start(conf)
		k.findings = []finding.Finding{down("grill"), topic(finding.Warn, "disk")}
		k.wait(10 * time.Minute)
		k.expect("+grill +disk")
		k.stop()
		k.start(conf)
		k.wait(time.Hour)
		k.expect()
		assert.Equal(t, len(k.slips), 1)
		k.stop()
		// It is repaired while the daemon is down.
		k.findings = []finding.Finding{topic(finding.Warn, "disk")}
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
		assert.Equal(t, len(k.slips), 2)
		since := k.messages[len(k.messages)-2].Ended[0].Since
		if d := k.messages[len(k.messages)-2].At.Sub(since); d < time.Hour {
			t.Errorf("it was wrong since %v", d)
		}
	})
}

func TestAnEventThatAnEarlierVersionStoredIsNotToldWithoutItsSubject(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.store = queuetest.NewStore()
		const stored = `{"disk/low": {"id": "disk/low", "topic": "disk", "level": "warn", "text": "9 MB free"},
			"station/grill/down":
				{"id": "station/grill/down", "topic": "stations", "station": "grill", "level": "fail"}}`
		assert.NoError(t, k.store.Put(t.Context(), to().To[0].Name, []byte(stored)))
		k.start(to())
		k.findings = []finding.Finding{topic(finding.Warn, "clock")}
		k.wait(time.Hour)
		k.expect("+clock")
	})
}

func TestWhatWasOverBeforeItCouldBeDeliveredIsNotTold(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		k.err = errors.New("no route to host")
		k.findings = []finding.Finding{down("grill"), down("bar")}
		k.wait(30 * time.Minute)
		k.findings = []finding.Finding{down("bar")}
		k.wait(30 * time.Minute)
		failed := testutil.ToFloat64(k.n.sent.WithLabelValues("boss", "failed"))
		assert.True(t, failed >= 5 && failed <= 12, "attempts in an hour", failed)
		k.err = nil
		k.wait(2 * lastRetry)
		k.expect("+bar")
	})
}

func TestAWarningThatBecomesAFailureIsToldAgainAndNotTheOtherWayRound(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		for _, step := range []struct {
			level finding.Level
			want  []string
		}{{finding.Warn, []string{"+certificate"}}, {finding.Fail, []string{"+certificate"}}, {finding.Warn, nil},
			{finding.Fail, nil}, {finding.OK, []string{"-certificate"}}} {
			k.findings = []finding.Finding{topic(step.level, "certificate")}
			k.wait(10 * time.Minute)
			k.expect(step.want...)
		}
		assert.Contains(t, k.messages[2].Text, "certificate: wrong: over after 4")
	})
}

func TestARecipientIsToldOnlyOfItsTopics(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to("stations"))
		k.findings = []finding.Finding{down("grill"), topic(finding.Fail, "disk"), topic(finding.Fail, "orders")}
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

func TestAStationThatIsOffWhileTheVenueIsClosedIsToldWhenItOpens(t *testing.T) {
	bubble(t, func(t *testing.T, k *kitchen) {
		k.start(to())
		k.closed = true
		k.findings = []finding.Finding{down("grill"), topic(finding.Fail, "disk")}
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
		k.findings = []finding.Finding{down("grill")}
		k.wait(conf.After + 2*every)
		assert.Equal(t, len(k.slips), 1)
		k.wait(sendTimeout)
		k.hangs = false
		k.wait(2*firstRetry + every)
		k.expect("+grill")
	})
}

func TestTheMessageSaysWhereWhatSinceWhenAndWhatToDo(t *testing.T) {
	now := time.Date(2026, 11, 20, 18, 40, 0, 0, time.UTC)
	event := func(level finding.Level, subject string, ago time.Duration, text string) Event {
		return Event{Finding: finding.Finding{Level: level, Subject: subject, Since: now.Add(-ago), Text: text}}
	}
	grill := event(finding.Fail, "grill", 8*time.Minute, "cover open; 3 tickets wait")
	grill.Detail, grill.Do = "tcp://10.0.0.9", "close the cover"
	disk := event(finding.Warn, "disk", 24*time.Hour, "90 MB free")
	over := event(finding.OK, "bar", 2*time.Hour, "paper out")
	m := &Message{Began: []Event{grill, disk}, Ended: []Event{over}}
	m.describe("Harbour Grill", now, time.FixedZone("CET", 3600))
	want := "grill: cover open; 3 tickets wait\ntcp://10.0.0.9\nWhat to do: close the cover\nSince 19:32\n\n" +
		"disk: 90 MB free\nSince Thu 19 Nov 19:40\n\nbar: paper out: over after 2h0m\n\n" +
		"ticketrail at Harbour Grill, " + m.Host
	assert.Equal(t, m.Text, want)
	assert.Equal(t, m.Title, "Harbour Grill: 2 things began: grill: cover open; 3 tickets wait")
	night := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC) // half past midnight there
	disk.Since = night
	late := &Message{Began: []Event{disk}}
	if late.describe("", night, time.FixedZone("CET", 3600)); !strings.Contains(late.Text, "Since 00:30") {
		t.Error(late.Text)
	}
	again := grill
	again.Again = 1
	for want, m := range map[string]*Message{
		"grill: cover open; 3 tickets wait":        {Began: []Event{grill}},
		"still: grill: cover open; 3 tickets wait": {Began: []Event{again}},
		"over: bar: paper out":                     {Ended: []Event{over}},
		"2 things are over: over: bar: paper out":  {Ended: []Event{over, over}},
	} {
		assert.Equal(t, m.headline(), want)
	}
}

// A kitchen is a Notifier with a recipient that is a list. Its methods run in a synctest bubble.
type kitchen struct {
	t        *testing.T
	mu       sync.Mutex // the test holds it, except while it waits
	n        *Notifier
	registry *prometheus.Registry
	store    *queuetest.Store
	log      *queuetest.Log
	findings []finding.Finding
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
	k.registry, k.log = prometheus.NewRegistry(), &queuetest.Log{}
	k.n = New(Options{
		Findings: func(context.Context) ([]finding.Finding, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			return slices.Clone(k.findings), nil
		},
		Open: func(time.Time) bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			return !k.closed
		},
		PrintNotice: func(_ context.Context, e Event) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.slips = append(k.slips, e)
			return k.err
		},
		Place: func() string { return "Harbour Grill" },
		Zone:  func() *time.Location { return time.UTC },
		Store: k.store, Registerer: k.registry,
		Logger: slog.New(slog.NewTextHandler(k.log, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	})
	k.n.makeSender = func(config.Recipient) (sender, error) { return k.send, nil }
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
		what = append(what, "+"+e.Subject)
		assert.True(k.t, e.Examples == nil, "a message has lines of orders")
	}
	for _, e := range m.Ended {
		what = append(what, "-"+e.Subject)
	}
	k.got, k.messages = append(k.got, strings.Join(what, " ")), append(k.messages, m)
	return nil
}

// wait lets time pass, until everything is done that was to happen in that time.
func (k *kitchen) wait(d time.Duration) {
	k.mu.Unlock()
	defer k.mu.Lock()
	time.Sleep(d)
	synctest.Wait()
}

// expect compares the messages since the last call.
func (k *kitchen) expect(want ...string) {
	k.t.Helper()
	assert.Equal(k.t, fmt.Sprint(k.got), fmt.Sprint(want))
	k.got = nil
}

func down(station string) finding.Finding { return at(station, "cover_open") }

func at(station, trouble string) finding.Finding {
	return finding.Finding{ID: "station/" + station + "/" + trouble, Level: finding.Fail, Subject: station,
		Station: true, Text: trouble, Do: "repair " + trouble, Examples: []string{"1x Soup"}}
}

func topic(level finding.Level, name string) finding.Finding {
	f := finding.Finding{ID: name + "/wrong", Level: level, Subject: name, Text: "wrong", Do: "repair it"}
	if level == finding.OK {
		f.ID = ""
	}
	return f
}

func to(about ...string) config.Notify {
	return config.Notify{After: 3 * time.Minute, To: []config.Recipient{{Name: "boss", About: about}}}
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func bubble(t *testing.T, f func(*testing.T, *kitchen)) {
	synctest.Test(t, func(t *testing.T) {
		k := &kitchen{t: t}
		k.mu.Lock()
		f(t, k)
		k.stop()
	})
}
