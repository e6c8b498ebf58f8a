package httpserver

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"ticketrail/deploy/assert"
)

const (
	halfHead = "POST /order HTTP/1.1\r\n"
	halfBody = "POST /order HTTP/1.1\r\nHost: box\r\nContent-Length: 9\r\n\r\n{"
)

func TestAConnectionWaitsWhileAllPlacesAreTaken(t *testing.T) {
	atDoor(t, Options{MaxConnections: 3}, func(d *door) {
		first := d.dial("192.0.2.1")
		first.occupy()
		d.dial("192.0.2.1").occupy()
		d.dial("192.0.2.1")
		assert.True(t, d.dial("192.0.2.2") == nil, "a connection is accepted over the limit")
		d.slow <- true
		first.want(200)
		_ = first.Close()
		d.dial("192.0.2.2").post("/order", 200)
	})
}

// perAddress has some connections for each address but one.
func perAddress(most int) func(a netip.Addr) (string, int) {
	return func(a netip.Addr) (string, int) {
		if a == netip.MustParseAddr("192.0.2.9") {
			return "", 0
		}
		return a.String(), most
	}
}

func TestAGroupHasNoMoreConnectionsThanItMay(t *testing.T) {
	atDoor(t, Options{MaxConnections: 100, Group: perAddress(2)}, func(d *door) {
		other := d.dial("192.0.2.2")
		first, second := d.dial("192.0.2.1"), d.dial("::ffff:192.0.2.1")
		assert.True(t, d.dial("192.0.2.1").closed() && !first.closed() && !second.closed() && !other.closed(),
			"not the third one was closed")
		_ = first.Close()
		synctest.Wait()
		d.dial("192.0.2.1").post("/order", 200)
		assert.True(t, d.dial("192.0.2.1").closed(), "the one that is left is not counted")
		for range 3 { // closed ones are not counted
			d.dial("192.0.2.2").Close()
			synctest.Wait()
		}
		for range 3 {
			assert.True(t, !d.dial("192.0.2.9").closed(), "one without a group is limited")
		}
	})
}

func TestTheLastPlacesAreForCallersThatAreKnown(t *testing.T) {
	atDoor(t, Options{MaxConnections: 16, Group: perAddress(100)}, func(d *door) {
		c := d.dial("198.51.100.1")
		c.post("/order", 200)
		_ = c.Close()
		c = d.dial("192.0.2.1")
		c.post("/else", 404)
		_ = c.Close()
		for _, one := range []struct {
			from       string
			want, left int
		}{{"192.0.2.1", 12, 4}, {"192.0.2.2", 1, 3}, {"192.0.2.3", 1, 2}, {"192.0.2.4", 0, 2}, {"198.51.100.1", 2, 0}} {
			got := 0
			for range min(16, one.left+one.want) {
				if !d.dial(one.from).closed() {
					got++
				}
			}
			assert.Equal(t, got, one.want, one.from)
		}
	})
}

func TestAnOrderIsAnsweredWhateverOthersHoldOpen(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a head": halfHead, "half a body": halfBody,
		"a wrong path": "GET /x HTTP/1.1\r\nHost: box\r\n\r\n", "much": halfHead + "X: " + strings.Repeat("x", 9000)} {
		t.Run(name, func(t *testing.T) {
			atDoor(t, Options{MaxConnections: 64, Group: perAddress(32)}, func(d *door) {
				service := d.dial("198.51.100.1")
				service.post("/order", 200)
				for range 5 {
					for j := range 60 {
						d.dial(fmt.Sprintf("192.0.2.%d", 20+j)).send(said)
					}
					service.post("/order", 200)
					d.dial("198.51.100.1").post("/order", 200)
				}
			})
		})
	}
}
