package httpserver

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/virtual"
)

func TestStoppingFinishesRequestsInProgressAndAcceptsNoOthers(t *testing.T) {
	for name, most := range map[string]int{"without a limit": 0, "while a connection waits for room": 1} {
		t.Run(name, func(t *testing.T) {
			atDoor(t, Options{MaxConnections: most}, func(d *door) {
				busy := d.dial("192.0.2.1")
				busy.occupy()
				silent := d.dial("192.0.2.2")
				go d.stop()
				synctest.Wait()
				if d.dial("192.0.2.3") != nil {
					t.Error("still listening")
				}

				d.slow <- true
				busy.want(http.StatusOK)
				if err := d.stop(); err != nil || most == 0 && !silent.closed() {
					t.Errorf("%v, or the other connection is still open", err)
				}
			})
		})
	}
}

func TestStoppingCutsOffRequestsThatTakeTooLong(t *testing.T) {
	atDoor(t, Options{Grace: 7 * time.Second}, func(d *door) {
		busy := d.dial("192.0.2.1")
		busy.occupy()
		began := time.Now()
		err := d.stop()
		if took := time.Since(began); err != nil || took != 7*time.Second || !busy.closed() {
			t.Errorf("the server stopped after %v, %v; the connection is closed: %v", took, err, busy.closed())
		}
	})
}

func TestAConnectionThatCarriesNothingIsClosed(t *testing.T) {
	atDoor(t, Options{}, func(d *door) {
		c := d.dial("192.0.2.1")
		c.post("/order", http.StatusOK)
		began := time.Now()
		_, err := c.in.ReadByte()
		if open := time.Since(began); err != io.EOF || open != idleTimeout {
			t.Errorf("after %v: %v", open, err)
		}
	})
}

func TestHugeHeadersNeverReachTheHandler(t *testing.T) {
	atDoor(t, Options{}, func(d *door) {
		for _, pad := range []string{"X-Pad: " + strings.Repeat("x", 32<<10), strings.Repeat("X-Pad: x\r\n", 5000)} {
			c := d.dial("192.0.2.1")
			c.send("GET /order HTTP/1.1\r\nHost: box\r\n" + pad + "\r\n\r\n")
			c.want(http.StatusRequestHeaderFieldsTooLarge)
		}
	})
}

func TestAListenerThatFailsIsAnError(t *testing.T) {
	l := virtual.NewNetwork()
	_ = l.Close()
	if err := Serve(t.Context(), l, &http.Server{}, Options{}); err == nil {
		t.Error("no error")
	}
}

func TestHTTP2IsSpokenThroughTLSOnly(t *testing.T) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	a := newAuthority(t, "authority")
	files := a.files(t, "first")
	atDoor(t, Options{Cert: load(t, files), MaxConnections: 2}, func(d *door) {
		tr := &http.Transport{DialContext: d.Dial, TLSClientConfig: a.client(), ForceAttemptHTTP2: true}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get("https://box/order")
		must(t, err)
		if body, _ := io.ReadAll(resp.Body); string(body) != "HTTP/2.0" {
			t.Errorf("through TLS: %s", body)
		}
		_ = resp.Body.Close()

		// net/http closes a connection that carries nothing, also if the client is silent after its settings.
		c := d.dial("192.0.2.1")
		silent := tls.Client(c, a.client("h2"))
		began := time.Now()
		if _, err := io.WriteString(silent, preface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, silent)
		if open := time.Since(began); open < idleTimeout || open > idleTimeout+time.Minute {
			t.Errorf("a connection that carries nothing is open for %v", open)
		}
	})
	atDoor(t, Options{}, func(d *door) {
		c := d.dial("192.0.2.1")
		c.send(preface)
		c.want(http.StatusBadRequest) // an answer of HTTP/1.1
	})
}
