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
	bubble(t, to(), func(t *testing.T, k *kitchen) {
		k.findings = []finding.Finding{topic(finding.OK, "disk"), down("grill")}
		k.expect(2*time.Minute + 55*time.Second) // a cover that is closed again within notify.after is not told
		k.expect(time.Hour, "+grill")
		k.findings = []finding.Finding{topic(finding.OK, "disk")}
		k.expect(50 * time.Second)
		k.expect(time.Hour, "-grill")
		assert.Equal(t, testutil.ToFloat64(k.n.sent.WithLabelValues("boss", "sent")), 2)
	})
}

func TestALostOrderIsToldAtOnceAndPaperThatGetsLowNever(t *testing.T) {
	bubble(t, to(), func(_ *testing.T, k *kitchen) {
		k.findings = []finding.Finding{
			topic(finding.Fail, "orders"), topic(finding.Fail, "tickets"), topic(finding.Fail, "disk"),
			{ID: "station/grill/paper_low", Level: finding.Warn, Station: true},
		}
		k.expect(every, "+orders +tickets")
		k.expect(time.Hour, "+disk")
	})
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
			for order, looks := range map[string][2][]finding.Finding{
				"at once":                          {{first, second}, {first, second}},
				"one after the other":              {{first}, {first, second}},
				"the first over before the second": {{first}, {second}},
			} {
				bubble(t, to(), func(t *testing.T, k *kitchen) {
					for _, k.findings = range looks {
						k.wait(10 * time.Minute)
					}
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
	bubble(t, to(), func(t *testing.T, k *kitchen) {
		held := at("grill", "tickets_held")
		for _, held.Count = range []int{1, 2, 1, 3} {
			k.findings = []finding.Finding{held}
			k.wait(5 * time.Minute)
		}
		k.expect(0, "+grill", "+grill", "+grill")
	})
}

func TestWhatNeedsAPersonAndLastsIsToldAgain(t *testing.T) {
	conf := to()
	conf.Repeat = 4 * time.Hour
	bubble(t, conf, func(t *testing.T, k *kitchen) {
		k.findings = []finding.Finding{topic(finding.Fail, "database"), topic(finding.Warn, "clock"), down("grill")}
		k.expect(3*time.Hour+time.Minute, "+database +grill +clock")
		k.closed = true
		k.expect(2*time.Hour, "+database")
		assert.Equal(t, k.messages[len(k.messages)-1].Title, "Harbour Grill: still: database: wrong")
		assert.True(t, k.messages[0].id() != k.messages[1].id(),
			"a receiver would take the repetition for the same message")
		k.stop()
		k.start(conf) // it remembers when it told
		k.expect(4*time.Hour, "+database")
		k.findings = nil
		k.expect(10*time.Hour, "-clock -database -grill")
	})
}

func TestAStormIsOneMessageThatNamesEachCause(t *testing.T) {
	bubble(t, to(), func(t *testing.T, k *kitchen) {
		for i := range 40 {
			k.findings = append(k.findings, at(fmt.Sprintf("s%02d", i), "paper_out"))
		}
		k.wait(5 * time.Minute)
		assert.Equal(t, len(k.messages), 1)
		assert.Contains(t, k.messages[0].Title, "40 things began")
		text := k.messages[0].Text
		assert.True(t, strings.Count(text, "What to do") == maxDescribed && strings.Contains(text, "s39: paper_out"),
			text)
	})
}

func TestTheJournalAndTheMetricSayWhatBeginsAndWhatIsOver(t *testing.T) {
	bubble(t, config.Notify{}, func(t *testing.T, k *kitchen) {
		want := func(step, metric string, lines ...string) {
			t.Helper()
			k.wait(2 * every)
			got := strings.Split(strings.TrimSpace(k.log.String()), "\n")
			assert.True(t, len(got) == len(lines) && strings.Contains(got[len(got)-1], lines[len(lines)-1]),
				"the journal has", step, k.log)
			if metric != "" {
				metric = "# HELP ticketrail_finding Always 1: something is wrong, as ticketrail status says it; no " +
					"series when it is over.\n# TYPE ticketrail_finding gauge\n" + metric + "\n"
			}
			err := testutil.CollectAndCompare(k.n, strings.NewReader(metric))
			assert.True(t, err == nil, step, err)
		}
		const began = `level=ERROR msg="a finding has begun" finding=disk/wrong cause=wrong`
		const over = `level=ERROR msg="a finding is over" finding=disk/wrong cause=wrong lasted=`
		k.findings = []finding.Finding{topic(finding.Fail, "disk"), topic(finding.OK, "clock")}
		want("begun", `ticketrail_finding{id="disk/wrong",severity="fail"} 1`, began)
		k.findings = []finding.Finding{topic(finding.Fail, "disk"), topic(finding.Fail, "disk")}
		want("it lasts", `ticketrail_finding{id="disk/wrong",severity="fail"} 1`, began)
		dated := slices.Clone(k.findings)
		k.n.AddSince(dated)
		assert.True(t, !dated[0].Since.IsZero() && time.Since(dated[0].Since) >= every, dated[0].Since)
		k.findings = nil
		want("over", "", began)
		k.wait(firstCalm)
		want("over for a while", "", began, over)
	})
}

func TestAPrinterThatComesAndGoesAllEveningIsAFewMessages(t *testing.T) {
	for _, period := range []time.Duration{20 * time.Second, time.Minute, 4 * time.Minute, 6 * time.Minute,
		10 * time.Minute} {
		bubble(t, to(), func(t *testing.T, k *kitchen) {
			k.wait(every / 2) // so that no change is at the moment of a look
			for began := time.Now(); time.Since(began) < 6*time.Hour; k.wait(period) {
				if k.findings == nil {
					k.findings = []finding.Finding{down("grill")}
				} else {
					k.findings = nil
				}
			}
			n := len(k.got)
			assert.True(t, n != 0 && n <= 12, "messages in six hours", period, n, k.got)
		})
	}
}

func TestARestartTellsNothingTwice(t *testing.T) {
	conf := to()
	conf.Slip = true
	bubble(t, conf, func(t *testing.T, k *kitchen) {
		k.findings = []finding.Finding{down("grill"), topic(finding.Warn, "disk")}
		k.expect(10*time.Minute, "+grill +disk")
		k.stop()
		k.start(conf)
		k.expect(time.Hour)
		assert.Equal(t, len(k.slips), 1)
		k.stop()
		// It is repaired while the daemon is down.
		k.findings = []finding.Finding{topic(finding.Warn, "disk")}
		k.start(conf)
		k.expect(30 * time.Second) // printers are not known yet
		k.expect(time.Hour, "-grill")
		assert.Equal(t, testutil.ToFloat64(k.n.sent.WithLabelValues("slip", "sent")), 0, "since the restart")
		assert.Equal(t, len(k.slips), 1)
		k.findings = append(k.findings, down("grill")) // again, so that paper is due again
		k.expect(2*time.Hour, "+grill")
		assert.Equal(t, len(k.slips), 2)
		since := k.messages[len(k.messages)-2].Ended[0].Since
		d := k.messages[len(k.messages)-2].At.Sub(since)
		assert.True(t, d >= time.Hour, "it was wrong since", d)
	})
}

func TestAnEventThatAnEarlierVersionStoredIsNotToldWithoutItsSubject(t *testing.T) {
	bubble(t, to(), func(t *testing.T, k *kitchen) {
		k.stop()
		const stored = `{"disk/low": {"id": "disk/low", "topic": "disk", "level": "warn", "text": "9 MB free"},
			"station/grill/down":
				{"id": "station/grill/down", "topic": "stations", "station": "grill", "level": "fail"}}`
		assert.NoError(t, k.store.Put(t.Context(), to().To[0].Name, []byte(stored)))
		k.start(to())
		k.findings = []finding.Finding{topic(finding.Warn, "clock")}
		k.expect(time.Hour, "+clock")
	})
}

func TestWhatWasOverBeforeItCouldBeDeliveredIsNotTold(t *testing.T) {
	bubble(t, to(), func(t *testing.T, k *kitchen) {
		k.err = errors.New("no route to host")
		k.findings = []finding.Finding{down("grill"), down("bar")}
		k.wait(30 * time.Minute)
		k.findings = []finding.Finding{down("bar")}
		k.wait(30 * time.Minute)
		failed := testutil.ToFloat64(k.n.sent.WithLabelValues("boss", "failed"))
		assert.True(t, failed >= 5 && failed <= 12, "attempts in an hour", failed)
		k.err = nil
		k.expect(2*lastRetry, "+bar")
	})
}

func TestAWarningThatBecomesAFailureIsToldAgainAndNotTheOtherWayRound(t *testing.T) {
	bubble(t, to(), func(t *testing.T, k *kitchen) {
		for _, step := range []struct {
			level finding.Level
			want  []string
		}{{finding.Warn, []string{"+certificate"}}, {finding.Fail, []string{"+certificate"}}, {finding.Warn, nil},
			{finding.Fail, nil}, {finding.OK, []string{"-certificate"}}} {
			k.findings = []finding.Finding{topic(step.level, "certificate")}
			k.expect(10*time.Minute, step.want...)
		}
		assert.Contains(t, k.messages[2].Text, "certificate: wrong: over after 4")
	})
}

func TestARecipientIsToldOnlyOfItsTopics(t *testing.T) {
	bubble(t, to("stations"), func(t *testing.T, k *kitchen) {
		k.findings = []finding.Finding{down("grill"), topic(finding.Fail, "disk"), topic(finding.Fail, "orders")}
		k.expect(time.Hour, "+grill")
		k.n.Use(to("disk"))
		k.expect(time.Hour, "+disk")
		k.findings = k.findings[1:]
		k.expect(time.Hour) // not that grill is fine: it is not its business any more
	})
}

func TestAStationThatIsOffWhileTheVenueIsClosedIsToldWhenItOpens(t *testing.T) {
	bubble(t, to(), func(t *testing.T, k *kitchen) {
		k.closed = true
		k.findings = []finding.Finding{down("grill"), topic(finding.Fail, "disk")}
		k.expect(12*time.Hour, "+disk")
		k.closed = false
		k.expect(every, "+grill")
	})
}

func TestADeliveryThatHangsEndsAndDelaysNoOther(t *testing.T) {
	conf := to()
	conf.Slip = true
	bubble(t, conf, func(t *testing.T, k *kitchen) {
		k.hangs = true
		k.findings = []finding.Finding{down("grill")}
		k.wait(conf.After + 2*every)
		assert.Equal(t, len(k.slips), 1)
		k.wait(sendTimeout)
		k.hangs = false
		k.expect(2*firstRetry+every, "+grill")
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
	late.describe("", night, time.FixedZone("CET", 3600))
	assert.Contains(t, late.Text, "Since 00:30")
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
		Logger: slog.New(slog.NewTextHandler(k.log, nil)),
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
		assert.NoError(k.t, <-ended)
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

// expect lets time pass, and compares the messages since the last call.
func (k *kitchen) expect(after time.Duration, want ...string) {
	k.t.Helper()
	k.wait(after)
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

func bubble(t *testing.T, conf config.Notify, f func(*testing.T, *kitchen)) {
	synctest.Test(t, func(t *testing.T) {
		k := &kitchen{t: t, store: queuetest.NewStore()}
		k.mu.Lock()
		k.start(conf)
		f(t, k)
		k.stop()
	})
}
