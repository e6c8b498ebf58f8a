package station

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

func TestAReloadWithOtherWordsChangesWhatIsAnAlarm(t *testing.T) {
	conf := configOfEveryKind()
	out := filepath.Join(t.TempDir(), "out.bin")
	conf.Printers[0].Address, conf.Printers[0].Profile = "file://"+out, "epson-tm-u220"
	s, _ := openSet(t, conf)
	for _, words := range [][]string{{"nuts"}, {"fish"}, {}} {
		next := *conf
		next.Ticket.Alarms = words
		built, err := s.Build(&next)
		assert.NoError(t, err)
		s.Swap(built)
		d := ticket.Delivery{Ticket: ticket.Ticket{Lines: []ticket.Line{{Quantity: "1", Name: "Fish"}}}}
		begin := func(context.Context) error { return nil }
		_, err = built.stations["grill"].(*paper).Print(t.Context(), d, begin)
		assert.NoError(t, err)
		look, err := LayoutOptions(&next, nil, "grill")
		assert.NoError(t, err)
		printed, err := os.ReadFile(out)
		assert.NoError(t, err)
		assert.NoError(t, os.Remove(out))
		want := slices.Contains(words, "fish") // this model cannot print white on black
		assert.Equal(t, bytes.Contains(printed, []byte("****")), want, words, printed)
		preview := layout.Plain(layout.ComposeWith(d, look), 33)
		assert.Equal(t, strings.Contains(preview, "****"), want, words, preview)
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
	assert.NoError(t, err)
	assert.True(t, built.stations["grill"] != one.stations["grill"],
		"the printer is the same although there is a second venue to tell apart")
	for _, c := range []*config.Config{conf, two} {
		o, err := LayoutOptions(c, nil, "grill")
		assert.NoError(t, err)
		got, want := slices.Contains(o.Header, "venue"), c == two
		assert.True(t, got == want && len(o.Header) >= 9, len(c.Venues), o.Header)
	}
	assert.True(t, slices.Equal(conf.Printers[0].Layout.Header, layout.HeaderFields()),
		"the configuration was changed", conf.Printers[0].Layout.Header)
}

func TestEveryKeyOfTheLayoutReachesTheTicket(t *testing.T) {
	conf := configOfEveryKind()
	conf.Printers[0].Layout.AlsoAt = false
	conf.Printers[0].Layout.Options = layout.Options{
		NameSize: layout.Size{Width: 1, Height: 1}, ModifierSize: layout.Size{Width: 1, Height: 2},
		NumberSize: layout.Size{Width: 2, Height: 1}, TableSize: layout.Size{Width: 2, Height: 2},
		Header: []string{"table"}, UpperCase: true, BlankLines: 1, TopMargin: 6,
	}
	o, err := LayoutOptions(conf, nil, "grill")
	assert.NoError(t, err)
	o.Printable, o.Alarms = nil, nil
	want := layout.Options{
		Columns: 48, Printer: "grill", NameSize: layout.Size{Width: 1, Height: 1},
		ModifierSize: layout.Size{Width: 1, Height: 2}, NumberSize: layout.Size{Width: 2, Height: 1},
		TableSize: layout.Size{Width: 2, Height: 2}, MaxSize: 8, Header: []string{"table"}, UpperCase: true,
		BlankLines: 1, TopMargin: 6, NoAlsoAt: true,
	}
	diff := cmp.Diff(want, o)
	assert.True(t, diff == "", diff)
}

const (
	grillMAC = "00:26:ab:12:34:56"
	otherMAC = "00:26:ab:00:00:01"
)
