package push

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestADisplayThatAnswersNonsenseOrTooMuchOnlyDelaysATicket(t *testing.T) {
	says := func(text string) func(net.Conn) { return func(c net.Conn) { fmt.Fprint(c, text) } }
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	type answers map[string]func(net.Conn)
	for want, answers := range map[string]answers{"doubt": {
		"hangs up": says(""), "is silent": silent,
		"breaks off":              says("HTTP/1.1 200 OK\r\nContent-"),
		"speaks another protocol": says("220 mail.example ESMTP\r\n"),
		"fails and says why":      says("HTTP/1.1 500 no\r\n\r\nbecause\nof this"),
		"never ends its head": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		},
		"never ends its beginning": func(c net.Conn) {
			for {
				if _, err := fmt.Fprint(c, "HTTP/1.1 103 Early Hints\r\n\r\n"); err != nil {
					return
				}
			}
		},
		"fails and never ends": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 500 no\r\nContent-Length: 999999999\r\n\r\n")
			for {
				if _, err := fmt.Fprint(c, strings.Repeat("\x1b[31m no\u202e ", 50)); err != nil {
					return
				}
			}
		},
	}, "taken": {
		"never ends": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
			for {
				if _, err := fmt.Fprint(c, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		},
		"falls silent": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		},
	}, "refused": {
		"unfolds": func(c net.Conn) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = io.CopyN(z, zeroReader{}, 50<<20)
			_ = z.Close()
			fmt.Fprintf(c, "HTTP/1.1 400 no\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", b.Len())
			_, _ = c.Write(b.Bytes())
		},
		"says why": says("HTTP/1.1 422 no\r\n\r\nbecause\nof this"),
	}} {
		for name, answer := range answers {
			t.Run(want+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := pushTo(t, rawServer(t, answer))
					start := time.Now()
					a := burger(t, p)
					a.want(t, want, 1)
					said := fmt.Sprint(a.err)
					assert.True(t, len(said) <= 1000 && !strings.ContainsAny(said, "\x1b\u202e\n"), said)
					assert.True(t, time.Since(start) <= 10*time.Second, time.Since(start))
				})
			})
		}
	}
}

func TestADisplayThatAsksForAWaitIsLeftAloneThatLong(t *testing.T) {
	const dateSoon = "a date in 20 s"
	for _, c := range []struct {
		code  int
		after string
		want  time.Duration
	}{
		{429, "30", 30 * time.Second},
		{503, "3", 3 * time.Second},
		{429, "999999", 5 * time.Minute},
		{503, "99999999999999999999999", 5 * time.Minute}, // does not fit 64 bits
		{503, "18000000000", 5 * time.Minute},             // overflows a time.Duration
		{500, "30", 30 * time.Second},
		{408, "30", 30 * time.Second},
		{429, "-5", 0},
		{429, "soon", 0},
		// A date is not used: this box's clock may be wrong.
		{429, dateSoon, 0},
		{429, "Fri, 31 Dec 9999 23:59:59 GMT", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []time.Time
			after := c.after
			if after == dateSoon {
				after = time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)
			}
			p := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if asked = append(asked, time.Now()); len(asked) == 1 {
					w.Header().Set("Retry-After", after)
					w.WriteHeader(c.code)
				}
			})
			for len(asked) < 2 {
				if a := burger(t, p); ticket.IsNotReady(a.err) {
					a.want(t, "not ready", 0)
					time.Sleep(time.Second)
				}
			}
			pause := asked[1].Sub(asked[0])
			assert.True(t, pause >= c.want && pause <= c.want+2*time.Second, after, pause, c.want)
		})
	}
}

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }
