package printer_test

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAnswerThatPrecedesItsQuestionProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{}
		answers := 2 // to GS r: the probe's and the hello's
		s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
			switch {
			case answerStatus(c, all):
			case strings.Contains(all[max(0, len(all)-17):], "\x1dr\x01"):
				if answers--; answers >= 0 {
					_, _ = c.Write(make([]byte, strings.Count(all[max(0, len(all)-17):], "\x1dr\x01")))
				}
			case last(all, "D9\n") || len(all) > 1000 && len(all) < 1300:
				_, _ = c.Write([]byte{0}) // not asked for: noise on the line, or an answer to another client
				time.Sleep(time.Second)
			}
		}
		r := newScriptedHarness(t, s)
		defer r.d.Retire()
		if o := r.printWith(t.Context(), r.p, orderOfLines(200), nil); o.kind() != "doubt" {
			t.Errorf("%s: %v", o.kind(), o.err)
		}
	})
}
