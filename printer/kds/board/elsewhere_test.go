package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/queuetest"
)

func TestACopyForPaperHasWhatIsDoneAndWhatIsVoid(t *testing.T) {
	b := open(t, queuetest.NewStore())
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
	s := queuetest.NewStore()
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
