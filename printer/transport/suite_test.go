package transport_test

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

// The suite is what every kind of connection has to pass: what the daemon promises about a ticket must hold over TCP,
// USB, serial and files alike. A new kind runs it from its own test; a new rule is added here.

// A farEnd is the other end of the connection under test.
type farEnd struct {
	Dialer transport.Dialer
	// Received waits until n bytes have arrived over all connections, and returns everything that
	// arrived. It fails the test if they do not.
	Received func(n int) []byte
	// Answer makes the printer send b on the connection that was opened last. It is required if suite.Answers.
	Answer func(b []byte)
}

// A suite makes the printers to test with. Each function is called once per test. nil means that such a
// printer cannot exist on this kind of connection; the rules that need it are skipped.
type suite struct {
	// Working takes everything.
	Working func(t *testing.T) farEnd
	// OneWay: the connection has no way back. Answers: farEnd.Answer works.
	OneWay, Answers bool
	// Stuck accepts a connection and then takes fewer than big bytes, or none.
	Stuck func(t *testing.T) transport.Dialer
	// Breaking ends the connection after at least 1 and fewer than big bytes.
	Breaking func(t *testing.T) transport.Dialer
	// Absent cannot be dialled.
	Absent func(t *testing.T) transport.Dialer
}

// big is more bytes than all buffers between a test and its printer hold together. The kernel's TCP
// buffers alone grow to several MiB.
const big = 8 << 20

// run runs every rule that applies, each as a subtest.
func (s suite) run(t *testing.T) {
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
		t.Run(r.name, r.rule)
	}
}

// testArrival: a ticket with a hole or with two lines exchanged is worse than no ticket. Many small writes,
// because that is where a transport that loses the rest of a short write fails.
func (s suite) testArrival(t *testing.T) {
	p := s.Working(t)
	c := dialed(t, p.Dialer)
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

// testSuccession: a printer serves one client: what the first connection leaves behind must not disturb the second,
// and every ticket follows the one before.
func (s suite) testSuccession(t *testing.T) {
	p := s.Working(t)
	want := ""
	for _, text := range []string{"one\n", "two\n", "three\n"} {
		c := dialed(t, p.Dialer)
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

// testDialEnded: a station that is stopped, or gives its ticket to a backup, must not connect any more.
func (s suite) testDialEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := s.Working(t).Dialer.Dial(ctx); !errors.Is(err, context.Canceled) || c != nil {
		t.Errorf("dial: %v, %v, want nothing and context canceled", c, err)
	}
}

// testFinishEnded: the caller has given up, so the ticket must not count as sent.
func (s suite) testFinishEnded(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	if _, err := io.WriteString(c, "text\n"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("finish: %v, want context canceled", err)
	}
}

// testAfterFinish: a byte after Finish would belong to no ticket, and nothing would wait for it.
func (s suite) testAfterFinish(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	if err := c.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := io.WriteString(c, "text\n"); n != 0 || err == nil {
		t.Errorf("write: %d bytes, %v, want none and an error", n, err)
	}
}

// testAfterClose: Finish must fail too: it is what makes a ticket count as sent.
func (s suite) testAfterClose(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
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

// testPastDeadline: this is how the printer package interrupts an attempt whose context ends. n = 0 matters: the
// ticket is then not in doubt.
func (s suite) testPastDeadline(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	if err := c.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.WriteString(c, "text\n"); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write: %d bytes, %v, want none and deadline exceeded", n, err)
	}
}

// testStuckDeadline: a printer without paper stops reading. The writer gets its turn back, and no later call claims
// success.
func (s suite) testStuckDeadline(t *testing.T) {
	c := dialed(t, s.Stuck(t))
	if err := c.SetWriteDeadline(time.Now().Add(30 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Write(make([]byte, big))
	if n == big || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("write: %d bytes, %v, want fewer than %d and deadline exceeded", n, err, big)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := c.Finish(ctx); n > 0 && err == nil {
		t.Errorf("finish claims that a stuck printer took everything")
	}
}

// testStuckClose: a stop of the daemon must not wait for a printer.
func (s suite) testStuckClose(t *testing.T) {
	c := dialed(t, s.Stuck(t))
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, big))
		wrote <- err
	}()
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-wrote; err == nil {
		t.Error("the write went through")
	}
}

// testBreaking: either call may notice, because buffers on the way may hold the whole ticket. "%!" would be a
// message that formats wrongly what the kernel reported.
func (s suite) testBreaking(t *testing.T) {
	c := dialed(t, s.Breaking(t))
	_, err := c.Write(make([]byte, big))
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

// testAbsent: a nil Conn in a non-nil interface would panic in the caller.
func (s suite) testAbsent(t *testing.T) {
	if c, err := s.Absent(t).Dial(t.Context()); err == nil || c != nil {
		t.Errorf("dial: %v, %v, want nothing and an error", c, err)
	}
}

// testReadDeadline: every wait for an answer ends by its deadline. EOF is right for a connection without a way back.
func (s suite) testReadDeadline(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %d bytes, %v, want none and deadline exceeded or EOF", n, err)
	}
}

// testAnswers: answers are binary: NUL, 03h or 0Dh must come through as sent.
func (s suite) testAnswers(t *testing.T) {
	p := s.Working(t)
	c := dialed(t, p.Dialer)
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

// testOneWay: a wrong no would send questions into a file, or print them as text.
func (s suite) testOneWay(t *testing.T) {
	if got := transport.OneWay(dialed(t, s.Working(t).Dialer)); got != s.OneWay {
		t.Errorf("one way: %t, want %t", got, s.OneWay)
	}
}

// testReadOneWay: always EOF, every time: a reader must be able to tell it from a printer that is silent.
func (s suite) testReadOneWay(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	for range 2 {
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("read: %d bytes, %v, want io.EOF", n, err)
		}
	}
}

// testLateAnswer: a timeout must not lose the byte that comes after it: it is the answer to a fence.
func (s suite) testLateAnswer(t *testing.T) {
	p := s.Working(t)
	c := dialed(t, p.Dialer)
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

// testReadInterrupted: the printer package stops its reader in this way before Finish reads.
func (s suite) testReadInterrupted(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	read := reading(c)
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != io.EOF && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v, want deadline exceeded or EOF", err)
	}
}

// testReadClosed: not EOF, which means that the printer has closed.
func (s suite) testReadClosed(t *testing.T) {
	p := s.Working(t)
	c := dialed(t, p.Dialer)
	read := reading(c)
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-read; err == nil || !s.OneWay && err == io.EOF {
		t.Errorf("read: %v, want that it was closed", err)
	}
}
