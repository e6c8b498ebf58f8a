package printer_test

import (
	"strings"
	"testing"
	"testing/synctest"
)

func TestACopySaysToIgnoreThePieceAboveOnlyIfNothingPrintedInBetween(t *testing.T) {
	for name, c := range map[string]struct {
		between, doubt, want bool
	}{
		"the copy follows its piece":       {doubt: true, want: true},
		"another order came in between":    {between: true, doubt: true},
		"it is no copy, for nothing broke": {},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, answersAll(), nil, func(r *harness) {
				r.want("A1", "confirmed")
				r.d.Release()
				long := orderOfLines(200)
				long.Job = 2
				if c.doubt {
					r.v.ResetAfter(3000, 1)
					if o := r.printWith(r.t.Context(), r.p, long, nil); o.kind() != "doubt" {
						t.Errorf("%s, %v", o.kind(), o.err)
					}
				}
				if c.between {
					r.want("A3", "confirmed")
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
				if got := strings.Contains(all.String(), "IGNORE THE PIECE ABOVE"); got != c.want {
					t.Errorf("IGNORE THE PIECE ABOVE is printed: %v, want %v, in\n%s", got, c.want, all.String())
				}
			})
		})
	}
}
