package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const secondVenueID = "0b7e6a52-9d0c-4f5e-8a3b-5f3f6a1e2d22"

// A till posts the orders of a venue.
type till struct {
	t          *testing.T
	venue      string
	sent       atomic.Int64
	duplicates atomic.Int64 // answers that say so
}

// tillOf is a box whose senders post to url.
func tillOf(k *daemonProcess, url, venue string) (*daemonProcess, *till) {
	s := &till{t: k.t, venue: venue}
	through := *k
	through.url, through.client = url, &http.Client{Timeout: 5 * time.Second, Transport: s}
	return &through, s
}

// typing is before each order: people do not type faster than a kitchen prints.
const typing = 100 * time.Millisecond

// RoundTrip sends a request of the till's venue. An answer after which the service gives an order up is a failure: all
// orders of these tests are correct.
func (s *till) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(typing)
	s.sent.Add(1)
	r.Header.Set("x-svc-venueid", s.venue)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.Contains(b, []byte(`"duplicate":true`)):
		s.duplicates.Add(1)
	case resp.StatusCode != 200 && resp.StatusCode < 500:
		s.t.Errorf("a correct order was answered %d %s", resp.StatusCode, b)
	}
	resp.Body = io.NopCloser(bytes.NewReader(b))
	return resp, nil
}

// A venue of these tests: its box, and the tills that send to the relay.
type venueUnderLoad struct {
	box, sends *daemonProcess
	till       *till
	senders    *senderGroup
}

func (c *cloud) venueUnderLoad(id, name, tag string, senders int) *venueUnderLoad {
	v := &venueUnderLoad{box: c.box(id, name, "")}
	v.box.start()
	v.sends, v.till = tillOf(v.box, c.url, id)
	v.senders = startSenders(v.sends, tag, senders)
	return v
}

// check stops the tills, waits for the paper and compares it with the answers.
func (c *cloud) check(venues ...*venueUnderLoad) {
	c.t.Helper()
	for _, v := range venues {
		v.senders.stopAndWait()
	}
	c.ready()
	c.waitUntilFetched()
	for _, v := range venues {
		s := v.senders
		v.box.waitUntilPrinted()
		v.box.checkPaper(s.acked, s.lost, s.perSender)
		marked := 0
		for _, p := range v.box.printers {
			for _, tk := range p.Tickets() {
				if strings.Contains(tk.Text, "POSSIBLE DUPLICATE") {
					marked++
				}
			}
		}
		c.t.Logf("%d requests, %d of %d orders answered 200, %d answers said duplicate; %d pieces of paper are marked",
			v.till.sent.Load(), len(s.acked), len(s.acked)+len(s.lost), v.till.duplicates.Load(), marked)
		for _, chain := range s.perSender {
			if len(chain) == 0 {
				c.t.Error("a sender got nothing through: the test proved less than it says")
			}
		}
		v.box.stop()
	}
	for _, r := range c.relays {
		r.stop()
	}
}

// killsOf is how many kills a run has: few, or as many as the environment says.
func killsOf(usual int) int {
	if n, _ := strconv.Atoi(os.Getenv("TICKETRAIL_TEST_RELAY_KILLS")); n > usual {
		return n
	}
	return usual
}

// TestA200OfTheCloudIsAPromise kills servers, relays and boxes, under load, at moments of chance's choosing.
func TestA200OfTheCloudIsAPromise(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	venues := []*venueUnderLoad{
		c.venueUnderLoad(venueID, "Harbour Grill", "a", 3), c.venueUnderLoad(secondVenueID, "Second", "b", 2),
	}
	kinds := []string{"leader", "relay", "box", "node", "relay", "box", "node", "box"}
	victims := slices.Clone(kinds)
	for len(victims) < killsOf(len(kinds)) {
		victims = append(victims, kinds[rand.IntN(len(kinds))])
	}
	rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	answered := func(n int64) {
		for _, v := range venues {
			v.senders.waitForAcks(v.senders.acks.Load() + n)
		}
	}
	killed := map[string]int{}
	for _, victim := range victims {
		answered(1 + rand.Int64N(20))
		time.Sleep(rand.N(15 * time.Millisecond)) // a random moment, not a wait for anything
		switch victim {
		case "relay":
			r := c.relays[rand.IntN(len(c.relays))]
			r.kill()
			answered(rand.Int64N(5)) // through the other
			r.start()
		case "box":
			v := venues[rand.IntN(len(venues))]
			v.box.kill()
			answered(rand.Int64N(5))
			v.box.start()
			v.box.wantNoLoss()
		default:
			i := rand.IntN(len(c.status))
			if victim == "leader" {
				i = c.leader()
			}
			c.nodes.Kill(i)
			answered(rand.Int64N(5)) // by the two others
			c.startNode(i)
		}
		killed[victim]++
	}
	answered(20)
	t.Logf("killed %v", killed)
	c.check(venues...)
}

// TestServersThatAreReplacedOneAfterAnotherLoseNothing: an upgrade of the three, and then a new disk for the one
// that leads.
func TestServersThatAreReplacedOneAfterAnotherLoseNothing(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	v := c.venueUnderLoad(venueID, "Harbour Grill", "a", 4)
	answered := func(n int64) { v.senders.waitForAcks(v.senders.acks.Load() + n) }
	for i := range c.status {
		answered(10)
		c.endNode(i)
		answered(10)
		c.startNode(i)
		c.ready() // before the next one: without two of three, nothing is accepted
	}
	i := c.leader()
	c.nodes.Kill(i)
	if err := os.RemoveAll(filepath.Join(c.node(i), "data")); err != nil {
		t.Fatal(err)
	}
	answered(10) // so that the others have a leader, before one that has forgotten everything may vote
	c.startNode(i)
	c.ready()
	// It has everything again: with the leader away, every order is known.
	i = c.leader()
	c.nodes.Kill(i)
	answered(20)
	v.senders.mu.Lock()
	known := slices.Clone(v.senders.acked[:20])
	v.senders.mu.Unlock()
	for _, o := range known {
		if got := v.sends.deliver(o); got.status != 200 || !got.duplicate {
			t.Errorf("a retry of %s was answered %+v, want a duplicate", o.number, got)
		}
	}
	c.startNode(i)
	c.check(v)
}
