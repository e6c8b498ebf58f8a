package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/transport"
)

// The suite is for every kind of connection: the daemon's promises about a ticket must hold over TCP,
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
	rules := map[string]func(t *testing.T){
		"WrittenBytesArriveCompleteAndInOrder":        s.testArrival,
		"DialWithAnEndedContextFails":                 s.testDialEnded,
		"FinishWithAnEndedContextFails":               s.testFinishEnded,
		"WriteAfterFinishFails":                       s.testAfterFinish,
		"WriteAfterCloseFails":                        s.testAfterClose,
		"WriteAfterItsDeadlineWritesNothing":          s.testPastDeadline,
		"ReadEndsAtItsDeadlineAndTheAnswerIsReadNext": s.testReadDeadline,
		"ADeadlineInterruptsARead":                    s.testReadInterrupted,
		"CloseInterruptsARead":                        s.testReadClosed,
	}
	if s.Answers {
		rules["AnswersAreRead"] = s.testAnswers
	}
	if s.Stuck != nil {
		rules["WriteToAStuckPrinterEndsAtItsDeadline"] = s.testStuckDeadline
		rules["CloseInterruptsAWrite"] = s.testStuckClose
	}
	if s.Breaking != nil {
		rules["FinishFailsIfThePrinterBreaksTheConnection"] = s.testBreaking
	}
	if s.Absent != nil {
		rules["DialOfAnAbsentPrinterFails"] = s.testAbsent
	}
	for name, rule := range rules {
		t.Run(name, rule)
	}
}

// testArrival: a ticket with a hole or with two lines exchanged is worse than no ticket. Many small writes, because
// there a transport fails that loses the rest of a short write. A printer serves one client: nothing that the first
// connection leaves behind may disturb the second.
func (s suite) testArrival(t *testing.T) {
	p := s.Working(t)
	want := ""
	for ticket := range 3 {
		c := dialed(t, p.Dialer)
		for i := range 100 {
			line := fmt.Sprintf("ticket %d, line %d\n", ticket, i)
			want += line
			write(t, c, line)
		}
		assert.NoError(t, c.Finish(t.Context()))
		assert.NoError(t, c.Close())
		got := string(p.Received(len(want)))
		assert.True(t, got == want, len(got), len(want), got)
	}
}

// testDialEnded: a station that is stopped, or gives its ticket to a backup, must not connect any more.
func (s suite) testDialEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := s.Working(t).Dialer.Dial(ctx)
	assert.True(t, errors.Is(err, context.Canceled) && c == nil, c, err)
}

// testFinishEnded: the caller has given up, so the ticket must not count as sent.
func (s suite) testFinishEnded(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	write(t, c, "text\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := c.Finish(ctx)
	assert.True(t, errors.Is(err, context.Canceled), err)
}

// testAfterFinish: a byte after Finish would belong to no ticket, and nothing would wait for it.
func (s suite) testAfterFinish(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	assert.NoError(t, c.Finish(t.Context()))
	wantNothingWritten(t, c)
}

// testAfterClose: Finish must fail too: because of it a ticket counts as sent.
func (s suite) testAfterClose(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	assert.NoError(t, c.Close())
	wantNothingWritten(t, c)
	assert.True(t, c.Finish(t.Context()) != nil, "finish of a closed connection claims success")
	_ = c.Close() // must not panic
}

// testPastDeadline: this is how the printer package interrupts an attempt whose context ends. n = 0 matters: the
// ticket is then not in doubt.
func (s suite) testPastDeadline(t *testing.T) {
	c := dialed(t, s.Working(t).Dialer)
	assert.NoError(t, c.SetWriteDeadline(time.Unix(1, 0)))
	err := wantNothingWritten(t, c)
	assert.True(t, errors.Is(err, os.ErrDeadlineExceeded), err)
}

// wantNothingWritten wants an error from a write, and returns it.
func wantNothingWritten(t *testing.T, c transport.Conn) error {
	t.Helper()
	n, err := io.WriteString(c, "text\n")
	assert.True(t, n == 0 && err != nil, n, err)
	return err
}

// testStuckDeadline: a printer without paper stops reading. The writer gets its turn back, and no later call claims
// success.
func (s suite) testStuckDeadline(t *testing.T) {
	c := dialed(t, s.Stuck(t))
	assert.NoError(t, c.SetWriteDeadline(time.Now().Add(30*time.Millisecond)))
	n, err := c.Write(make([]byte, big))
	assert.True(t, n < big && errors.Is(err, os.ErrDeadlineExceeded), n, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	assert.True(t, c.Finish(ctx) != nil || n == 0, "finish claims that a stuck printer took everything")
}

// testStuckClose: a stop of the daemon must not wait for a printer.
func (s suite) testStuckClose(t *testing.T) {
	c := dialed(t, s.Stuck(t))
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, big))
		wrote <- err
	}()
	assert.NoError(t, c.Close())
	assert.True(t, <-wrote != nil, "the write went through")
}

// testBreaking: either call may notice, because buffers on the way may hold the whole ticket. "%!" would be a
// message that formats the kernel's report wrongly.
func (s suite) testBreaking(t *testing.T) {
	c := dialed(t, s.Breaking(t))
	_, err := c.Write(make([]byte, big))
	if err == nil {
		err = c.Finish(t.Context())
	}
	assert.True(t, err != nil, "neither write nor finish noticed")
	assert.True(t, !strings.Contains(fmt.Sprint(err), "%!"), err)
}

// testAbsent: a nil Conn in a non-nil interface would panic in the caller.
func (s suite) testAbsent(t *testing.T) {
	c, err := s.Absent(t).Dial(t.Context())
	assert.True(t, err != nil && c == nil, c, err)
}

// testAnswers: answers are binary: NUL, 03h or 0Dh must come through as sent.
func (s suite) testAnswers(t *testing.T) {
	p := s.Working(t)
	c := dialed(t, p.Dialer)
	// Bytes that a terminal device outside raw mode would change, hold back or act on.
	const answers = "\x12\x16\r\n\x00\x03\x04\x1a\x7f\xff\x37\x221234\x00"
	p.Answer([]byte(answers))
	transport.Got(t, c, answers)
	// And they are not echoed back to the printer.
	write(t, c, "ticket\n")
	assert.NoError(t, c.Finish(t.Context()))
	assert.Equal(t, string(p.Received(7)), "ticket\n")
}

// testReadDeadline: a timeout must not lose the byte that comes after it: it is the answer to a fence. A connection
// that is known to have no way back ends at once, every time; a wrong no would send questions into a file.
func (s suite) testReadDeadline(t *testing.T) {
	p := s.Working(t)
	c, b := dialed(t, p.Dialer), make([]byte, 1)
	assert.Equal(t, transport.OneWay(c), s.OneWay)

	want := map[bool]error{true: io.EOF, false: os.ErrDeadlineExceeded}[s.OneWay]
	for range 2 {
		assert.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
		n, err := c.Read(b)
		assert.True(t, n == 0 && errors.Is(err, want), n, err)
	}

	if s.Answers {
		p.Answer([]byte{0x12})
		assert.NoError(t, c.SetReadDeadline(time.Time{}))
		transport.Got(t, c, "\x12")
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
	assert.NoError(t, c.SetReadDeadline(time.Unix(1, 0)))
	err := <-read
	assert.True(t, err == io.EOF || errors.Is(err, os.ErrDeadlineExceeded), err)
}

// testReadClosed: not EOF, which means that the printer has closed.
func (s suite) testReadClosed(t *testing.T) {
	p := s.Working(t)
	c := dialed(t, p.Dialer)
	read := reading(c)
	assert.NoError(t, c.Close())
	err := <-read
	assert.True(t, err != nil && (s.OneWay || err != io.EOF), err)
}
