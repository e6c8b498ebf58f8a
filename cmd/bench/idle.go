package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// idlePage is row 14: what goes over the connections of one real page while nothing happens in
// the kitchen: heartbeats and their answers.
func (b *bench) idlePage(ctx context.Context) (finding, error) {
	return b.idle(ctx, ticketsOpen, pick(b, 30*time.Second, 10*time.Second))
}

func (b *bench) idle(ctx context.Context, open int, lasts time.Duration) (finding, error) {
	w, err := b.hang(ctx, open, 1)
	if err != nil {
		return finding{}, err
	}
	err = pause(ctx, time.Second) // what opening the page brought is through
	in, out, began := w.meter.in.Load(), w.meter.out.Load(), time.Now()
	err = errors.Join(err, pause(ctx, lasts))
	took := time.Since(began).Seconds()
	in, out = w.meter.in.Load()-in, w.meter.out.Load()-out
	if err := errors.Join(err, w.close()); err != nil {
		return finding{}, err
	}
	if in == 0 || out == 0 {
		return finding{}, fmt.Errorf("the idle page got %d bytes and sent %d: it is not open", out, in)
	}
	received, sent := float64(in)/took, float64(out)/took
	return finding{
		Measured: fmt.Sprintf("%.0f bytes/s: the server sent %.0f and received %.0f, on TCP, in %.0f s; a page in Chromium %s, without TLS",
			received+sent, sent, received, took, w.browser.version),
		Values: map[string]float64{"bytes_per_second": received + sent, "sent_per_second": sent, "received_per_second": received},
		Hit:    received+sent < 1000,
	}, nil
}

// A meter counts the bytes on the connections that it accepts, TCP's own not among them.
type meter struct {
	net.Listener
	in, out atomic.Int64
}

func (m *meter) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return metered{c, m}, nil
}

type metered struct {
	net.Conn
	m *meter
}

func (c metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.m.in.Add(int64(n))
	return n, err
}

func (c metered) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.m.out.Add(int64(n))
	return n, err
}
