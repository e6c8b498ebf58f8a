package transporttest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"ticketrail/printer/transport"
)

// Every wait for an answer ends by its deadline. EOF is right for a connection without a way back.
func (s Suite) testReadDeadline(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %d bytes, %v, want none and deadline exceeded or EOF", n, err)
	}
}

// Answers are binary: NUL, 03h or 0Dh must come through as sent.
func (s Suite) testAnswers(t *testing.T) {
	p := s.Working(t)
	c := dial(t, p.Dialer)
	// Bytes that a terminal device outside raw mode would change, hold back or act on.
	want := []byte{0x12, 0x16, '\r', '\n', 0, 3, 4, 0x1a, 0x7f, 0xff, 0x37, 0x22, '1', '2', '3', '4', 0}
	p.Answer(want)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read % x, %v, want % x", got, err, want)
	}
	// And they are not echoed back to the printer.
	if _, err := io.WriteString(c, "ticket\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := string(p.Received(7)); got != "ticket\n" {
		t.Errorf("received %q", got)
	}
}

// A wrong no would send questions into a file, or print them as text.
func (s Suite) testOneWay(t *testing.T) {
	if got := transport.OneWay(dial(t, s.Working(t).Dialer)); got != s.OneWay {
		t.Errorf("one way: %t, want %t", got, s.OneWay)
	}
}

// Always EOF, every time: a reader must be able to tell it from a printer that is silent.
func (s Suite) testReadOneWay(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	for range 2 {
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("read: %d bytes, %v, want io.EOF", n, err)
		}
	}
}

// A timeout must not lose the byte that comes after it: it is the answer to a fence.
func (s Suite) testLateAnswer(t *testing.T) {
	p := s.Working(t)
	c := dial(t, p.Dialer)
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read: %d bytes, %v, want deadline exceeded", n, err)
	}
	p.Answer([]byte{0x12})
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if n, err := c.Read(b); n != 1 || err != nil || b[0] != 0x12 {
		t.Errorf("read: %d bytes, %v, % x", n, err, b)
	}
}

// reading starts a Read and returns the channel of its error.
func reading(c transport.Conn) <-chan error {
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	return read
}

// The printer package stops its reader in this way before Finish reads.
func (s Suite) testReadInterrupted(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	read := reading(c)
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != io.EOF && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v, want deadline exceeded or EOF", err)
	}
}

// Not EOF, which means that the printer has closed.
func (s Suite) testReadClosed(t *testing.T) {
	p := s.Working(t)
	c := dial(t, p.Dialer)
	read := reading(c)
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-read; err == nil || !s.OneWay && err == io.EOF {
		t.Errorf("read: %v, want that it was closed", err)
	}
}
