// Package transporttest is what every way to reach a printer must do, as a test suite:
// kitchens differ in their wires, and the daemon's promises rest on all of them alike.
//
// A new transport runs it from a test of its own; a new rule is added here, not to one of
// them. It is never part of the daemon.
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

// A Printer is the other end of the wire under test.
type Printer struct {
	Dialer transport.Dialer
	// Received waits until n bytes have arrived over all connections, and returns
	// everything that has. It fails the test when they do not arrive.
	Received func(n int) []byte
	// Say has the printer say something on the connection that was opened last. It must be
	// there if the Suite's Speaks says so.
	Say func(b []byte)
}

// A Suite makes printers. Each function is called once per test; nil means that this
// transport cannot have such a printer, and its rules are not run.
type Suite struct {
	// Working takes everything.
	Working func(t *testing.T) Printer
	// OneWay says that nothing can come back from it, Speaks that it can be told what to say.
	OneWay, Speaks bool
	// Stuck accepts a connection and takes little (less than Big) or nothing, for ever.
	Stuck func(t *testing.T) transport.Dialer
	// Leaving breaks the connection after at least 1 and fewer than Big bytes.
	Breaking func(t *testing.T) transport.Dialer
	// Absent cannot be dialled.
	Absent func(t *testing.T) transport.Dialer
	// Bubble runs a test; nil runs it as it is. In memory, it is synctest.Test.
	RunTest func(t *testing.T, f func(t *testing.T))
}

// Big is more than any buffer on the way to a test printer holds.
const Big = 8 << 20

// Run runs every rule that applies.
func (s Suite) Run(t *testing.T) {
	rules := []struct {
		name    string
		applies bool
		rule    func(t *testing.T)
	}{
		{"WhatIsWrittenArrivesWholeAndInOrder", true, s.arrives},
		{"ConnectionsFollowOneAnother", true, s.follow},
		{"AnEndedContextDialsNothing", true, s.endedDial},
		{"FinishWithAnEndedContextClaimsNothing", true, s.endedFinish},
		{"AfterFinishNothingCanBeWritten", true, s.afterFinish},
		{"AfterCloseNothingCanBeWritten", true, s.afterClose},
		{"APastDeadlineWritesNothing", true, s.pastDeadline},
		{"AReadEndsAtItsDeadlineOrAtOnce", true, s.readDeadline},
		{"WhatThePrinterSaysIsRead", s.Speaks, s.hears},
		{"ItSaysWhetherThereIsAWayBack", true, s.tells},
		{"WithoutAWayBackAReadEndsAtOnce", s.OneWay, s.oneWay},
		{"AnAnswerThatComesAfterADeadlineIsReadWithTheNext", s.Speaks, s.hearsLate},
		{"ADeadlineSetMeanwhileInterruptsARead", true, s.readInterrupted},
		{"CloseInterruptsARead", true, s.readClosed},
		{"AWriteToAStuckPrinterEndsAtItsDeadline", s.Stuck != nil, s.stuckDeadline},
		{"CloseInterruptsAWrite", s.Stuck != nil, s.stuckClose},
		{"APrinterThatLeavesIsNeverFinishedWith", s.Breaking != nil, s.leaves},
		{"APrinterThatIsNotThereIsAnError", s.Absent != nil, s.absent},
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

func dial(t *testing.T, d transport.Dialer) transport.Conn {
	t.Helper()
	c, err := d.Dial(t.Context())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s Suite) arrives(t *testing.T) {
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

func (s Suite) follow(t *testing.T) {
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

func (s Suite) endedDial(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := s.Working(t).Dialer.Dial(ctx); !errors.Is(err, context.Canceled) || c != nil {
		t.Errorf("dial: %v, %v, want nothing and context canceled", c, err)
	}
}

func (s Suite) endedFinish(t *testing.T) {
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

func (s Suite) afterFinish(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	if err := c.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := io.WriteString(c, "text\n"); n != 0 || err == nil {
		t.Errorf("write: %d bytes, %v, want none and an error", n, err)
	}
}

func (s Suite) afterClose(t *testing.T) {
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

func (s Suite) pastDeadline(t *testing.T) {
	c := dial(t, s.Working(t).Dialer)
	if err := c.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.WriteString(c, "text\n"); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write: %d bytes, %v, want none and deadline exceeded", n, err)
	}
}

func (s Suite) stuckDeadline(t *testing.T) {
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

func (s Suite) stuckClose(t *testing.T) {
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

func (s Suite) leaves(t *testing.T) {
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

func (s Suite) absent(t *testing.T) {
	if c, err := s.Absent(t).Dial(t.Context()); err == nil || c != nil {
		t.Errorf("dial: %v, %v, want nothing and an error", c, err)
	}
}
