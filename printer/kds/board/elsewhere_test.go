package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/queuetest"
)

func TestAChangedTicketThatGoesToPaperReplacesTheCard(t *testing.T) {
	b := open(t, queuetest.NewStore())
	put(t, b, of18(1, "1 Fish"))
	if err := b.ComesOut(t.Context(), changed18(1, 2, "1 Pie"), "grill"); err != nil {
		t.Fatal(err)
	}
	if state, _ := b.State(1); state != Replaced {
		t.Errorf("the card is %s", state)
	}
}

func TestARescueCopySaysWhichItemsWereDoneAndWhatTheCardSaid(t *testing.T) {
	b := open(t, queuetest.NewStore())
	d := order(1, "Burger", "Chips", "Cake")
	// it was on another screen before
	d.Ticket.Notes, d.Ticket.Lines[1].Notes = []string{"nuts", RescueNote}, []string{"crisp"}
	d.Doubt, d.Reprint = true, true
	put(t, b, d, order(2, "Soup"))
	if c := b.RescueCards(true); c[0].Ticket != nil {
		t.Errorf("no page ever said that it holds it: %+v", c[0])
	}
	for _, item := range []int{1, 2} {
		wantOutcome(t, b, press(b, ItemDone, 1, item), Done)
	}
	all := b.RescueCards(true)
	if len(all) != 2 || all[0].Job != 1 || all[0].Ticket == nil || !all[0].Reprint || all[1].Ticket != nil {
		t.Fatalf("%+v", all)
	}
	c := all[0].Ticket
	got := [][]string{c.Notes, c.Lines[0].Notes, c.Lines[1].Notes, c.Lines[2].Notes}
	want := [][]string{{RescueNote, "POSSIBLE DUPLICATE", "nuts"}, nil, {"done on the screen", "crisp"},
		{"done on the screen"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if again := b.RescueCards(true)[0].Ticket; len(again.Notes) != 3 {
		t.Errorf("the card itself has changed: %q", again.Notes)
	}
}
func TestPaperMarksOfAnOlderVersionAreRead(t *testing.T) {
	s := queuetest.NewStore()
	b := open(t, s)
	put(t, b, order(1, "Burger"), order(2, "Soup"))
	for _, job := range []uint64{1, 2} {
		if err := b.MarkShown(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	for job, add := range map[uint64]string{1: `"shown":true,"paper":"grill","paper_at":5,"paper_tries":1`,
		2: `"shown":true,"paper_tries":2`} {
		key := fmt.Sprintf("card/%020d", job)
		s.Set(key, strings.Replace(s.Value(key), `"shown":true`, add, 1))
	}
	all := open(t, s).RescueCards(true)
	if len(all) != 1 || all[0].Job != 2 || !slices.Contains(all[0].Ticket.Notes, "POSSIBLE DUPLICATE") {
		t.Errorf("%+v", all)
	}
}
