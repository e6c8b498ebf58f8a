package httpserver

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
)

const (
	halfHead = "POST /order HTTP/1.1\r\n"
	halfBody = "POST /order HTTP/1.1\r\nHost: box\r\nContent-Length: 9\r\n\r\n{"
)

func TestAConnectionWaitsWhileAllOthersAreInUse(t *testing.T) {
	atDoor(t, Options{MaxConnections: 3}, func(d *door) {
		for range 3 {
			d.dial("192.0.2.1").occupy()
		}
		// The door has accepted this one, and does not look at it yet.
		next := d.dial("192.0.2.2")
		next.send("POST /order HTTP/1.1\r\nHost: box\r\nContent-Length: 2\r\n\r\n{}")
		if d.dial("192.0.2.3") != nil {
			t.Error("a second connection is accepted over the limit")
		}
		d.slow <- true
		next.want(200)
	})
}

func TestTheConnectionThatMattersLeastIsClosedForANewOne(t *testing.T) {
	atDoor(t, Options{MaxConnections: 6}, func(d *door) {
		accepted := d.dial("192.0.2.1")
		accepted.post("/order", 200)
		answered := d.dial("192.0.2.1")
		answered.post("/else", 404)
		sending := d.dial("192.0.2.1")
		sending.send(halfBody)
		busy := d.dial("192.0.2.1")
		busy.occupy()
		silent, half := d.dial("192.0.2.1"), d.dial("192.0.2.1")
		half.send(halfHead)
		for i, next := range []*caller{answered, sending, silent, half, accepted} {
			if next.closed() {
				t.Errorf("%d is closed too early", i)
			}
			c := d.dial("192.0.2.1")
			if c == nil || !next.closed() {
				t.Fatalf("%d is not closed for a new connection", i)
			}
			c.occupy() // so that it is not the next one
		}
		if busy.closed() {
			t.Error("one in use was closed")
		}
	})
}

func TestAnotherOrderOnAConnectionKeepsItLonger(t *testing.T) {
	atDoor(t, Options{MaxConnections: 2}, func(d *door) {
		first, second := d.dial("192.0.2.1"), d.dial("192.0.2.1")
		first.post("/order", 200)
		second.post("/order", 200)
		first.post("/order", 200)
		d.dial("192.0.2.1")
		if first.closed() || !second.closed() {
			t.Error("the wrong one was closed")
		}
	})
}

// perAddress has two connections for each address but one.
func perAddress(a netip.Addr) (string, int) {
	if a == netip.MustParseAddr("192.0.2.9") {
		return "", 0
	}
	return a.String(), 2
}

func TestAGroupHasNoMoreConnectionsThanItMay(t *testing.T) {
	atDoor(t, Options{MaxConnections: 100, Group: perAddress}, func(d *door) {
		other := d.dial("192.0.2.2")
		old, busy := d.dial("192.0.2.1"), d.dial("::ffff:192.0.2.1")
		busy.occupy()
		late := d.dial("192.0.2.1")
		if !old.closed() || busy.closed() || late.closed() || other.closed() {
			t.Error("not the group's own oldest idle connection was closed")
		}
		late.occupy()
		if !d.dial("192.0.2.1").closed() {
			t.Error("a third is taken while two are in use")
		}
		_ = late.Close()
		for range 3 { // what was closed is not counted
			d.dial("192.0.2.2").Close()
			synctest.Wait()
		}
		for range 3 {
			if d.dial("192.0.2.9").closed() {
				t.Error("one without a group is limited")
			}
		}
	})
}

func TestOfEqualConnectionsOneOfTheLargestGroupIsClosed(t *testing.T) {
	atDoor(t, Options{MaxConnections: 5, Group: func(a netip.Addr) (string, int) { return a.String(), 5 }},
		func(d *door) {
			single := d.dial("192.0.2.1")
			many := []*caller{d.dial("192.0.2.2"), d.dial("192.0.2.2"), d.dial("192.0.2.2"), d.dial("192.0.2.2")}
			for i := range 3 {
				d.dial(fmt.Sprintf("192.0.2.%d", 10+i))
			}
			if single.closed() || !many[0].closed() || !many[2].closed() || many[3].closed() {
				t.Error("the wrong ones were closed")
			}
		})
}

func TestAnOrderIsAnsweredWhateverOthersHoldOpen(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a head": halfHead, "half a body": halfBody,
		"a wrong path": "GET /x HTTP/1.1\r\nHost: box\r\n\r\n", "much": halfHead + "X: " + strings.Repeat("x", 9000)} {
		t.Run(name, func(t *testing.T) {
			atDoor(t, Options{MaxConnections: 16, Group: perAddress}, func(d *door) {
				service := d.dial("198.51.100.1")
				service.post("/order", 200)
				for i := range 10 {
					for j := range 40 {
						d.dial(fmt.Sprintf("192.0.2.%d", 20+j)).send(said)
					}
					service.post("/order", 200)
					if i > 5 {
						d.dial("198.51.100.1").post("/order", 200)
					}
				}
			})
		})
	}
}
