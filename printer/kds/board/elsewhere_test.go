package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ticketrail/queue/kv/kvtest"
)

func TestACopyForPaperHasWhatIsDoneAndWhatIsVoid(t *testing.T) {
	b := open(t, kvtest.New())
	put(t, b, of18(1, "3 Fish", "1 Pie"))
	if err := b.MarkShown(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	do(t, b, press(b, ItemDone, 1, 0))
	put(t, b, void18(2, "1 Fish"))
	for _, c := range b.RescueCards(true) {
		if c.Job != 1 {
			continue
		}
		var got []string
		for _, l := range c.Ticket.Lines {
			got = append(got, fmt.Sprint(l.Quantity, l.Name, l.Void, slices.Contains(l.Notes, "done on the screen")))
		}
		if text := strings.Join(got, " "); text != "2Fishfalse true 1Fishtrue true 1Piefalse false" {
			t.Error(text)
		}
	}
}

func TestAVoidThatIsLeftOnPaperStillStrikes(t *testing.T) {
	s := kvtest.New()
	b := open(t, s)
	put(t, b, of18(1, "1 Fish", "1 Pie"))
	if err := b.ComesOut(t.Context(), void18(2, "1 Fish"), "grill"); err != nil {
		t.Fatal(err)
	}
	do(t, b, press(b, Leave, 2, 0))
	want := "#18 [1 1Fish- 1Pie] left 1"
	wantOrders(t, b, want)
	b = open(t, s)
	wantOrders(t, b, want)
}
