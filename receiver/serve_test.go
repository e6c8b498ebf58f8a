package receiver

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

var burger = string(contract.Example("burger.json"))

// bubble runs a story with a served bed on a clock that moves only when all wait.
func bubble(t *testing.T, change func(*Options, *Policy), story func(t *testing.T, b *bed, l *pipes, stop func() error)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, change)
		l, stop := b.serve(t)
		story(t, b, l, stop)
	})
}

// since checks how much time a story has taken so far.
func since(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("after %s, want %s", got, want)
	}
}

func TestASilentClientHoldsNothing(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a request": "POST / HTTP/1.1\r\n", "half a head": "POST / HTTP/1.1\r\nHost: box\r\n"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, b *bed, l *pipes, _ func() error) {
				start, c := time.Now(), l.line(t)
				if said != "" {
					c.send(said)
				}
				c.hungUp()
				since(t, start, 3*time.Second)
			})
		})
	}
}

func TestAnIdleConnectionIsClosedAfterTenSeconds(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		start, c := time.Now(), l.line(t)
		c.send(whole(burger))
		c.want(200, "")
		c.hungUp()
		since(t, start, 10*time.Second)
	})
}

func TestAConnectionGoesOnAfterA400(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		c := l.line(t)
		for range 3 {
			c.send(whole(`{"records":[]}`))
			c.want(400, SchemaMismatch)
			c.send(whole(burger))
			c.want(200, "")
		}
		if n := len(b.rejected()); n != 3 {
			t.Errorf("%d rejects", n)
		}
	})
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		c := l.line(t)
		c.send(whole(burger), whole("x"), whole(burger), whole("{}"))
		c.want(200, "")
		c.want(400, InvalidJSON)
		c.want(200, "")
		c.want(400, SchemaMismatch)
	})
}

func TestHugeHeadersNeverReachTheHandler(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		c := l.line(t)
		c.send(head("X-Pad: " + strings.Repeat("x", 32<<10) + "\r\n"))
		if resp, _ := c.answer(); resp.StatusCode != 431 {
			t.Errorf("%d", resp.StatusCode)
		}
		c.hungUp()
		c = l.line(t)
		c.send(head(strings.Repeat("X-Pad: x\r\n", 5000)))
		if resp, _ := c.answer(); resp.StatusCode != 431 {
			t.Errorf("%d", resp.StatusCode)
		}
	})
}

func TestStoppingFinishesWhatIsUnderWay(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, stop func() error) {
		b.intake.accept = func(_ context.Context, q ticket.Request) (ticket.Receipt, error) {
			time.Sleep(2 * time.Second)
			return b.intake.take(q), nil
		}
		storing, reading := l.line(t), l.line(t)
		storing.send(whole(burger))
		_, _ = io.WriteString(reading, head(length(len(burger)))+burger[:100])
		synctest.Wait()
		start, stopped := time.Now(), make(chan error, 1)
		go func() { stopped <- stop() }()
		synctest.Wait()
		reading.send(burger[100:])
		storing.want(200, "")
		since(t, start, 2*time.Second)
		reading.want(200, "")
		since(t, start, 2*time.Second)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if _, err := l.dial(context.Background(), "", ""); err == nil {
			t.Error("still listening")
		}
	})
}

// begin stops the server and comes back when the stop waits for somebody.
func begin(stop func() error) (stopped chan error) {
	stopped = make(chan error, 1)
	go func() { stopped <- stop() }()
	synctest.Wait()
	return stopped
}

func TestStoppingAnswersWhoWasLetInAndHasNotAskedYet(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a head": "POST / HTTP/1.1\r\nHost: box\r\n"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, b *bed, l *pipes, stop func() error) {
				c := l.line(t)
				_, _ = io.WriteString(c, said)
				synctest.Wait()
				start, stopped := time.Now(), begin(stop)
				if _, err := l.dial(t.Context(), "", ""); err == nil {
					t.Error("still listening")
				}
				time.Sleep(time.Second)
				if said == "" {
					c.send(whole(burger))
					c.want(200, "")
				} else {
					c.send("\r\n")
					c.want(404, NotFound)
				}
				c.hungUp()
				since(t, start, time.Second)
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestStoppingAnswersWhoIsLetInWhileTheListenerCloses(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, stop func() error) {
		client, server := net.Pipe()
		defer client.Close()
		synctest.Wait() // until it accepts
		l.last = server
		c := &line{client, t, bufio.NewReader(client)}
		c.send(whole(burger))
		stopped := begin(stop)
		c.want(200, "")
		c.hungUp()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

func TestStoppingLetsAConnectionInUseBringItsNextRequest(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, stop func() error) {
		used, unused := l.line(t), l.line(t)
		for _, c := range []*line{used, unused} {
			c.send(whole(burger))
			if resp := c.want(200, ""); resp.Close {
				t.Error("closed before the stop")
			}
		}
		time.Sleep(5 * time.Second)
		start, stopped := time.Now(), begin(stop)
		time.Sleep(partTime / 2)
		fresh := l.line(t) // let in, for the stop waits for the others anyhow
		for _, c := range []*line{used, fresh} {
			c.send(whole(burger))
			if resp := c.want(200, ""); !resp.Close {
				t.Error("the sender may think that it can go on")
			}
			c.hungUp()
		}
		since(t, start, partTime/2)
		unused.hungUp()
		since(t, start, partTime)
		if err := <-stopped; err != nil || time.Since(start) > partTime+2*lookTime {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestStoppingWithNobodyThereTakesNoTime(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, stop func() error) {
		synctest.Wait()
		start := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		since(t, start, 0)
	})
}

func TestStoppingWaitsForNobodyWhoIsSilent(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, stop func() error) {
		l.line(t)
		synctest.Wait()
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestMoreConnectionsThanTheCapWait(t *testing.T) {
	bubble(t, func(o *Options, _ *Policy) { o.MaxConnections = 2 }, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		start := time.Now()
		l.line(t)
		l.line(t) // two that say nothing hold both places until the server loses patience
		c := l.line(t)
		c.send(whole(burger))
		c.want(200, "")
		since(t, start, 3*time.Second)
	})
}

func TestAListenerThatFailsIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil)
		l := newPipes()
		_ = l.Close()
		if err := b.Serve(t.Context(), l); err == nil || !strings.HasPrefix(err.Error(), "serve print requests: ") {
			t.Error(err)
		}
	})
}
