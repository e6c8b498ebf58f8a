package layout

import (
	"strings"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func TestWhatMayBeCancelledIsAskedInTheStyleOfAVoid(t *testing.T) {
	d := everyday()
	d.Ticket.MayCancel, d.Ticket.Lines[0].MayCancel = "flow: CANCELLED", "step: VOIDED"
	lines := ComposeWith(d, Options{Columns: 42})
	for _, question := range []string{"** cancelled? flow: CANCELLED **", "** cancelled? step: VOIDED **"} {
		st := sizeOf(t, lines, question)
		wantTrue(t, st.Invert && st.Red, question, st)
	}
	got := Plain(lines, 42)
	wantTrue(t, !strings.Contains(got, "VOID **  "), got)
}

func TestTheTimeThatIsPromisedPrintsInTheVenuesZone(t *testing.T) {
	received := time.Date(2026, 2, 6, 8, 0, 0, 0, time.UTC)
	for promised, want := range map[string]string{
		"2026-02-06T08:30:00Z": "Wanted 19:30", "2026-02-06T19:30:00+11:00": "Wanted 19:30",
		"2026-02-06T08:30:00.000+0000": "Wanted 19:30",
		"2026-02-07T00:30:00Z":         "Wanted Sat 7 Feb 11:30", "half past\nseven": "Wanted half past seven", "": "",
	} {
		tk := ticket.Ticket{Promised: promised, Zone: "Australia/Melbourne", Received: received}
		wantEqual(t, Wanted(&tk), want, promised)
	}
}
