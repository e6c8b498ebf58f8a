package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/slow"
	"ticketrail/receiver/sim"
)

func TestADisplayTakesEachPOSTAsATicketUnlessItIsOffOrStalled(t *testing.T) {
	d := newDisplay(t)
	d.wants(t, "POST", "1 Soup, 1 Soup", 200)
	d.wants(t, "PUT", "1 Steak", 200)
	d.wants(t, "GET", "", 200)
	d.wants(t, "POST", strings.Repeat("x", maxDisplayBody+1), 400)
	d.counts(t, "", 2)
	d.counts(t, "Soup", 2)

	if err := d.Stall(true); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int)
	go func() {
		status, _ := d.send(t.Context(), "POST", "1 Pie")
		answered <- status
	}()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	if _, err := d.send(gone, "POST", "1 Cake"); err == nil {
		t.Error("a stalled display answers")
	}
	d.counts(t, "", 2)
	if err := d.Stall(false); err != nil {
		t.Fatal(err)
	}
	if status := <-answered; status != 200 {
		t.Errorf("after the stall it answers %d", status)
	}
	d.counts(t, "", 3)

	if err := d.Off(true); err != nil {
		t.Fatal(err)
	}
	if status, err := d.send(t.Context(), "POST", "1 Tea"); err == nil {
		t.Errorf("while it is off it answers %d", status)
	}
}

func TestADisplayThatWasOffTakesTicketsAgain(t *testing.T) {
	// Its port may have been taken meanwhile.
	slow.Test(t)
	d := newDisplay(t)
	if err := d.Off(true); err != nil {
		t.Fatal(err)
	}
	if err := d.Off(false); err != nil {
		t.Fatal(err)
	}
	d.wants(t, "POST", "1 Soup", 200)
}

func TestACommandCountsTickets(t *testing.T) {
	slow.Test(t, "sh")
	for command, want := range map[string]string{
		"echo 3":             "",
		"echo 3; sleep 60 &": "", // a process that the command leaves running
		"echo many":          `said "many", which is not a number`, "echo oops >&2; exit 3": "oops",
		"echo -1": `said "-1"`,
	} {
		o, err := (&checkFlags{count: command}).output(t.Context(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		n, err := o.Count(t.Context(), "")
		if want == "" && (n != 3 || err != nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %d, %v", command, n, err)
		}
	}
}

// A testDisplay is the display of a check, and its address.
type testDisplay struct {
	*sim.Output
	url string
}

func newDisplay(t *testing.T) *testDisplay {
	t.Helper()

	var text strings.Builder
	f := checkFlags{display: "127.0.0.1:0", within: time.Minute, quiet: time.Second}
	o, err := f.output(t.Context(), &text)
	if err != nil || o.Within != f.within || o.Quiet != f.quiet {
		t.Fatalf("%+v, %v", o, err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(text.String()), "display at ")
	if !ok {
		t.Fatalf("says %q", &text)
	}
	return &testDisplay{o, url}
}

func (d *testDisplay) send(ctx context.Context, method, body string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, d.url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func (d *testDisplay) wants(t *testing.T, method, body string, want int) {
	t.Helper()

	if status, err := d.send(t.Context(), method, body); status != want {
		t.Errorf("%s of %d bytes: %d, %v, want %d", method, len(body), status, err, want)
	}
}

func (d *testDisplay) counts(t *testing.T, text string, want int) {
	t.Helper()

	if n, err := d.Count(t.Context(), text); n != want || err != nil {
		t.Errorf("%q came out %d times, %v, want %d", text, n, err, want)
	}
}
