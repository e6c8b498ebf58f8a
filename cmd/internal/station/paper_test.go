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

	"github.com/google/go-cmp/cmp"

	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

func TestEachHeaderFieldOfTheConfigurationPrints(t *testing.T) {
	d := ticket.Delivery{Ticket: ticket.Ticket{
		VenueName: "Harbour Grill", Number: "18", Table: "B10", Type: "Dine In", Received: time.Unix(1770374988, 0),
		Server: "Ana", Guests: "4", Destination: "GRILL-1", Course: "Mains", Customer: "Priya", Promised: "19:30",
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

func TestTheVenuePrintsOnlyIfThereAreSeveral(t *testing.T) {
	conf := configOfEveryKind()
	conf.Venues = []config.Venue{{Name: "Harbour Grill"}}
	s, _ := openSet(t, conf)
	one := s.active.Load()
	two := configOfEveryKind()
	two.Venues = []config.Venue{{Name: "Harbour Grill"}, {Name: "Beach Bar"}}
	built, err := s.Build(two)
	if err != nil {
		t.Fatal(err)
	}
	if built.stations["grill"] == one.stations["grill"] {
		t.Error("the printer is the same although there is a second venue to tell apart")
	}
	for _, c := range []*config.Config{conf, two} {
		o, err := LayoutOptions(c, "grill")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := slices.Contains(o.Header, "venue"), c == two; got != want || len(o.Header) < 9 {
			t.Errorf("%d venues: the header is %q", len(c.Venues), o.Header)
		}
	}
	if !slices.Equal(conf.Printers[0].Layout.Header, config.HeaderFields()) {
		t.Errorf("the configuration was changed: %q", conf.Printers[0].Layout.Header)
	}
}

func TestEveryKeyOfTheLayoutReachesTheTicket(t *testing.T) {
	conf := configOfEveryKind()
	conf.Printers[0].Layout = config.Layout{
		NameSize: config.Scale{Width: 1, Height: 1}, ModifierSize: config.Scale{Width: 1, Height: 2},
		NumberSize: config.Scale{Width: 2, Height: 1}, TableSize: config.Scale{Width: 2, Height: 2},
		Header: []string{"table"}, UpperCase: true, BlankLines: 1, TopMargin: 6,
	}
	o, err := LayoutOptions(conf, "grill")
	if err != nil {
		t.Fatal(err)
	}
	o.Printable, o.Alarms = nil, nil
	want := layout.Options{
		Columns: 48, Printer: "grill", NameSize: layout.Size{Width: 1, Height: 1},
		ModifierSize: layout.Size{Width: 1, Height: 2}, NumberSize: layout.Size{Width: 2, Height: 1},
		TableSize: layout.Size{Width: 2, Height: 2}, MaxSize: 8, Header: []string{"table"}, UpperCase: true,
		BlankLines: 1, TopMargin: 6, NoAlsoAt: true,
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Error(diff)
	}
}

func TestAMACAddressBelongsToOnePrinter(t *testing.T) {
	var conf config.Config
	for i, c := range []struct {
		address string
		mac     config.MAC
	}{
		{"tcp://10.0.9.1", grillMAC}, {"tcp://10.0.9.1:9101", grillMAC}, // a print server with two ports
		{"tcp://10.0.9.2", grillMAC}, {"tcp://10.0.9.3", otherMAC}, {"tcp://10.0.9.3", ""}, {"usb://", otherMAC},
		{"tcp://10.0.9.4", ""}, {"tcp://10.0.9.5", ""},
	} {
		p := config.DefaultPrinter()
		p.Name, p.Address, p.MAC = string(rune('a'+i)), c.address, c.mac
		conf.Printers = append(conf.Printers, p)
	}
	var got []string
	for _, p := range paperProblems(&conf) {
		if strings.HasSuffix(p.Path, ".mac") {
			got = append(got, p.Path+": "+p.Msg)
		}
	}
	want := []string{
		"printers[2].mac: 00:26:ab:12:34:56 is also that of printers[0], which has another address; " +
			"every printer has a MAC address of its own",
		"printers[5].mac: is only for a printer on the network (tcp://); remove it",
		"printers[4].mac: is none, and 00:26:ab:00:00:01 in printers[3], which is the same printer; " +
			"set the same value in both",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const (
	grillMAC = "00:26:ab:12:34:56"
	otherMAC = "00:26:ab:00:00:01"
)
