package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"ticketrail/receiver/relay"
)

const (
	perDay = 500 // requests of a venue in a day
	inCut  = 20  // of them, in the hour for which all boxes are cut off
	// liveRate is requests a second while the boxes are connected: twice what 1,000 venues send in the busiest hour of
	// a day, and the same for all numbers of venues, so that they can be compared.
	liveRate = 40
)

// sites returns a row: so many venues with a day behind them. Their boxes are connected and get orders; then all are
// cut off for what is an hour of a restaurant, and come back at once. It fails if a request does not come out.
func sites(venues int) func(*bench) result {
	return func(b *bench) result {
		lasts := pick(b, 12*time.Second, 5*time.Second)
		history := pick(b, perDay-inCut, 20)
		c := b.cloud(venues, history)
		c.waitReady()
		m := c.watchMemory()
		boxes := c.boxes()
		boxes.start()
		orders := c.orders()
		b.sleep(3 * time.Second) // a thousand handshakes are over
		evening := atRate(orders, liveRate, lasts)
		evening.again = true
		var ack samples = must(evening.run(b.ctx, c.webhook))
		posted := len(ack)
		boxes.wait(posted)
		idle := m.now()
		boxes.stop()
		// The servers do not see that a box is gone: until its last fetch ends, an order goes nowhere and is sent again
		// three seconds later. In an hour that is long past.
		b.sleep(31 * time.Second)

		// Faster than the relay can be: each connection posts as soon as it is answered.
		cut := &load{orders: orders, rate: 50_000, connections: 64, again: true, warmUp: 100 * time.Millisecond}
		cut.lasts = time.Duration(inCut*venues) * time.Second / time.Duration(cut.rate)
		posted += len(must(cut.run(b.ctx, c.webhook)))
		began := time.Now()
		boxes.start()
		boxes.wait(posted)
		drained := time.Since(began)
		most := m.stop()
		boxes.waitAcknowledged()
		boxes.stop()

		state := must(c.stream.State(b.ctx))
		if want := uint64(venues*history + posted); state.Messages != want {
			check(fmt.Errorf("%d requests are stored, want %d", state.Messages, want))
		}
		disk := float64(diskUsed(filepath.Join(c.data[0], "jetstream")))
		return result{fmt.Sprintf("answer p50 %s, p99 %s; a server %.0f MB (at most %.0f), the relay %.0f MB (%.0f); "+
			"disk %.1f kB/request on each server; %d waited, drained in %.1f s, %.0f/s",
			ack.p50(), ack.p99(), idle.node/1e6, most.node/1e6, idle.relay/1e6, most.relay/1e6,
			disk/float64(state.Messages)/1e3, inCut*venues, drained.Seconds(),
			float64(inCut*venues)/drained.Seconds()), true}
	}
}

// sleep waits, unless the run is interrupted.
func (b *bench) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-b.ctx.Done():
		check(context.Cause(b.ctx))
	}
}

// A memory is the resident memory of the largest server and of the relay, in bytes.
type memory struct{ node, relay float64 }

// A memoryWatch notes the most that was seen.
type memoryWatch struct {
	c    *cloud
	most memory
	stop func() memory
}

func (c *cloud) watchMemory() *memoryWatch {
	w := &memoryWatch{c: c}
	ctx, cancel := context.WithCancel(c.b.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			now := w.now()
			w.most.node, w.most.relay = max(w.most.node, now.node), max(w.most.relay, now.relay)
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	w.stop = func() memory { cancel(); <-ended; return w.most }
	c.b.cleanups = append(c.b.cleanups, func() error { w.stop(); return nil })
	return w
}

func (w *memoryWatch) now() (m memory) {
	for i := range nodes {
		m.node = max(m.node, resident(w.c.nodes.PID(i)))
	}
	return memory{m.node, resident(w.c.pid)}
}

// resident is the memory of a process in bytes.
func resident(pid int) float64 {
	kib := strings.TrimSuffix(procField(fmt.Sprintf("/proc/%d/status", pid), "VmRSS"), " kB")
	n, _ := strconv.ParseFloat(kib, 64) // 0: it has ended, which is an error elsewhere
	return 1024 * n
}

// cpuTime is the processor time that a process has used.
func cpuTime(pid int) time.Duration {
	text := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	const tick = 10 * time.Millisecond // USER_HZ is 100 everywhere
	return time.Duration(must(strconv.Atoi(fields[11]))+must(strconv.Atoi(fields[12]))) * tick
}

// diskUsed is what a folder takes on the disk.
func diskUsed(dir string) (bytes int64) {
	check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	}))
	return bytes
}

// boxes are the sources of all venues, each with a connection and credentials of its own. What they take is kept in
// memory.
type boxes struct {
	c     *cloud
	creds []string
	halt  func()

	mu    sync.Mutex      // guards taken
	taken map[string]bool // bodies' ids
}

func (c *cloud) boxes() *boxes {
	s := &boxes{c: c, taken: map[string]bool{}}
	for i, v := range c.venues {
		all, _, err := c.access.Box(v)
		check(err)
		s.creds = append(s.creds, c.path(fmt.Sprintf("box%d.creds", i)))
		check(os.WriteFile(s.creds[i], all, 0o600))
	}
	return s
}

// start connects all boxes at once. The next cleanUp, or stop, cuts them off.
func (s *boxes) start() {
	ctx, cancel := context.WithCancel(s.c.b.ctx)
	var running sync.WaitGroup
	conns := make([]*nats.Conn, len(s.creds))
	var g errgroup.Group
	report := func() relay.Report { return relay.Report{Version: "bench"} }
	for i, v := range s.c.venues {
		g.Go(func() (err error) {
			if conns[i], err = s.c.connect(s.creds[i]); err != nil {
				return err
			}
			source := relay.NewSource(relay.SourceOptions{
				Conn: conns[i], Venue: v, Take: s.take, Report: report,
			})
			running.Go(func() { _ = source.Run(ctx) })
			return nil
		})
	}
	s.halt = sync.OnceFunc(func() {
		cancel()
		for _, nc := range conns {
			if nc != nil {
				nc.Close()
			}
		}
		running.Wait()
	})
	s.c.b.cleanups = append(s.c.b.cleanups, func() error { s.halt(); return nil })
	check(g.Wait())
}

func (s *boxes) stop() { s.halt() }

// take keeps the id of a request: one that comes again counts once.
func (s *boxes) take(_ context.Context, a relay.Arrival) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[a.ID] = true
	return nil
}

// wait waits until the boxes have taken so many different requests.
func (s *boxes) wait(want int) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		got := len(s.taken)
		s.mu.Unlock()
		if got == want {
			return
		}
		if got > want || time.Since(began) > 5*time.Minute {
			check(fmt.Errorf("the boxes have taken %d requests, want %d", got, want))
		}
		check(context.Cause(s.c.b.ctx))
	}
}

// waitAcknowledged waits until nothing waits in the stream.
func (s *boxes) waitAcknowledged() {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		waiting := uint64(0)
		var all []relay.Site
		check(s.c.insist(func() (err error) { all, err = s.c.stream.Sites(s.c.b.ctx); return err }))
		for _, one := range all {
			waiting += one.Waiting
		}
		if waiting == 0 {
			return
		}
		if time.Since(began) > time.Minute {
			check(fmt.Errorf("%d requests are not acknowledged", waiting))
		}
	}
}
