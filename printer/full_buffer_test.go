package printer_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"

	"ticketrail/printer/escpos"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
)

// A fullBuffer is a connection on which some writes time out. The next ones take some bytes, and then it ends.
type fullBuffer struct {
	scriptedConn
	full, takes int
}

func (c *fullBuffer) Write(b []byte) (int, error) {
	if c.full > 0 {
		c.full--
		return 0, os.ErrDeadlineExceeded
	}
	n := min(len(b), c.takes)
	if c.takes -= n; n < len(b) {
		return n, errors.New("reset")
	}
	return n, nil
}

func (c *fullBuffer) Dial(context.Context) (transport.Conn, error) {
	ours, _ := net.Pipe()
	c.Conn = ours
	return c, nil
}

func TestAQuestionThatASilentPrinterTakesLateIsNoPartOfTheTicket(t *testing.T) {
	// The question that it is asked before the ticket is read only with the ticket, and is no part of it.
	model, _ := profile.Lookup("generic-80mm")
	const header = 16 // NULs ahead of the question
	before := header + len(escpos.RealTime(1)) + len(escpos.Resync(model))
	for takes, want := range map[int]string{0: "clean", before: "clean", before + 1: "doubt", 1 << 20: "sent"} {
		synctest.Test(t, func(t *testing.T) {
			c := &fullBuffer{takes: 1 << 20}
			r := newHarness(t, nil, c, nil)
			r.want("A1", "sent")
			_ = c.Close()              // scriptedConn.Finish leaves it open
			c.full, c.takes = 2, takes // the NULs, and the question
			r.want("A2", want)
		})
	}
}
