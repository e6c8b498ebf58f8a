package station

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

func TestEachHeaderFieldOfTheConfigurationPrints(t *testing.T) {
	d := ticket.Delivery{Ticket: ticket.Ticket{
		VenueName: "Harbour Grill", Number: "18", Table: "B10", Type: "Dine In", Received: time.Unix(1770374988, 0),
		Server: "Ana", Guests: "4", Destination: "GRILL-1", Course: "Mains",
	}}
	none := len(layout.ComposeWith(d, layout.Options{Columns: 42, Header: []string{}}))
	for _, f := range config.HeaderFields() {
		// it and the rule below it
		if n := len(layout.ComposeWith(d, layout.Options{Columns: 42, Header: []string{f}})); n != none+2 {
			t.Errorf("%s takes %d lines of %d", f, n-none, n)
		}
	}
}

func TestAReloadWithOtherWordsChangesWhatIsAnAlarm(t *testing.T) {
	conf := configOfEveryKind()
	out := filepath.Join(t.TempDir(), "out.bin")
	conf.Printers[0].Address, conf.Printers[0].Profile = "file://"+out, "epson-tm-u220"
	s, _ := openSet(t, conf)
	for _, words := range [][]string{{"nuts"}, {"fish"}, {}} {
		next := *conf
		next.Ticket.Alarms = words
		built, err := s.Build(&next)
		if err != nil {
			t.Fatal(err)
		}
		s.Swap(built)
		d := ticket.Delivery{Ticket: ticket.Ticket{Lines: []ticket.Line{{Quantity: "1", Name: "Fish"}}}}
		begin := func(context.Context) error { return nil }
		if _, err := built.stations["grill"].(*paper).Print(t.Context(), d, begin); err != nil {
			t.Fatal(err)
		}
		look, err := LayoutOptions(&next, "grill")
		if err != nil {
			t.Fatal(err)
		}
		printed, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
		want := slices.Contains(words, "fish") // this model cannot print white on black
		if got := bytes.Contains(printed, []byte("!!!!")); got != want {
			t.Errorf("with %q it prints %q", words, printed)
		}
		preview := layout.Plain(layout.ComposeWith(d, look), 33)
		if got := strings.Contains(preview, "!!!!"); got != want {
			t.Errorf("with %q the preview is\n%s", words, preview)
		}
	}
}
