package escpos

import (
	"bytes"
	"flag"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/queue/ticket"
)

var update = flag.Bool("update", false, "write the golden files anew")

func model(t testing.TB, name string) profile.Profile {
	t.Helper()
	p, ok := profile.Lookup(name)
	assert.True(t, ok, name)
	return p
}

// drawer has only the built-in font, so that it draws the same on every machine.
func drawer(t testing.TB) *raster.Drawer {
	t.Helper()
	d, err := raster.New()
	assert.NoError(t, err)
	return d
}

func delivery() ticket.Delivery {
	return ticket.Delivery{Job: 17, Station: "grill", Attempt: 1, Doubt: true, Ticket: ticket.Ticket{
		Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a", Number: "18", Table: "B10", Server: "Žofie",
		Received: time.Date(2026, 2, 6, 10, 49, 48, 0, time.UTC), Zone: "Europe/Prague",
		Notes: []string{"“no nuts” – severe allergy…"},
		Lines: []ticket.Line{
			{Quantity: "2", Name: "Crème brûlée 5€"},
			{Quantity: "1", Name: "宫保鸡丁 \U0001f336\ufe0f", Notes: []string{"2⅓ cups, 10⁴ scoville"}},
			{Depth: 1, Quantity: "1", Name: "Борщ"},
			{Quantity: "1", Name: "Phở bò", Void: true},
			{Quantity: "1", Name: "שווארמה / شاورما"},
			{Quantity: "1", Name: "Evil\x1b@\x1dV\x00 pie\u202e"},
		},
	}}
}

func compose(d ticket.Delivery, columns int, o Options) []layout.Line {
	return layout.ComposeWith(d, layout.Options{
		Columns: columns, Printer: d.Station, Printable: func(s string) string { return Printable(s, o) },
		Framed: !o.Profile.Invert,
	})
}

// encode returns a whole ticket without images, buzzer and automatic status.
func encode(lines []layout.Line, p profile.Profile) []byte {
	return whole(EncodeTicket(lines, Options{Profile: p}))
}

// printable is Printable for a printer that prints no images.
func printable(s string, p profile.Profile) string { return Printable(s, Options{Profile: p}) }

func whole(t Encoded) []byte { return append(bytes.Clone(t.Body), t.Cut...) }

func golden(t *testing.T, file string, o Options) {
	t.Helper()
	lines := compose(delivery(), o.Profile.Columns, o)
	lines = append(lines, layout.Line{QR: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a",
		Spans: []layout.Span{{Text: "0d9e1c52"}}})
	b := whole(EncodeTicket(lines, o))
	r, err := read(b, o.Profile)
	assert.NoError(t, err)
	// A line of print on a line of text, and a dot for each dot of an image.
	for _, image := range r.Images {
		b = bytes.Replace(b, image.Bits, []byte("."), 1)
	}
	got := ""
	for line := range strings.SplitAfterSeq(string(b), "\n") {
		got += strconv.QuoteToASCII(line) + "\n"
	}
	assert.Golden(t, filepath.Join("testdata", file+".txt"), got, *update)
}

func TestStreamsMatchTheGoldenFiles(t *testing.T) {
	for _, p := range profile.All() {
		t.Run(p.Name, func(t *testing.T) { golden(t, p.Name, Options{Profile: p}) })
		t.Run(p.Name+"-drawn", func(t *testing.T) {
			golden(t, p.Name+"-drawn", Options{Profile: p, Drawer: drawer(t), Buzz: 2, VoidSound: true, ASB: true})
		})
	}
}

// measure prints l alone and compares the result with the measure of layout.
func measure(t assert.T, l layout.Line, o Options) {
	p := o.Profile
	paper := p
	paper.Columns = l.Width()
	// The second line says that there is a first, also if that is blank.
	r, err := read(EncodeTicket([]layout.Line{l, {Spans: []layout.Span{{Text: "."}}}}, o).Body, paper)
	assert.NoError(t, err)
	if len(r.Images) == 0 {
		assert.Equal(t, len(r.lines), 2, p.Name, l)
		printed := r.lines[0]
		assert.True(t, printed.columns == l.Width() && printed.height == min(l.Height(), p.Sizing.Max()), l, printed)
		return
	}
	wide, rows := 0, 0
	for _, b := range r.Images {
		wide, rows = max(wide, b.Width/8), rows+b.Height
	}
	cell := p.Dots / max(p.Columns, l.Width())
	assert.Equal(t, len(r.lines), 1, p.Name, l)
	assert.True(t, wide <= max((l.Width()*cell+7)/8, 1), p.Name, l, wide)
	assert.True(t, rows >= minLineRows && rows <= minLineRows*8, p.Name, l, rows)
}

func TestTheCutMatchesTheModel(t *testing.T) {
	for _, c := range []struct {
		cutter    profile.Cutter
		feed      int
		body, cut string
	}{
		{profile.NoCutter, 6, "\n\x1bd\x06", ""}, {profile.PartialCut, 4, "\n\x1bd\x04", "\x1dVB\x00"},
		{profile.FullCut, 0, "\n", "\x1dVA\x00"},
	} {
		p := model(t, "generic-80mm")
		p.Cutter, p.FeedBeforeCut = c.cutter, c.feed
		got := EncodeTicket([]layout.Line{{Cut: true}, {}}, Options{Profile: p})
		assert.True(t, bytes.HasSuffix(got.Body, []byte(c.body+c.cut+c.body)), c.cutter, got.Body)
		assert.Equal(t, string(got.Cut), c.cut)
		_ = append(got.Body, "more"...) // it does not write over Cut
		assert.Equal(t, string(got.Cut), c.cut)
	}
}

func TestTheBuzzerSoundsAsConfiguredAndDifferentlyForAVoid(t *testing.T) {
	p := model(t, "generic-80mm")
	for _, c := range []struct {
		buzzer profile.Buzzer
		times  int
		void   bool
		want   string
	}{
		{profile.NoBuzzer, 3, false, ""},
		{profile.EscB, 0, false, ""},
		{profile.EscB, -1, true, ""},
		{profile.EscB, 3, false, "\x1bB\x03\x02"},
		{profile.EscB, 3, true, "\x1bB\x03\x08"},
		{profile.EscB, 1000, false, "\x1bB\x09\x02"},
		{profile.EscParenA, 3, false, "\x1b(A\x03\x00a\x01\x03"},
		{profile.EscParenA, 2, true, "\x1b(A\x03\x00a\x05\x02"},
		{profile.DrawerPort, 2, false, "\x1bp\x00\x32\x64\x1bp\x00\x32\x64"},
		{profile.DrawerPort, 1, true, "\x1bp\x00\x78\xc8"},
	} {
		p.Buzzer = c.buzzer
		lines := []layout.Line{{Spans: []layout.Span{{Text: "x"}}}}
		r, err := read(EncodeTicket(lines, Options{Profile: p, Buzz: c.times, VoidSound: c.void}).Body, p)
		assert.NoError(t, err)
		got := ""
		for _, b := range r.Buzzes {
			got += string(b.Command)
		}
		assert.Equal(t, got, c.want, c.buzzer, c.times, c.void)
	}
}
