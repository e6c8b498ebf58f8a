package printer_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// An endlessDialer makes connections on which there is always more to read.
type endlessDialer struct {
	transport.Dialer
	next  func(n int64) []byte
	reads atomic.Int64
}

func (f *endlessDialer) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := f.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &endlessConn{Conn: c, f: f}, nil
}

type endlessConn struct {
	transport.Conn
	f      *endlessDialer
	closed atomic.Bool
	over   atomic.Bool // the time to read
}

func (c *endlessConn) Read(b []byte) (int, error) {
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	if c.over.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	return copy(b, c.f.next(c.f.reads.Add(1))), nil
}

func (c *endlessConn) SetReadDeadline(t time.Time) error {
	c.over.Store(!t.IsZero())
	return nil
}

func (c *endlessConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

func same(b []byte) func(int64) []byte { return func(int64) []byte { return b } }

func TestAPrinterThatNeverStopsSendingIsReadSlowly(t *testing.T) {
	// A reader without a limit would never sleep, so the bubble's clock would stop and the test not end.
	block := make([]byte, 512)
	for i := range block {
		block[i] = 'x'
	}
	block[0] = 0x3d
	for name, say := range map[string]func(int64) []byte{
		"Junk":     same([]byte{0xff, 0xfe, 0x80}),
		"OneByte":  same([]byte{0xff}),
		"XOFF":     same([]byte{0x13}),
		"Answers":  same([]byte{0x12, 0x00, 0x12, 0x00}),
		"Block":    same(block),
		"OtherIDs": same([]byte("7\"zzzz\x00")),
		"Status": func(n int64) []byte { // which is another one each time
			return []byte{0x18, 0, byte(n%2) * 0x0c, 0x0f}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := virtual.New(virtual.Options{Kanji: true})
				f := &endlessDialer{Dialer: v, next: say}
				shortWait := func(d *printer.DeviceOptions, _ *printer.Options) { d.WaitForPerson = time.Minute }
				r := newHarness(t, v, f, shortWait)
				start := time.Now()
				for range 3 {
					o := r.print("A1")
					if o.err == nil && o.proof != ticket.Sent {
						t.Errorf("%s is claimed", o.proof)
					}
					if errors.Is(o.err, errDisk) || o.took > 10*time.Minute {
						t.Errorf("%s after %s: %v", o.kind(), o.took, o.err)
					}
				}
				r.d.Retire()
				time.Sleep(time.Second) // until the reader has ended
				if s := int64(time.Since(start)/time.Second) + 1; f.reads.Load() > 2100*s {
					t.Errorf("%d reads in %d s", f.reads.Load(), s)
				}
				if n := r.log.count("\n"); n > 60 {
					t.Errorf("%d lines in the log", n)
				}
			})
		})
	}
}
