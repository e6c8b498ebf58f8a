// Package transporttest is a test suite for the connections that reach a printer. What the daemon promises
// about a ticket must hold over TCP, USB, serial and files alike, so each of them has to pass it.
//
// A new kind of connection runs the suite from its own test. A new rule is added here, so that it applies to
// all of them. The package is never part of the daemon.
package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"ticketrail/printer/transport"
)

// A Printer is the other end of the connection under test.
type Printer struct {
	Dialer transport.Dialer
	// Received waits until n bytes have arrived over all connections, and returns everything that
	// arrived. It fails the test if they do not.
	Received func(n int) []byte
	// Answer makes the printer send b on the connection that was opened last. It is required if Suite.Answers.
	Answer func(b []byte)
}

// A Suite makes the printers to test with. Each function is called once per test. nil means that such a
// printer cannot exist on this kind of connection; the rules that need it are skipped.
type Suite struct {
	// Working takes everything.
	Working func(t *testing.T) Printer
	// OneWay: the connection has no way back. Answers: Printer.Answer works.
	OneWay, Answers bool
	// Stuck accepts a connection and then takes fewer than Big bytes, or none.
	Stuck func(t *testing.T) transport.Dialer
	// Breaking ends the connection after at least 1 and fewer than Big bytes.
	Breaking func(t *testing.T) transport.Dialer
	// Absent cannot be dialled.
	Absent func(t *testing.T) transport.Dialer
	// RunTest runs one test, for example synctest.Test; nil calls the test directly. In such a
	// bubble the time-outs of the rules cost no real time.
	RunTest func(t *testing.T, f func(t *testing.T))
}

// Big is more bytes than all buffers between a test and its printer hold together. The kernel's TCP
// buffers alone grow to several MiB.
const Big = 8 << 20

// Run runs every rule that applies, each as a subtest.
func (s Suite) Run(t *testing.T) {
	rules := []struct {
		name    string
		applies bool
		rule    func(t *testing.T)
	}{
		{"WrittenBytesArriveCompleteAndInOrder", true, s.testArrival},
		{"ConnectionsWorkOneAfterTheOther", true, s.testSuccession},
		{"DialWithAnEndedContextFails", true, s.testDialEnded},
		{"FinishWithAnEndedContextFails", true, s.testFinishEnded},
		{"WriteAfterFinishFails", true, s.testAfterFinish},
		{"WriteAfterCloseFails", true, s.testAfterClose},
		{"WriteAfterItsDeadlineWritesNothing", true, s.testPastDeadline},
		{"ReadEndsAtItsDeadline", true, s.testReadDeadline},
		{"AnswersAreRead", s.Answers, s.testAnswers},
		{"OneWayIsReported", true, s.testOneWay},
		{"ReadOfAOneWayConnectionEndsAtOnce", s.OneWay, s.testReadOneWay},
		{"AnAnswerAfterTheDeadlineIsReadNext", s.Answers, s.testLateAnswer},
		{"ADeadlineInterruptsARead", true, s.testReadInterrupted},
		{"CloseInterruptsARead", true, s.testReadClosed},
		{"WriteToAStuckPrinterEndsAtItsDeadline", s.Stuck != nil, s.testStuckDeadline},
		{"CloseInterruptsAWrite", s.Stuck != nil, s.testStuckClose},
		{"FinishFailsIfThePrinterBreaksTheConnection", s.Breaking != nil, s.testBreaking},
		{"DialOfAnAbsentPrinterFails", s.Absent != nil, s.testAbsent},
	}
	for _, r := range rules {
		if !r.applies {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			if s.RunTest != nil {
				s.RunTest(t, r.rule)
			} else {
				r.rule(t)
			}
		})
	}
}

// dial opens a connection that is closed at the end of the test, also if the test fails.
func dial(t *testing.T, d transport.Dialer) transport.Conn {
	t.Helper()
	c, err := d.Dial(t.Context())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A ticket with a hole or with two lines exchanged is worse than no ticket. Many small writes,
// because that is where a transport that loses the rest of a short write fails.
func (s Suite) testArrival(t *testing.T) {
	p := s.Working(t)
	c := dial(t, p.Dialer)
	var want []byte
	for i := range 300 {
		piece := fmt.Appendf(nil, "line %d\n", i)
		want = append(want, piece...)
		if n, err := c.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("write: %d of %d bytes, %v", n, len(piece), err)
		}
	}
	if err := c.Finish(t.Context()); err != nil {
		t.Fatalf("finish: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if got := p.Received(len(want)); !bytes.Equal(got, want) {
		t.Errorf("received %d bytes, want %d: %q", len(got), len(want), got)
	}
}

// A printer serves one client: what the first connection leaves behind must not disturb the second,
// and every ticket follows the one before.
func (s Suite) testSuccession(t *testing.T) {
	p := s.Working(t)
	want := ""
	for _, text := range []string{"one\n", "two\n", "three\n"} {
		c := dial(t, p.Dialer)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if err := c.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		want += text
		if got := string(p.Received(len(want))); got != want {
			t.Errorf("received %q, want %q", got, want)
		}
	}
}

// A station that is stopped, or gives its ticket to a backup, must not connect any more.
func (s Suite) testDialEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := s.Working(t).Dialer.Dial(ctx); !errors.Is(err, context.Canceled) || c != nil {
		t.Errorf("dial: %v, %v, want nothing and context canceled", c, err)
	}
}

// The caller has given up, so the ticket must not count as sent.
func (s Suite) testFinishEnded(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	if _, err := io.WriteString(c, "text\n"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("finish: %v, want context canceled", err)
	}
}

// A byte after Finish would belong to no ticket, and nothing would wait for it.
func (s Suite) testAfterFinish(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	if err := c.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := io.WriteString(c, "text\n"); n != 0 || err == nil {
		t.Errorf("write: %d bytes, %v, want none and an error", n, err)
	}
}

// Finish must fail too: it is what makes a ticket count as sent.
func (s Suite) testAfterClose(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := io.WriteString(c, "text\n"); n != 0 || err == nil {
		t.Errorf("write: %d bytes, %v, want none and an error", n, err)
	}
	if err := c.Finish(t.Context()); err == nil {
		t.Error("finish of a closed connection claims success")
	}
	_ = c.Close() // must not panic
}

// This is how the printer package interrupts an attempt whose context ends. n = 0 matters: the
// ticket is then not in doubt.
func (s Suite) testPastDeadline(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	if err := c.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.WriteString(c, "text\n"); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write: %d bytes, %v, want none and deadline exceeded", n, err)
	}
}

// A printer without paper stops reading. The writer gets its turn back, and no later call claims
// success.
func (s Suite) testStuckDeadline(t *testing.T) {
	c := dial(t, s.Stuck(t))
	if err := c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Write(make([]byte, Big))
	if n == Big || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("write: %d bytes, %v, want fewer than %d and deadline exceeded", n, err, Big)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := c.Finish(ctx); n > 0 && err == nil {
		t.Errorf("finish claims that a stuck printer took everything")
	}
}

// A stop of the daemon must not wait for a printer.
func (s Suite) testStuckClose(t *testing.T) {
	c := dial(t, s.Stuck(t))
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, Big))
		wrote <- err
	}()
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-wrote; err == nil {
		t.Error("the write went through")
	}
}

// Either call may notice, because buffers on the way may hold the whole ticket. "%!" would be a
// message that formats wrongly what the kernel reported.
func (s Suite) testBreaking(t *testing.T) {
	c := dial(t, s.Breaking(t))
	_, err := c.Write(make([]byte, Big))
	if err == nil {
		err = c.Finish(t.Context())
	}
	if err == nil {
		t.Error("neither write nor finish noticed")
	}
	if s := fmt.Sprint(err); strings.Contains(s, "%!") {
		t.Errorf("the message is malformed: %s", s)
	}
}

// A nil Conn in a non-nil interface would panic in the caller.
func (s Suite) testAbsent(t *testing.T) {
	if c, err := s.Absent(t).Dial(t.Context()); err == nil || c != nil {
		t.Errorf("dial: %v, %v, want nothing and an error", c, err)
	}
}
