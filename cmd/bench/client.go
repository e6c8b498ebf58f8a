package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A caller is one keep-alive connection that posts print requests. It does as little as
// possible: it shares the cores with what is measured, and must not be what is measured.
type caller struct {
	conn net.Conn
	r    *bufio.Reader
	buf  []byte
}

func dial(ctx context.Context, addr string) (*caller, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &caller{conn: conn, r: bufio.NewReaderSize(conn, 2048)}, nil
}

// post sends a letter under its own id and waits for the answer.
func (c *caller) post(l letter, id uint64) error {
	c.buf = l.write(c.buf[:0], id)
	if _, err := c.conn.Write(c.buf); err != nil {
		return err
	}
	return readAnswer(c.r)
}

// readAnswer accepts nothing but a 200 for a request that was new: anything else would be
// quicker than what is to be measured, and make a better number of a failure.
func readAnswer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	status := string(bytes.TrimRight(line, "\r\n"))
	length := -1
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(k, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return fmt.Errorf("answer's length: %w", err)
			}
		}
	}
	if length < 0 || length > r.Size() {
		return fmt.Errorf("answered %q with a length of %d", status, length)
	}
	body, err := r.Peek(length)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if status != "HTTP/1.1 200 OK" || !bytes.HasPrefix(body, []byte(`{"status":"SUCCESS","duplicate":false,"jobs":`)) {
		return fmt.Errorf("answered %q: %s", status, body)
	}
	_, err = r.Discard(length)
	return err
}

// A crowd is many connections to one address.
type crowd []*caller

func gather(ctx context.Context, addr string, n int) (crowd, error) {
	var cr crowd
	for range n {
		c, err := dial(ctx, addr)
		if err != nil {
			return nil, errors.Join(err, cr.close())
		}
		cr = append(cr, c)
	}
	return cr, nil
}

func (cr crowd) close() error {
	var errs []error
	for _, c := range cr {
		errs = append(errs, c.conn.Close())
	}
	return errors.Join(errs...)
}

// patience is how long an answer may take before the run is given up.
const patience = 30 * time.Second

func (cr crowd) until(t time.Time) error {
	for _, c := range cr {
		if err := c.conn.SetDeadline(t.Add(patience)); err != nil {
			return err
		}
	}
	return nil
}

// hammer has every connection post as fast as it is answered, and returns the answers per
// second of the last lasts, after a warming up that does not count.
func (b *bench) hammer(ctx context.Context, cr crowd, l letter, warm, lasts time.Duration) (float64, error) {
	if err := cr.until(time.Now().Add(warm + lasts)); err != nil {
		return 0, err
	}
	var counting, over atomic.Bool
	var answers atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, len(cr))
	for i, c := range cr {
		wg.Go(func() {
			for !over.Load() {
				if errs[i] = c.post(l, b.ids.Add(1)); errs[i] != nil {
					over.Store(true)
					return
				}
				if counting.Load() {
					answers.Add(1)
				}
			}
		})
	}
	err := pause(ctx, warm)
	counting.Store(true)
	began := time.Now()
	if err == nil {
		err = pause(ctx, lasts)
	}
	counting.Store(false)
	took := time.Since(began)
	over.Store(true)
	wg.Wait()
	return float64(answers.Load()) / took.Seconds(), errors.Join(append(errs, err)...)
}

// A paced is what came of requests at fixed moments. The nth went under the id first + n.
type paced struct {
	began time.Time
	rate  int
	first uint64
	took  samples // from its moment until it was answered
	late  []int   // those that were sent late
}

// stall is how late one is sent at least if the machine stood still, as a virtual one does when
// its host is busy with others. What is measured could be the cause as well, for it shares the
// cores: figures without the late ones explain a verdict, they are none.
const stall = time.Millisecond

// awake is the samples without those that were sent late.
func (p paced) awake() samples {
	s := slices.Clone(p.took)
	for _, n := range slices.Backward(p.late) {
		s = slices.Delete(s, n, n+1)
	}
	return s
}

// due is the moment of the nth.
func (p paced) due(n int) time.Time {
	return p.began.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
}

// pace posts rate requests a second, whether or not they are answered, and returns how long
// after its moment each was answered. Letters take turns. Every connection that waits is
// one request under way; if there are too few the latencies say so, since they begin at
// the moment and not when a connection is free.
func (b *bench) pace(ctx context.Context, cr crowd, letters []letter, rate int, lasts time.Duration) (paced, error) {
	if err := cr.until(time.Now().Add(lasts)); err != nil {
		return paced{}, err
	}
	// The goroutine that keeps time blocks a whole processor in the kernel; the others must
	// not be short of it.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU() + 1))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	count := int(lasts.Seconds() * float64(rate))
	p := paced{rate: rate, first: b.ids.Add(uint64(count)) - uint64(count) + 1, took: make(samples, count)}
	work := make(chan int, count)
	var wg sync.WaitGroup
	errs := make([]error, len(cr))
	p.began = time.Now()
	for i, c := range cr {
		wg.Go(func() {
			for n := range work {
				if errs[i] = c.post(letters[n%len(letters)], p.first+uint64(n)); errs[i] != nil {
					cancel()
					return
				}
				p.took[n] = time.Since(p.due(n))
			}
		})
	}
	for n := range count {
		if sleepUntil(p.due(n)); ctx.Err() != nil {
			break
		}
		if time.Since(p.due(n)) > stall {
			p.late = append(p.late, n)
		}
		work <- n
	}
	close(work)
	wg.Wait()
	return p, errors.Join(append(errs, context.Cause(ctx))...)
}

// sleepUntil sleeps in the kernel: the runtime's timers are a millisecond late on an idle
// machine, which is as much as what is measured.
func sleepUntil(t time.Time) {
	for {
		d := time.Until(t)
		if d <= 0 {
			return
		}
		ts := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil) // EINTR: look at the clock again
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
