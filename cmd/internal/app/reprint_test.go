package app

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/kds/board"
	"ticketrail/queue"
)

// lastOf is the text of the last ticket of a station, each run of spaces as one space.
func (k *testDaemon) lastOf(station string) string {
	k.t.Helper()
	synctest.Wait()
	tickets := k.printers[station].Tickets()
	if len(tickets) == 0 {
		k.t.Fatalf("%s has printed nothing", station)
	}
	return regexp.MustCompile(` +`).ReplaceAllString(tickets[len(tickets)-1].Text, " ")
}

func (k *testDaemon) reprint(job uint64, o queue.ReprintOptions) queue.Reprinted {
	k.t.Helper()
	got, err := k.app.queue.Reprint(k.t.Context(), job, o)
	if err != nil {
		k.t.Fatal(err)
	}
	k.advance(time.Minute)
	return got
}

func wantText(t *testing.T, text string, has, lacks []string) {
	t.Helper()
	for _, s := range has {
		if !strings.Contains(text, s) {
			t.Errorf("%q is missing:\n%s", s, text)
		}
	}
	for _, s := range lacks {
		if strings.Contains(text, s) {
			t.Errorf("%q must not be there:\n%s", s, text)
		}
	}
}

func TestAReprintTellsThePresent(t *testing.T) {
	fish := `{"station":"grill","name":"Fish","quantity":3}`
	chips := `{"station":"grill","name":"Chips","quantity":2}`
	for name, c := range map[string]struct {
		again      []string // the items of the same request when it comes again
		has, lacks []string
		voided     int
	}{
		"a whole line": {
			[]string{`{"station":"grill","name":"Fish","quantity":3,"isVoid":true}`, chips},
			[]string{"REPRINT", "** VOID ** 3x Fish", "\n2x Chips"}, []string{"\n3x Fish", "VOID ** 2x"}, 1,
		},
		"a part of a line": {
			[]string{`{"station":"grill","name":"Fish","quantity":2}`, chips,
				`{"station":"grill","name":"Fish","quantity":1,"isVoid":true}`},
			[]string{"REPRINT", "\n2x Fish", "** VOID ** 1x Fish", "\n2x Chips"}, []string{"3x Fish"}, 1,
		},
		"the whole record": {
			[]string{`{"station":"grill","name":"Fish","quantity":3},` + chips + `],"isVoid":true,"x":[0`},
			[]string{"REPRINT", "** VOID ** 3x Fish", "** VOID ** 2x Chips"}, []string{"\n3x", "\n2x"}, 2,
		},
		"nothing": {[]string{fish, chips}, []string{"\n3x Fish", "\n2x Chips"}, []string{"VOID"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			runDaemon(t, func(k *testDaemon) {
				id := k.accept("142", fish, chips)
				k.post(id, "142", 0, c.again...)
				k.advance(time.Minute)
				if got := k.reprint(1, queue.ReprintOptions{}); got.Voided != c.voided || len(got.Later) != 0 {
					t.Errorf("%+v, want %d voided", got, c.voided)
				}
				wantText(t, k.lastOf("grill"), c.has, append(c.lacks, "Later"))
				k.restart() // it is computed from what is stored
				k.reprint(1, queue.ReprintOptions{})
				wantText(t, k.lastOf("grill"), c.has, append(c.lacks, "Later"))
				k.reprint(1, queue.ReprintOptions{AsItWas: true})
				wantText(t, k.lastOf("grill"), []string{"REPRINT", "\n3x Fish", "\n2x Chips"}, []string{"VOID"})
			}, "grill")
		})
	}
}

func TestAReprintNamesWhatAnotherRequestHasCancelled(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		fish, cola := at("grill", "Fish"), at("bar", "Cola")
		voidFish := `{"station":"grill","name":"Fish","isVoid":true}`
		k.accept("142", fish, cola) // jobs 1 and 2
		k.accept("7", voidFish)     // another order
		k.accept("142", fish)       // ordered once more, job 4
		at := time.Now()
		k.accept("142", voidFish)
		k.advance(time.Minute)
		if got := k.reprint(1, queue.ReprintOptions{}); got.Voided != 0 || len(got.Later) != 1 {
			t.Errorf("%+v, want one void that came later", got)
		}
		zone, err := time.LoadLocation("Australia/Melbourne")
		if err != nil {
			t.Fatal(err)
		}
		later := "Later for #142: VOID at " + at.In(zone).Format("15:04") + " (job 5)"
		text := k.lastOf("grill")
		wantText(t, text, []string{"REPRINT", "\n1x Fish", later}, []string{"** VOID **"})
		if strings.Index(text, later) < strings.Index(text, "Fish") {
			t.Errorf("it is not at the end:\n%s", text)
		}
		k.reprint(2, queue.ReprintOptions{}) // the cola is not concerned
		wantText(t, k.lastOf("bar"), []string{"REPRINT", "Cola"}, []string{"VOID"})
		k.reprint(5, queue.ReprintOptions{}) // the cancellation itself
		wantText(t, k.lastOf("grill"), []string{"REPRINT", "** VOID ** 1x Fish"}, []string{"Later"})
		k.reprint(1, queue.ReprintOptions{AsItWas: true})
		wantText(t, k.lastOf("grill"), []string{"REPRINT", "\n1x Fish"}, []string{"VOID"})
	}, "grill", "bar")
}

func TestACardOfAReprintTellsThePresent(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		id := k.accept("142", at("hot-line", "Fish"), at("hot-line", "Chips"))
		k.post(id, "142", 0, `{"station":"hot-line","name":"Fish","isVoid":true}`, at("hot-line", "Chips"))
		k.accept("142", `{"station":"hot-line","name":"Chips","isVoid":true}`)
		k.advance(time.Minute)
		copied := k.reprint(1, queue.ReprintOptions{}).Job
		p.mu.Lock()
		var c *board.Ticket
		for _, o := range p.orders {
			for _, k := range o.Tickets {
				if k.Job == copied && o.MustAckVoid {
					c = &k
				}
			}
		}
		p.mu.Unlock()
		if c == nil || !c.Reprint || !c.Items[0].Void || c.Items[1].Void ||
			len(c.Notes) != 1 || !strings.Contains(c.Notes[0].Text, "Later for #142: VOID at ") {
			t.Errorf("the ticket is %+v", c)
		}
		k.reprint(1, queue.ReprintOptions{Station: "grill"}) // a cook's print button
		wantText(t, k.lastOf("grill"), []string{"REPRINT", "** VOID ** 1x Fish", "\n1x Chips", "Later for #142"}, nil)
	}, "grill")
}
