package httpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/virtual"
)

// A caller is one connection to a door.
type caller struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

// A door is a server whose handler answers 200 at /order, after it has read the body; at /slow, when it may;
// and elsewhere 404.
type door struct {
	*virtual.Network
	t    *testing.T
	slow chan bool
	stop func() error
}

// atDoor runs a story at a door with room for a few connections.
func atDoor(t *testing.T, o Options, story func(d *door)) {
	synctest.Test(t, func(t *testing.T) {
		d := &door{Network: virtual.NewNetwork(), t: t, slow: make(chan bool)}
		mux := http.NewServeMux()
		mux.HandleFunc("/order", func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err == nil {
				ok(w, r)
			}
		})
		mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) { <-d.slow; ok(w, r) })
		o.Grace = time.Minute
		d.stop = serve(t, d, &http.Server{Handler: mux}, o)
		story(d)
		close(d.slow)
		if err := d.stop(); err != nil {
			t.Error(err)
		}
	})
}

// dial connects from an address; nil if the door does not take the connection at once.
func (d *door) dial(from string) *caller {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	got := make(chan net.Conn, 1)
	go func() {
		c, err := d.DialFrom(ctx, from)
		if err == nil {
			got <- c
		}
	}()
	synctest.Wait()
	select {
	case c := <-got:
		d.t.Cleanup(func() { c.Close() })
		return &caller{c, d.t, bufio.NewReader(c)}
	default:
		return nil
	}
}

// send writes a request and lets the door work on it.
func (c *caller) send(request string) {
	go func() { _, _ = io.WriteString(c, request) }()
	synctest.Wait()
}

func (c *caller) want(status int) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil || resp.StatusCode != status {
		c.t.Fatalf("%v, %v, want %d", resp, err, status)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	synctest.Wait()
}

func (c *caller) post(path string, status int) {
	c.t.Helper()
	c.send("POST " + path + " HTTP/1.1\r\nHost: box\r\nContent-Length: 2\r\n\r\n{}")
	c.want(status)
}

// closed says whether the door has closed the connection.
func (c *caller) closed() bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.in.ReadByte()
	_ = c.SetReadDeadline(time.Time{})
	return err == io.EOF
}

const (
	halfHead = "POST /order HTTP/1.1\r\n"
	halfBody = "POST /order HTTP/1.1\r\nHost: box\r\nContent-Length: 9\r\n\r\n{"
)

func TestAConnectionWaitsWhileAllOthersAreInUse(t *testing.T) {
	atDoor(t, Options{MaxConnections: 3}, func(d *door) {
		for range 3 {
			d.dial("192.0.2.1").send("GET /slow HTTP/1.1\r\nHost: box\r\n\r\n")
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

func TestTheServerStopsWhileAConnectionWaits(t *testing.T) {
	atDoor(t, Options{MaxConnections: 1}, func(d *door) {
		d.dial("192.0.2.1").send("GET /slow HTTP/1.1\r\nHost: box\r\n\r\n")
		waits := d.dial("192.0.2.2")
		go func() { time.Sleep(time.Second); d.slow <- true }()
		if err := d.stop(); err != nil {
			t.Error(err)
		}
		if !waits.closed() {
			t.Error("the connection that waited is open")
		}
		d.stop = func() error { return nil }
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
		busy.send("GET /slow HTTP/1.1\r\nHost: box\r\n\r\n")
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
			c.send("GET /slow HTTP/1.1\r\nHost: box\r\n\r\n") // so that it is not the next one
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
		busy.send("GET /slow HTTP/1.1\r\nHost: box\r\n\r\n")
		late := d.dial("192.0.2.1")
		if !old.closed() || busy.closed() || late.closed() || other.closed() {
			t.Error("not the group's own oldest idle connection was closed")
		}
		late.send("GET /slow HTTP/1.1\r\nHost: box\r\n\r\n")
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
