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
