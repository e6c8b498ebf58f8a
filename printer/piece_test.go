package printer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"ticketrail/printer"
	"ticketrail/queue/ticket"
)

func TestOnlyTheFirstCopyDirectlyBelowAPieceSaysToIgnoreIt(t *testing.T) {
	twoCopies := func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 }
	for name, c := range map[string]struct {
		between, untouched, doubt bool
		want                      int
	}{
		"the copies follow their piece":     {doubt: true, want: 1},
		"another order came in between":     {between: true, doubt: true},
		"another order was not begun":       {untouched: true, doubt: true, want: 1},
		"there is no doubt about the first": {},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, answersAll(), twoCopies, func(r *harness) {
				r.want("A1", "confirmed")
				hangUp(r.d)
				long := orderOfLines(200)
				long.Job = 2
				if c.doubt {
					r.v.ResetAfter(3000, 1)
				}
				if o := r.printWith(r.t.Context(), r.p, long, nil); o.inDoubt != c.doubt {
					t.Errorf("%s, %v", o.kind(), o.err)
				}
				if c.between {
					r.want("A3", "confirmed")
				}
				if c.untouched {
					_, err := r.p.Print(r.t.Context(), orderOf("A3"), func(context.Context) error {
						r.v.Reset()
						return nil
					})
					if !ticket.IsUntouched(err) {
						t.Error(err)
					}
				}
				long.Doubt = c.doubt
				if o := r.printWith(r.t.Context(), r.p, long, nil); o.kind() != "confirmed" {
					t.Errorf("%s, %v", o.kind(), o.err)
				}
				synctest.Wait()
				var all strings.Builder
				for _, x := range r.v.Tickets() {
					all.WriteString(x.Text)
				}
				if got := strings.Count(all.String(), "IGNORE THE PIECE ABOVE"); got != c.want {
					t.Errorf("IGNORE THE PIECE ABOVE is printed %d times, want %d, in\n%s", got, c.want, all.String())
				}
			})
		})
	}
}
