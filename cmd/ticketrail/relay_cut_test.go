package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestABoxThatIsCutOffLosesNothing: while nothing comes through to the cloud, what is sent to the box itself prints;
// afterwards everything that the relay has taken, in order, and once.
func TestABoxThatIsCutOffLosesNothing(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	v := c.venueUnderLoad(venueID, "Harbour Grill", "a", 2)
	besides, _ := tillOf(v.box, v.box.url, venueID)
	direct := startSenders(besides, "b", 2)
	direct.waitForAcks(5)
	v.senders.waitForAcks(5)
	c.wire.cut(true)
	wait, twice := v.box.newOrder("K-c-0-0000", "grill"), v.box.newOrder("K-c-1-0000", "grill")
	for _, o := range []order{wait, twice} {
		if got := v.sends.deliver(o); got.status != 200 {
			t.Fatalf("the relay answered %+v", got)
		}
	}
	if got := v.box.deliver(twice); got.status != 200 {
		t.Fatalf("the box answered %+v", got)
	}
	direct.waitForAcks(direct.acks.Load() + 20)
	v.senders.waitForAcks(v.senders.acks.Load() + 20)
	direct.stopAndWait()
	v.box.waitUntilPrinted()
	paper := v.box.printedBy("grill")
	for _, o := range append(direct.acked, twice) {
		if paper[o.number].whole != 1 {
			t.Errorf("%s was sent to the box itself and did not print while the relay was away", o.number)
		}
	}
	if paper[wait.number].whole != 0 {
		t.Error("an order of the relay came to a box that was cut off")
	}
	c.wire.cut(false)
	v.senders.stopAndWait()
	c.waitUntilFetched()
	v.box.waitUntilPrinted()
	v.box.checkPaper(append(append(direct.acked, v.senders.acked...), wait, twice), nil,
		append(append(direct.perSender, v.senders.perSender...), []order{wait}))
	for _, station := range v.box.stations {
		for number, got := range v.box.printedBy(station) {
			if got.whole != 1 || got.unmarked != 1 {
				t.Errorf("%s: %s came out %d times, %d unmarked; want once", station, number, got.whole, got.unmarked)
			}
		}
	}
}

// TestWhatIsTooOldAfterACutIsOnTheSlip needs more than a minute, which is the shortest expire_after.
func TestWhatIsTooOldAfterACutIsOnTheSlip(t *testing.T) {
	if os.Getenv("TICKETRAIL_TEST_RELAY_KILLS") == "" {
		t.Skip("set TICKETRAIL_TEST_RELAY_KILLS")
	}
	t.Parallel()
	c := newCloud(t)
	box := c.box(venueID, "Harbour Grill", ", expire_after: 1m")
	box.start()
	cloud, _ := tillOf(box, c.url, venueID)
	send := func(number string) {
		if got := cloud.deliver(box.newOrder(number, "grill")); got.status != 200 {
			t.Fatalf("the relay answered %+v", got)
		}
	}
	send("K-a-0-0000")
	c.waitUntilFetched()
	c.wire.cut(true)
	var old []string
	for i := range 20 {
		old = append(old, fmt.Sprintf("K-b-%d-0000", i))
		send(old[i])
	}
	time.Sleep(70 * time.Second) // the orders get older than expire_after
	send("K-a-1-0000")
	c.wire.cut(false)
	c.waitUntilFetched()
	box.waitUntilPrinted()
	var tickets, listed []string
	slips := 0
	for _, tk := range box.printers["grill"].Tickets() {
		numbers := orderNumber.FindAllString(tk.Text, -1)
		if strings.Contains(tk.Text, "Ask before cooking") { // a slip
			slips++
			listed = append(listed, numbers...)
		} else {
			tickets = append(tickets, numbers...)
		}
	}
	if got, want := fmt.Sprint(tickets, listed), fmt.Sprint([]string{"K-a-0-0000", "K-a-1-0000"}, old); got != want {
		t.Errorf("the tickets, and what is on slips, are\n%s, want\n%s", got, want)
	}
	if slips > 3 { // one, unless this machine is so slow that seconds pass between two orders
		t.Errorf("%d slips, want 1", slips)
	}
}
