package escpos

import (
	"bytes"
	"flag"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/queue/ticket"
)

// init makes rapid draw the same values on every machine. -rapid.seed=0 draws other ones at each run.
func init() { flag.Set("rapid.seed", "1") }

func TestLettersAModelLacksAreReplaced(t *testing.T) {
	full := model(t, "generic-80mm")
	bare := full
	bare.CodePages = []profile.CodePage{{Number: 0, Name: "CP437"}}
	russian := full
	russian.CodePages = []profile.CodePage{{Number: 46, Name: "WPC1251"}}
	none := full
	none.CodePages = []profile.CodePage{{Number: 99, Name: "KLINGON"}}
	for _, c := range []struct {
		p        profile.Profile
		in, want string
	}{
		{full, "Crème brûlée 12 €, ½", "Crème brûlée 12 €, ½"},
		{full, "cafe\u0301", "café"},
		{full, "Žižkov Борщ", "Žižkov Борщ"},
		{full, "Phở bò", "Pho bò"},
		{full, "Μουσακάς με π", "~Mousakas me~ π"}, // CP437 has only σ, α and π
		{full, "«Αυλή» 3, 5 Ω", "«~Aule~» 3, 5 Ω"},
		{full, "π and Σά", "π and ~Sa~"},
		{full, "хліб, ґречка, їжа", "хлiб, гречка, їжа"},
		{full, "ћевапчићи и хлеб", "~tshevapchitshi~ и хлеб"},
		{bare, "хліб", "~khlib~"},
		{full, "宫保鸡丁", "~Gong Bao Ji Ding~"},
		{full, "2x 宫保 鸡丁, extra", "2x ~Gong Bao Ji Ding~, extra"},
		{full, "すし", "~sushi~"},
		{full, "ラーメン、チャーシュー", "~ra-men~, ~chiya-shiyu-~"},
		{full, "ナッツ「ギョーザ」と味", "~natsutsu~[~giyo-za~] ~to Wei~"},
		{full, "ｶﾞﾘ多め", "~gari Duo me~"},
		{full, "5 ₪", "5 NS"},
		{full, "👩🏽", "[woman]"},
		{full, "김치", "~gimci~"},
		{full, "ผัดไทย", "~phadaithy~"},
		{full, "שווארמה", "~SHvvArmh~"},
		{full, "شاورما حارة", "~shawrma Harah~"},
		{full, "\U00013000", "[egyptian hieroglyph a001]"},
		{full, "hot \U0001f336\ufe0f", "hot [hot pepper]"},
		{full, "1\ufe0f\u20e3", "[1]"},
		{full, "٣x", "3x"},
		{full, "2⅓ cups", "2 1/3 cups"},
		{full, "2⅓5", "2 1/3 5"},
		{full, "إء ة ليلى", "~a' ah lyla~"},
		{full, "10⁴", "10(4)"},
		{full, "①", "(1)"},
		{full, "250㎖", "250ml"},
		{full, "a\u00a0b\u202fc\u2003d", "a b c d"},
		{full, "\U0001f1ee\U0001f1f9\U0001f1eb", "[flag it][f]"},
		{full, "broken \xff", "broken ■"},
		{full, "?", "?"},
		{bare, "5€ “no” – it’s…", `5EUR "no" - it's...`},
		{russian, "Борщ 5 €", "Борщ 5 EUR"}, // old firmware has no euro sign on this page
		{bare, "Škoda Ølfrokost", "Skoda Olfrokost"},
		{bare, "Борщ и хлеб", "~Borshch i khleb~"},
		{none, "Crème brûlée ½", "Creme brulee 1/2"},
		{none, "\x1b@", "[U+FFFD]@"},
	} {
		got := printable(c.in, c.p)
		assert.Equal(t, got, c.want, c.in)
		assert.Equal(t, printable(got, c.p), got)
	}
}

func TestWithImagesEverythingAFontHasStays(t *testing.T) {
	o := Options{Profile: model(t, "generic-80mm"), Drawer: drawer(t)}
	for _, c := range []struct {
		in, want string
		drawn    bool
	}{
		{"Crème brûlée 12 €, ½", "Crème brûlée 12 €, ½", false},
		{"cafe\u0301", "café", false},
		{"5€ “no” ‒ it’s…", "5€ “no” - it’s…", false}, // WPC1252 has the others
		{"2⅓ cups, ½", "2 1/3 cups, ½", false},        // CP437 has a half
		{"⅓⅔5 宫", "1/3 2/3 5 宫", true},
		{"10⁴", "10⁴", true},
		{"𝓟𝟚 宫", "P2 宫", true},
		{"宫 \xff", "宫 ■", true},
		{"Phở bò", "Phở bò", true},
		{"宫保鸡丁", "宫保鸡丁", true},
		{"すし 김치", "すし 김치", true},
		{"שלום", "שלום", true},
		{"شاورما", "~shawrma~", false}, // and no Arabic, which must be joined
		{"x\u0301y", "x\u0301y", true}, // nothing composes this
		{"hot \U0001f336\ufe0f", "hot [hot pepper]", false},
		{"ต้มยำ กุ้ง, 2 ที่", "~tmyam kung~, 2 ~thii~", false}, // the font has no Thai
		{"宫 पनीर", "宫 ~pniir~", true},
		{"┌╫┐ 宫", "┌+┐ 宫", true},
	} {
		got := Printable(c.in, o)
		if got != c.want && !(c.in[0] == "┌"[0] && strings.HasSuffix(got, " 宫")) { // depends on the font
			t.Errorf("Printable(%q) = %q, want %q", c.in, got, c.want)
		}
		assert.Equal(t, Printable(got, o), got)
		r, err := read(EncodeTicket([]layout.Line{{Spans: []layout.Span{{Text: got}}}}, o).Body, o.Profile)
		assert.True(t, err == nil && (len(r.Images) > 0) == c.drawn, got, len(r.Images) > 0, c.drawn, err)
	}
}

func TestEveryRuneIsPrintable(t *testing.T) {
	written, drawn := rune(13), rune(61) // one in so many
	if slow.All() {
		written, drawn = 1, 1
	}
	checkRunes(t, Options{Profile: model(t, "generic-80mm")}, written)
	checkRunes(t, Options{Profile: drawing(t), Drawer: drawer(t)}, drawn)
}

func TestEveryPageOfEveryProfileCanBeWritten(t *testing.T) {
	for _, p := range profile.All() {
		assert.Equal(t, len(pages(p)), len(p.CodePages), p.Name)
	}
	for _, name := range profile.PageNames() {
		assert.True(t, charmaps()[name] != nil, name)
	}
}

func TestTwoByteModeIsSwitchedOnAndOff(t *testing.T) {
	p := model(t, "xprinter-80mm")
	for in, want := range map[string]string{
		"a宫保é!": "a\x1c&\xb9\xac\xb1\xa3\x1c.\x82!\n",
		"宫":     "\x1c&\xb9\xac\x1c.\n",
		"宫 保":   "\x1c&\xb9\xac\x1c. \x1c&\xb1\xa3\x1c.\n",
	} {
		assert.Equal(t, printable(in, p), in)
		got := encode([]layout.Line{{Spans: []layout.Span{{Text: in}}}}, p)
		assert.True(t, bytes.Contains(got, []byte("\x1bt\x00"+want)), in, got, want)
		r, err := read(got, p)
		assert.True(t, err == nil && r.lines[0].text == in && r.lines[0].columns == layout.Width(in), r.lines, err)
	}
	chars := charsetOf(Options{Profile: p})
	for _, r := range "Жα①한" { // one column wide, or of four bytes, which not every ROM has
		assert.True(t, chars.twoByte.letter(r) == nil, r)
	}
}

// hostile is text that no service sends on purpose.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom(nil, unicode.Han, unicode.Hangul, unicode.Arabic, unicode.Hebrew, unicode.Thai,
			unicode.Devanagari, unicode.Cyrillic), 0, 12, -1),
		rapid.StringOfN(rapid.RuneFrom(nil, unicode.M, unicode.Cf, unicode.So, unicode.No), 0, 8, -1),
		rapid.SampledFrom([]string{"\x10\x04\x01", "\x10\x14\x02\x01\x08", "\x1b@", "\x1bp\x00\x19\xfa",
			"\x1dV\x00", "\x00", "\x1c&\xc4", "café 5€", "”", "] ", "\u0301", "\ufe0f\u0301", "\u200d", "\u20e3",
			"\xff", "~", "2⅓", "宫", "one\r\ntwo\u2028three\vfour", "\u202eevil\u2066x", " \t\u00a0\u3000 ",
			strings.Repeat("\u0300", 100), strings.Repeat("x", 300), strings.Repeat("寿", 60)}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "")
	})
}

func TestHostileTextPrintsAsItWasMeasured(t *testing.T) { rapid.Check(t, checkHostile(drawer(t))) }

func FuzzEncode(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkHostile(drawer(f)))) }

// checkHostile returns the property that any text on any model prints as it was measured, and that nothing else reaches
// the printer.
func checkHostile(d *raster.Drawer) func(*rapid.T) {
	all := profile.All()
	return func(t *rapid.T) {
		o := Options{Profile: all[rapid.IntRange(0, len(all)-1).Draw(t, "profile")], ASB: rapid.Bool().Draw(t, "asb"),
			Buzz: rapid.IntRange(-1, 20).Draw(t, "buzz"), VoidSound: rapid.Bool().Draw(t, "void")}
		if rapid.Bool().Draw(t, "drawer") {
			o.Drawer = d
		}
		a, b := hostile().Draw(t, "a"), hostile().Draw(t, "b")
		once := Printable(a, o)
		assert.Equal(t, Printable(once, o), once, o.Profile.Name, a)

		style := layout.Style{Bold: rapid.Bool().Draw(t, "bold"), Invert: rapid.Bool().Draw(t, "invert"),
			Red: rapid.Bool().Draw(t, "red"), Width: rapid.IntRange(-2, 13).Draw(t, "width"),
			Height: rapid.IntRange(-2, 13).Draw(t, "height")}
		lines := []layout.Line{
			{Spans: []layout.Span{{Text: a}, {Text: b, Style: style}, {Text: a, Style: style}}}, {},
			{QR: b, Spans: []layout.Span{{Text: b}}},
		}
		paper := o.Profile
		paper.Columns = 0
		r, err := read(whole(EncodeTicket(lines, o)), paper)
		assert.True(t, err == nil && r.longest <= len(Resync(o.Profile)), r.longest, err)

		// A whole ticket of it, as it goes out.
		columns := rapid.SampledFrom([]int{16, o.Profile.Columns}).Draw(t, "columns")
		lines = compose(deliveryOf(a, b), columns, o)
		for _, l := range lines[:min(len(lines), 12)] {
			measure(t, l, o)
		}
		_, err = read(whole(EncodeTicket(lines, o)), o.Profile)
		assert.NoError(t, err)
	}
}

// deliveryOf is a delivery with a or b in every text that comes from the service.
func deliveryOf(a, b string) ticket.Delivery {
	return ticket.Delivery{Job: 1, Station: a, For: b, Down: a, Attempt: 2, Doubt: true, Ticket: ticket.Ticket{
		Venue: a, VenueName: b, Device: a, Request: b, Record: a, Number: b, Table: a, Server: b, Type: a, Guests: b,
		Destination: a, Course: b, Customer: a, Promised: b, Notes: []string{a, b}, Zone: a, Raw: b,
		AlsoAt: []string{a}, Banners: []string{b}, MayCancel: a,
		Lines: []ticket.Line{
			{Quantity: a, Name: b, Notes: []string{a}, Seat: b, Course: a},
			{Depth: 1, Quantity: "1", Name: a, Void: true, MayCancel: b},
			{Depth: 40, Quantity: "2", Name: b, Raw: true, NoRoute: true, Refire: true},
		},
	}}
}

// drawing returns a model whose images are commands with a length.
func drawing(t *testing.T) profile.Profile {
	p := model(t, "xprinter-80mm")
	p.Raster = profile.Graphics
	return p
}

// checkRunes goes through Unicode in steps, in larger ones through the ideographs, which are all alike. Every result
// must be safe, stable, and take as many columns as measured.
func checkRunes(t *testing.T, o Options, step rune) {
	t.Helper()
	for r := rune(1); r <= unicode.MaxRune; r += step {
		if ideographs := r > 0x3400 && r < 0xd800 || r > 0x20000; ideographs && r/step%17 != 0 {
			continue
		}
		got := Printable("_"+string(r), o)[1:]
		lost := strings.Contains(got, "?") && !strings.Contains(norm.NFKD.String(string(r)), "?")
		assert.True(t, !lost, r, got)
		assert.Equal(t, Printable("_"+got, o)[1:], got, r)
		for _, text := range []string{got, string(r)} {
			l := layout.Line{Spans: []layout.Span{{Text: text}}}
			if text == got {
				measure(t, l, o)
				continue
			}
			if o.Drawer != nil {
				continue // the line is drawn, or printed as above
			}
			anyWidth := o.Profile // a line is measured as it prints, and this one was not
			anyWidth.Columns = 0
			_, err := read(EncodeTicket([]layout.Line{l}, o).Body, anyWidth)
			assert.NoError(t, err)
		}
	}
}
