package printer_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/slow"
	"ticketrail/printer/transport"
)

func TestAServerThatWaitsForTheEndOfALineIsNoPrinterEither(t *testing.T) {
	slow.Test(t) // over sockets, of which only one half can be closed
	r := newHarness(t, nil, webServer(t), nil)
	r.want("A1", "not ready") // the probe takes half a minute of real time, so no poll goes before it
	if s := r.d.Status(); s.State != "not_a_printer" || !strings.Contains(s.Err, "a web server (HTTP/1.1 400") {
		t.Errorf("it is %s: %s", s.State, s.Err)
	}
}

func TestOfAServerThatIsAskedNothingNoMoreIsClaimedThanThatItTookTheBytes(t *testing.T) {
	slow.Test(t) // over sockets
	r := newHarness(t, nil, webServer(t), neverAsked)
	for range 3 {
		// What it complains of, or that it ends the connection, may be noticed with the ticket. That is true then.
		if o := r.print("A1"); o.err == nil && o.kind() != "sent" {
			t.Errorf("%s is claimed", o.kind())
		}
		s := r.d.Status()
		if s.State == "ready" || s.Conditions != 0 || s.Capability != "sent" {
			t.Errorf("it is %s, %s, and would give %s", s.State, s.Conditions, s.Capability)
		}
	}
}

func TestATicketThatOnlyTheInterfaceAnsweredBeforeThePowerWentIsSent(t *testing.T) {
	slow.Test(t) // over sockets
	r := newHarness(t, nil, servedOverTCP(t, func(c net.Conn) {
		in, last16, printed := bufio.NewReader(c), "", false
		for off := false; !off; {
			b, err := in.ReadByte()
			if err != nil {
				return
			}
			last16 = last16[max(0, len(last16)-15):] + string([]byte{b})
			printed = printed || strings.HasSuffix(last16, "job 1")
			off = printed && idReply(last16) != nil
			if !answerStatus(c, last16) {
				answersIDs(c, last16)
			}
		}
	}), nil)
	const lines = 300
	var began time.Time
	proof, err := r.p.Print(t.Context(), order(lines), func(context.Context) error {
		began = time.Now()
		return nil
	})
	// Its names are higher than 3 mm. On a machine that took longer than the paper needs, nobody can know.
	if took := time.Since(began); err != nil || proof != "sent" && took < lines*3*time.Second/500/4 {
		t.Errorf("%s after %s: %v", proof, took, err)
	}
}

// webServer leads to one that knows no page.
func webServer(t *testing.T) transport.Dialer {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return leadsTo(t, s.Listener)
}

func leadsTo(t *testing.T, l net.Listener) transport.Dialer {
	t.Helper()
	d, err := transport.Open("tcp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// servedOverTCP leads to a printer that serves each connection with serve.
func servedOverTCP(t *testing.T, serve func(net.Conn)) transport.Dialer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				serve(c)
				<-t.Context().Done() // until then nothing more comes from it
				_ = c.Close()
			}()
		}
	}()
	return leadsTo(t, l)
}
