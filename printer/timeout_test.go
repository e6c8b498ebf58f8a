package printer_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/virtual"
)

// printedOnce is a printer that has printed a ticket.
func printedOnce(t *testing.T) (*virtual.Printer, *printer.Paper) {
	t.Helper()
	v := virtual.New(virtual.Options{})
	p := paper(t, v, nil)
	if a := try(t, t.Context(), p, v, order(1), nil); a.err != nil {
		t.Fatal(a.err)
	}
	time.Sleep(time.Minute) // it has printed that, as estimated
	return v, p
}

func TestTheTimeoutGrowsWithTheTicket(t *testing.T) {
	patience := func(n int) time.Duration { return 30*time.Second + time.Duration(n)*8*time.Second/1024 }
	t.Run("AStalledPrinterIsGivenUpSoonerForAShortTicket", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, lines := range []int{1, 10} {
				d := order(lines)
				n := size(t, d) - padding()
				if n > 1024 {
					t.Fatalf("%d lines are %d bytes, more than a chunk", lines, n)
				}
				v, p := printedOnce(t)
				v.StallAfter(padding())
				if a := try(t, t.Context(), p, v, d, nil); a.took != patience(n) {
					t.Errorf("%d bytes were given up after %s, want %s", n, a.took, patience(n))
				}
			}
		})
	})
	t.Run("APrinterThatStopsIsNotGivenALongTicketsWholeTime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := order(1000)
			v, p := printedOnce(t)
			v.StallAfter(padding() + 5000)
			if a := try(t, t.Context(), p, v, d, nil); a.took != patience(1024) {
				t.Errorf("given up after %s, want %s", a.took, patience(1024))
			}
		})
	})
	t.Run("AThousandLinesAtALineASecondComeOut", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := virtual.New(virtual.Options{})
			v.Delay(time.Second)
			slow := func(o *printer.Options) { o.Profile.LinesPerSecond = 1 }
			if a := try(t, t.Context(), paper(t, v, slow), v, order(1000), nil); a.err != nil ||
				a.took < 10*time.Minute {
				t.Errorf("after %s: %v", a.took, a.err)
			}
			if err := v.Wait(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("APrinterThatOnlyTricklesIsGivenUpInTheEnd", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := order(300)
			n := size(t, d) - padding()
			v, p := printedOnce(t)
			v.Delay(700 * time.Millisecond)
			a := try(t, t.Context(), p, v, d, nil)
			if !errors.Is(a.err, os.ErrDeadlineExceeded) || a.took != patience(n) {
				t.Errorf("after %s: %v, want a time-out after %s", a.took, a.err, patience(n))
			}
			if err := v.Wait(t.Context(), 2); err != nil { // what it has taken, it prints
				t.Error(err)
			}
		})
	})
}

func TestPrintEndsAtOnceWhenItsContextIsCancelled(t *testing.T) {
	stop := errors.New("the daemon stops")
	for _, tt := range []struct {
		name   string
		breaks func(v *virtual.Printer)
		taken  int64
	}{
		{"BeforeTheFirstByte", func(v *virtual.Printer) { v.Stall() }, 0},
		{"MidTicket", func(v *virtual.Printer) { v.StallAfter(padding() + 300) }, int64(padding()) + 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := virtual.New(virtual.Options{})
				tt.breaks(v)
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					time.Sleep(time.Second)
					cancel(stop)
				}()
				a := try(t, ctx, paper(t, v, nil), v, order(40), nil)
				if !a.begun || !errors.Is(a.err, stop) || a.took != time.Second {
					t.Errorf("begun %v, %v, after %s; want the cause after 1s", a.begun, a.err, a.took)
				}
				synctest.Wait()
				if v.BytesRead() != tt.taken {
					t.Errorf("%d bytes taken, want %d", v.BytesRead(), tt.taken)
				}
			})
		})
	}
}
