package httpserver

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
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
				assert.True(t, d.dial("192.0.2.3") == nil, "still listening")

				d.slow <- true
				busy.want(http.StatusOK)
				err := d.stop()
				assert.True(t, err == nil && (most != 0 || silent.closed()), err)
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
		took := time.Since(began)
		assert.True(t, err == nil && took == 7*time.Second && busy.closed(), "the server stopped after", took, err,
			busy.closed())
	})
}

func TestAConnectionThatCarriesNothingIsClosed(t *testing.T) {
	atDoor(t, Options{}, func(d *door) {
		c := d.dial("192.0.2.1")
		c.post("/order", http.StatusOK)
		began := time.Now()
		_, err := c.in.ReadByte()
		open := time.Since(began)
		assert.True(t, err == io.EOF && open == idleTimeout, open, err)
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
	assert.True(t, Serve(t.Context(), l, &http.Server{}, Options{}) != nil, "no error")
}

func TestHTTP2IsSpokenThroughTLSOnly(t *testing.T) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	a := newAuthority(t, "authority")
	files := a.files(t, "first")
	atDoor(t, Options{Cert: load(t, files), MaxConnections: 2}, func(d *door) {
		tr := &http.Transport{DialContext: d.Dial, TLSClientConfig: a.client(), ForceAttemptHTTP2: true}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get("https://box/order")
		assert.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		assert.Equal(t, string(body), "HTTP/2.0", "through TLS")
		_ = resp.Body.Close()

		// net/http closes a connection that carries nothing, also if the client is silent after its settings.
		c := d.dial("192.0.2.1")
		silent := tls.Client(c, a.client("h2"))
		began := time.Now()
		if _, err := io.WriteString(silent, preface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, silent)
		open := time.Since(began)
		assert.True(t, open >= idleTimeout && open <= idleTimeout+time.Minute,
			"a connection that carries nothing is open for", open)
	})
	atDoor(t, Options{}, func(d *door) {
		c := d.dial("192.0.2.1")
		c.send(preface)
		c.want(http.StatusBadRequest) // an answer of HTTP/1.1
	})
}
