package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"ticketrail/printer/transport"
)

// A bufferedConn accepts writes at once and delivers them later, as the kernel does for a socket.
type bufferedConn struct {
	line           transport.Conn
	dead           func() bool  // no byte is acknowledged
	record         func([]byte) // what is written
	reads, answers net.Conn     // the daemon's end and ours

	mu        sync.Mutex // guards what follows
	changed   chan struct{}
	out       []byte
	done      bool  // closed for writing
	taken     bool  // the printer's kernel has all data, also if the printer has not read it
	broken    bool  // the connection failed
	closedErr error // how the printer ended it
}

func newBufferedConn(line transport.Conn, c *cable) *bufferedConn {
	s := &bufferedConn{line: line, dead: c.isDead, record: c.record, changed: make(chan struct{})}
	s.reads, s.answers = net.Pipe()
	go s.deliver()
	go s.answer()
	return s
}

func (s *bufferedConn) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *bufferedConn) deliver() {
	for {
		s.mu.Lock()
		b, changed, done := bytes.Clone(s.out), s.changed, s.done || s.broken
		s.mu.Unlock()
		if len(b) == 0 {
			if done {
				s.finishLine()
				return
			}
			<-changed
			continue
		}
		n, err := s.line.Write(b)
		s.update(func() {
			s.out = s.out[min(n, len(s.out)):] // Close discards it
			if err != nil && s.closedErr == nil {
				s.closedErr = err
			}
			s.broken = s.broken || err != nil
		})
		if err != nil {
			s.finishLine()
			return
		}
	}
}

func (s *bufferedConn) answer() {
	buf := make([]byte, 512)
	for {
		n, err := s.line.Read(buf)
		if n > 0 {
			if _, err := s.answers.Write(buf[:n]); err != nil {
				return
			}
		}
		if err == nil {
			continue
		}
		s.update(func() {
			if s.closedErr == nil {
				s.closedErr = err
			}
			s.broken = s.broken || err != io.EOF // after EOF one may still write
		})
		_ = s.answers.Close()
		return
	}
}

// PeerClosed is the error with which the printer ended the connection, if it did.
func (s *bufferedConn) PeerClosed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closedErr
}

func (s *bufferedConn) Read(b []byte) (int, error) {
	n, err := s.reads.Read(b)
	if err == io.EOF && s.PeerClosed() != nil {
		err = s.PeerClosed()
	}
	return n, err
}

func (s *bufferedConn) Write(b []byte) (int, error) {
	s.mu.Lock()
	done, broken := s.done, s.broken
	s.mu.Unlock()
	switch {
	case done:
		return 0, net.ErrClosed
	case broken:
		return 0, syscall.ECONNRESET
	}
	s.record(b)
	s.update(func() { s.out = append(s.out, b...) })
	return len(b), nil
}

func (s *bufferedConn) SetReadDeadline(t time.Time) error { return s.reads.SetReadDeadline(t) }
func (s *bufferedConn) SetWriteDeadline(time.Time) error  { return nil } // Write never blocks

// Close resets the connection, unless everything was delivered: that then prints.
func (s *bufferedConn) Close() error {
	s.mu.Lock()
	taken := s.taken
	s.mu.Unlock()
	if taken {
		s.update(func() { s.done = true })
		return s.reads.Close()
	}
	s.update(func() { s.out, s.done = nil, true })
	return errors.Join(s.line.Close(), s.reads.Close())
}

// finishLine closes the connection to the printer when everything is delivered or it failed.
func (s *bufferedConn) finishLine() {
	s.mu.Lock()
	taken := s.taken
	s.mu.Unlock()
	if taken {
		_ = s.line.Finish(context.Background())
		_ = s.line.Close()
	}
}

const (
	window      = 16 << 10 // what the printer's kernel accepts while the printer does not read
	finishGrace = 500 * time.Millisecond
)

// Finish waits until everything is delivered to the printer's kernel.
func (s *bufferedConn) Finish(ctx context.Context) error {
	t := time.NewTimer(finishGrace)
	defer t.Stop()
	late := false
	for {
		s.mu.Lock()
		left, broken, changed := len(s.out), s.broken, s.changed
		s.mu.Unlock()
		switch {
		case broken:
			return syscall.ECONNRESET
		case left == 0, late && left <= window && !s.dead():
			s.update(func() { s.taken = true })
			return nil
		}
		select {
		case <-changed:
		case <-t.C:
			late = true
			t.Reset(finishGrace)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
