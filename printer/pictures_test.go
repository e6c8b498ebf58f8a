package printer_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

var update = flag.Bool("update", false, "write the golden files anew; then look at them")

// A menu is an order in one script.
type menu struct {
	Script                              string
	Venue, Table, Server, Kind, Course  string
	Dish, Modifier, Note, Long, Dropped string
	Font                                string // the font file, if the built-in font lacks the script
	Sum                                 string // the first digits of its hash: another version draws other dots
	QR                                  bool
}

func menus(t *testing.T) (all []menu) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "menus.json"))
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	assert.NoError(t, err)
	return all
}

// order is an item with a modifier, a long one, and a void one; each call makes a new value.
func (m menu) order() ticket.Delivery {
	return ticket.Delivery{Job: 7, Station: "grill", Attempt: 1, Ticket: ticket.Ticket{
		Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a", VenueName: m.Venue, Number: "18", Table: "Table " + m.Table,
		Server: m.Server, Type: m.Kind, Course: m.Course, Guests: "4", Refire: true,
		Received: time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC), Zone: "Europe/Lisbon",
		Lines: []ticket.Line{
			{Quantity: "2", Name: m.Dish, Refire: true, Notes: []string{m.Note}},
			{Depth: 1, Quantity: "1", Name: m.Modifier, Refire: true},
			{Quantity: "1", Name: m.Long, Refire: true},
			{Quantity: "3", Name: m.Dropped, Void: true, Refire: true},
		},
	}}
}

// drawer has the built-in font only and, if the printer prints images, the script's font. That file must be the
// one with which the pictures were made.
func (m menu) drawer(t *testing.T, model profile.Profile) *raster.Drawer {
	t.Helper()
	var fonts []string
	if m.Font != "" && model.Raster != profile.NoRaster {
		slow.Test(t, m.Font)
		b, err := os.ReadFile(m.Font)
		assert.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256(b))[:8], m.Sum, m.Font, "of the version of the pictures")
		fonts = []string{m.Font}
	}
	d, err := raster.New(fonts...)
	assert.NoError(t, err)
	return d
}

func TestTicketsInEveryScriptMatchTheirReviewedPictures(t *testing.T) {
	for _, m := range menus(t) {
		classes := []string{"generic-80mm", "epson-tm-t88", "generic-58mm", "epson-tm-u220"}
		switch m.Script {
		case "simplified", "traditional":
			classes = append(classes, "xprinter-80mm") // has them as built-in characters
		case "arabic-noto":
			classes = classes[:3] // without dots a font changes nothing
		}
		for _, class := range classes {
			name := m.Script + "-" + class
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				model, ok := profile.Lookup(class)
				assert.True(t, ok, class)
				drawer := m.drawer(t, model)
				synctest.Test(t, func(t *testing.T) {
					file := filepath.Join("testdata", "pictures", name+".png")
					assert.Picture(t, file, m.print(t, model, drawer), *update)
				})
			})
		}
	}
}

// print returns the picture of the ticket as a printer of the model prints it.
func (m menu) print(t *testing.T, model profile.Profile, drawer *raster.Drawer) *image.Paletted {
	t.Helper()
	v := virtual.New(virtual.OptionsFor(model))
	r := newHarness(t, v, v, func(_ *printer.DeviceOptions, o *printer.Options) {
		o.Profile, o.Drawer = model, drawer
		o.Layout = layout.Options{QR: m.QR, Alarms: layout.NewAlarms(config.Default().Ticket.Alarms)}
	})
	assert.NoError(t, r.printWith(t.Context(), r.p, m.order(), nil).err)
	r.d.Retire() // without a cutter, the ticket ends here
	synctest.Wait()
	assert.Equal(t, strings.Join(v.Problems(), "\n"), "")
	assert.Equal(t, v.TicketCount(), 1)
	return v.Tickets()[0].Picture()
}

func TestATicketOfLabelsIsCutIntoThemAndProvedOnce(t *testing.T) {
	withHarness(t, virtual.OptionsFor(eightyMillimetres), func(_ *printer.DeviceOptions, o *printer.Options) {
		o.Layout.Cut = layout.ByItem
	}, func(r *harness) {
		assert.Equal(t, r.wantFrom(r.p, menus(t)[0].order(), "confirmed").began, 1)
		assert.Equal(t, r.v.TicketCount(), 3)
		for i, l := range r.v.Tickets() {
			assert.Contains(t, l.Text, fmt.Sprintf("%d/3", i+1))
			assert.Equal(t, l.End, virtual.Cut)
		}
	})
}
