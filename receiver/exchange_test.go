package receiver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

func TestASlowBodyIsAnsweredInTime(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
		start, c := time.Now(), l.dial(t)
		go func() {
			_, _ = io.WriteString(c, requestHead(contentLength(100000)))
			for range 100000 { // now and then a byte: no read ever times out on its own
				time.Sleep(700 * time.Millisecond)
				if _, err := io.WriteString(c, " "); err != nil {
					return
				}
			}
		}()
		resp := c.want(503, TooSlow)
		wantElapsed(t, start, 4*time.Second)
		assert.True(t, resp.Header.Get("Retry-After") != "" && resp.Close, resp.Header)
		c.wantClosed()
		wantElapsed(t, start, 5*time.Second)
		time.Sleep(time.Second) // the sender notices
	})
}

func TestAHeaderFailureIsAnsweredBeforeTheBodyIsRead(t *testing.T) {
	for code, h := range map[Code]string{
		NotFound:         "POST /nowhere HTTP/1.1\r\nHost: box\r\nContent-Length: 500\r\n\r\n",
		MethodNotAllowed: "PUT /webhooks/print HTTP/1.1\r\nHost: box\r\nContent-Length: 500\r\n\r\n",
		VenueMissing:     "POST /webhooks/print HTTP/1.1\r\nHost: box\r\nContent-Length: 500\r\n\r\n",
		VenueNotAllowed:  requestHead(contract.HeaderVenue, ": other\r\n", contentLength(500)),
		ContentType:      strings.Replace(requestHead("Transfer-Encoding: chunked\r\n"), "json", "xml", 1),
		BodyTooLarge:     requestHead(contentLength(10<<20), "Expect: 100-continue\r\n"),
	} {
		t.Run(string(code), func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
				start, c := time.Now(), l.dial(t)
				c.send(h)
				c.want(code.Status(), code)
				wantElapsed(t, start, 0)
				c.wantClosed()
				held := time.Since(start)
				assert.True(t, held <= 2*time.Second, "held for", held)
			})
		})
	}
}

func TestASilentClientIsDisconnected(t *testing.T) {
	for _, said := range []string{"", "POST / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: box\r\n"} {
		bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
			start, conn := time.Now(), l.dial(t)
			conn.send(said)
			conn.wantClosed()
			wantElapsed(t, start, 3*time.Second)
		})
	}
}

func TestACommitAfterTheDeadlineIsHarmless(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
		b.intake.acceptAfter(6 * time.Second)
		start, c := time.Now(), l.dial(t)
		_, _ = io.WriteString(c, requestHead(contentLength(len(burger)))+burger[:100])
		time.Sleep(3 * time.Second) // the body counts towards the deadline
		c.send(burger[100:])
		c.want(503, TooSlow)
		wantElapsed(t, start, 4*time.Second)

		time.Sleep(6 * time.Second)
		b.intake.accept = nil
		c = l.dial(t)
		c.send(requestWith(burger))
		_, body := c.answer()
		assert.Equal(t, string(body), `{"status":"SUCCESS","duplicate":true,"jobs":0}`, "the retry")
	})
}

func TestACallerThatClosesTheConnectionDoesNotCancelItsOrder(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
		b.intake.acceptAfter(time.Second)
		c := l.dial(t)
		c.send(requestWith(burger))
		time.Sleep(time.Second / 2)
		_ = c.Close()
		time.Sleep(time.Second)
		assert.Equal(t, len(b.intake.requests()), 1, "lost")
	})
}

func TestOfAChunkedBodyOverTheLimitAllIsKeptThatMayBe(t *testing.T) {
	bubble(t, func(_ *Options, p *Policy) { p.MaxBody = 100000 },
		func(t *testing.T, b *testbed, l *pipeListener) {
			c := l.dial(t)
			chunk := fmt.Sprintf("%x\r\n%s\r\n", 30000, strings.Repeat(" ", 30000))
			c.send(requestHead("Transfer-Encoding: chunked\r\n"), strings.Repeat(chunk, 10), "0\r\n\r\n")
			assert.True(t, c.want(400, BodyTooLarge).Close, "the connection stays")
			synctest.Wait()
			time.Sleep(2 * time.Second)
			kept := b.rejected()
			assert.True(t, len(kept) == 1 && len(kept[0].Body) == 300000 && !kept[0].Truncated &&
				kept[0].Code == "body_too_large", len(kept))
			assert.Equal(t, b.largeReserved.Load(), 0)
		})
}

func TestABodyThatBreaksOffIsAnswered503(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
		c := l.dial(t)
		c.send(requestHead("Transfer-Encoding: chunked\r\n"), "zz\r\nrubbish")
		c.want(503, BodyIncomplete)
		gone := l.dial(t)
		_, _ = io.WriteString(gone, requestHead(contentLength(1000))+"{")
		_ = gone.Close()
		synctest.Wait()
		b.count(t, "ticketrail_receiver_requests_total{503 body_incomplete}", 2)
		b.count(t, "ticketrail_receiver_requests_total{400 invalid_json}", 0)
	})
}

func TestA200IsAPromise(t *testing.T) {
	// The receiver's part of the promise: no byte of a 200 before the intake has returned nil.
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
		result := make(chan error)
		b.intake.accept = func(_ context.Context, q ticket.Request) (ticket.Receipt, error) {
			if err := <-result; err != nil {
				return ticket.Receipt{Jobs: 1}, err
			}
			return b.intake.store(q), nil
		}
		c := l.dial(t)
		c.send(requestWith(burger))
		time.Sleep(3 * time.Second)
		_ = c.SetReadDeadline(time.Now())
		n, err := c.Read(make([]byte, 1))
		assert.True(t, n <= 0 && errors.Is(err, os.ErrDeadlineExceeded), n, err)
		_ = c.SetReadDeadline(time.Time{})
		result <- nil
		c.want(200, "")
		c.send(requestWith(burger))
		result <- errors.New("disk gone")
		c.want(503, StorageFailed)
	})
}

func TestAPanicIsAnswered500AndTheBodyIsKept(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
		b.intake.accept = func(context.Context, ticket.Request) (ticket.Receipt, error) { panic("boom") }
		c := l.dial(t)
		c.send(requestWith(burger))
		c.want(500, Internal)
		b.intake.accept = nil
		c.send(requestWith(burger))
		c.want(200, "")
		// If all retries end like this, the operator can still see the dishes.
		kept := b.rejected()
		assert.True(t, len(kept) == 1 && kept[0].Code == "internal" && string(kept[0].Body) == burger &&
			kept[0].Venue == venueID, kept)
		b.count(t, "ticketrail_receiver_requests_total{500 internal}", 1)
		log := b.log.String()
		assert.True(t, strings.Count(log, "level=ERROR msg=\"print request panicked") == 1 && strings.Count(log,
			"exchange_test.go") == 1, "want it reported once, with where it happened", log)
	})
}

func TestAllLargeBodiesTogetherHaveALimit(t *testing.T) {
	pad := noise(100_000) + strings.Repeat("x", 400_000)
	big := strings.Replace(burger, `"items"`, `"pad":"`+pad+`","items"`, 1)
	for name, body := range map[string][]byte{"as it is": []byte(big), "compressed": compressed(big)} {
		b := newTestbed(t, func(_ *Options, p *Policy) { p.MaxBody = 1 << 20 })
		counts := func(when string, want int64) {
			assert.Equal(t, b.largeReserved.Load(), want, name, when)
		}

		const room = 200_000
		b.largeReserved.Store(maxLargeBodies - room)
		w := b.do(post(body))
		code, _ := errorOf(t, w.Body.Bytes())
		assert.Equal(t, code, TooSlow, name, w.Code, w.Body)
		w = b.do(post([]byte(burger)))
		assert.Equal(t, w.Code, 200, name, w.Body)
		counts("refused", maxLargeBodies-room)

		b.largeReserved.Store(0)
		w = b.do(post(body))
		assert.Equal(t, w.Code, 200, name, w.Body)
		counts("stored", 0)
		b.intake.accept = func(context.Context, ticket.Request) (ticket.Receipt, error) { panic("boom") }
		w = b.do(post(body))
		assert.Equal(t, w.Code, 500, name, w.Body)
		counts("after a panic", 0)
	}
}

func TestABodyOfExactlyTheLimitIsRead(t *testing.T) {
	for _, limit := range []int{len(burger), 4096, maxSmallBody, maxSmallBody + 1, 300_000} {
		for _, how := range []string{"with its length", "chunked", "compressed"} {
			for over := range 2 {
				b := newTestbed(t, func(_ *Options, p *Policy) { p.MaxBody = int64(limit) })
				body := burger + strings.Repeat(" ", limit-len(burger)+over)
				// A body of spaces would be a bomb.
				if head := `{"x":"`; how == "compressed" && limit > len(burger) {
					body = head + noise(limit)[:limit+over-len(head)-len(burger)-1] + `",` + burger[1:]
				}
				req := post([]byte(body))
				switch how {
				case "chunked":
					req.ContentLength = -1
				case "compressed":
					req = post(compressed(body))
				}
				w := b.do(req)
				assert.Equal(t, (w.Code == 200), (over == 0), limit, over, how, w.Code, w.Body)
			}
		}
	}
}

func TestACallerThatSendsItsWholeBodyBeforeItReadsGetsTheAnswer(t *testing.T) {
	// A real socket, because pipes have no buffers, resets and half-closed connections.
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = newTestbed(t, nil).HTTPServer()
	srv.Start()
	defer srv.Close()

	big := requestWith(strings.Repeat(" ", 4<<20))
	for _, c := range []struct {
		request string
		want    []int
	}{
		{big, []int{400}},
		{strings.Replace(big, "/json", "/xml", 1), []int{400}},
		{strings.Replace(requestWith(burger), contract.HeaderVenue, "x-other", 1), []int{401}},
		{requestWith(burger) + requestWith(burger), []int{200, 200}},
	} {
		exchange := func() error {
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			assert.NoError(t, err)
			defer conn.Close()
			if _, err := io.WriteString(conn, c.request); err != nil {
				return err
			}
			in := bufio.NewReader(conn)
			for _, status := range c.want {
				resp, err := http.ReadResponse(in, nil)
				if err != nil || resp.StatusCode != status {
					return fmt.Errorf("answered %+v, %v", resp, err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					return err
				}
			}
			return nil
		}
		for { // a machine on which it takes longer than the receiver waits proves nothing
			start := time.Now()
			err := exchange()
			if err == nil {
				break
			}
			if time.Since(start) < time.Second {
				t.Fatalf("%v: %v", c.want, err)
			}
		}
	}
}

func TestBodiesBeingParsedShareALimit(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
		for _, body := range []string{burger, "{}", "x"} {
			b.do(post([]byte(body)))
		}
		if !b.small.TryAcquire(maxParsed) {
			t.Fatal("an answered request still holds its part")
		}
		tooFew := int64(len(burger)) - 1
		b.small.Release(tooFew)
		start, c := time.Now(), l.dial(t)
		c.send(requestWith(burger))
		c.want(503, TooSlow)
		wantElapsed(t, start, 4*time.Second)
		b.small.Release(maxParsed - tooFew)
		c.send(requestWith(burger))
		c.want(200, "")
	})
}
