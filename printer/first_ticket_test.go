package printer_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/virtual"
)

// sendHalfAnImage leaves a printer waiting for the rest of an image.
func sendHalfAnImage(t *testing.T, v *virtual.Printer) {
	t.Helper()
	c, err := v.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "\x1b@\x1dv0\x00\x48\x00\x18\x00half of an image"); err != nil {
		t.Fatal(err)
	}
	_ = c.Finish(t.Context())
	_ = c.Close()
}

func TestAPrinterThatHangsDuringItsFirstProbeGetsNoTicket(t *testing.T) {
	// At the first contact nothing is known of the printer. What it answered before it began to hang shows that it
	// can answer: a ticket may not be sent as to a printer that never does.
	for can, want := range proofs {
		if can&virtual.RealTime == 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			v := virtual.New(virtual.Options{Can: can, Kanji: true})
			r := newHarness(t, v, v, nil)
			sendHalfAnImage(t, v)
			time.AfterFunc(300*time.Millisecond, v.Stall) // DLE EOT was answered, nothing else yet
			for range 3 {
				r.want("A1", "not ready")
				time.Sleep(time.Minute)
			}
			v.Repair()
			r.want("A1", want)
			if got := r.paper(); got != "A1" {
				t.Errorf("on paper %q", got)
			}
		})
	}
}
