package layout

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func options() *rapid.Generator[Options] {
	fields := append(HeaderFields(), "no such field", "at {printer}, {server}")
	return rapid.Custom(func(t *rapid.T) Options {
		o := randomOptions(rapid.Uint64().Draw(t, "knobs"))
		o.Columns, o.Printer = rapid.IntRange(-1, 64).Draw(t, "columns"), "grill"
		o.BlankLines = rapid.IntRange(0, 5).Draw(t, "blank")
		if o.Header != nil {
			o.Header = rapid.SliceOfN(rapid.SampledFrom(fields), 0, 12).Draw(t, "header")
		}
		return o
	})
}

// randomOptions derives options from a number.
func randomOptions(n uint64) Options {
	take := func(of int) int {
		v := int(n % uint64(of))
		n /= uint64(of)
		return v
	}
	o := Options{
		NameSize: Size{take(10), take(10)}, ModifierSize: Size{take(10), take(10)}, TopMargin: take(3),
		NumberSize: Size{take(10), take(10)}, TableSize: Size{take(10), take(10)}, AfterPiece: take(2) == 1,
		MaxSize:   take(3),
		UpperCase: take(2) == 1, QR: take(2) == 1, BlankLines: take(4), Copies: take(3), Copy: 1,
		Footer: [][]string{nil, {"{venue} {request}", "{course}"}}[take(2)],
		Cut:    []string{"", ByItem, ByCourse}[take(3)],
	}
	if take(2) == 1 {
		o.Header = HeaderFields()[take(10):]
	}
	if take(2) == 1 {
		o.Alarms, o.Framed = NewAlarms([]string{"*ω", "中", "nuts"}), take(2) == 1
	}
	return o
}

func TestCopiesAndBackupTicketsAreMarked(t *testing.T) {
	d, o := everyday(), Options{Columns: 42, Copy: 2, Copies: 2}
	d.For, d.Down, d.Doubt = "hot-line_2\x1b@ süß", "printer", true
	got := strings.Join(strings.Fields(content(ComposeWith(d, o))), " ")
	for _, want := range []string{possibleDuplicate, "FOR HOT LINE 2\ufffd@ SÜSS (printer down)", "COPY 2/2"} {
		assert.Contains(t, got, want)
	}

	d.Down = ""
	got = content(ComposeWith(d, o))
	assert.True(t, !strings.Contains(got, "down"), got)
	got = content(ComposeWith(everyday(), Options{Columns: 42, Copy: 1, Copies: 1}))
	assert.True(t, !strings.Contains(got, "COPY") && !strings.Contains(got, "FOR"), got)
}

func TestUpperCaseFollowsTheLanguage(t *testing.T) {
	for in, want := range map[string]string{
		"süße Klöße":   "SÜSSE KLÖSSE",
		"Pide, çığ":    "PİDE, ÇIĞ",
		"eğri":         "EĞRİ",
		"ice tea":      "ICE TEA",
		"μουσακάς":     "ΜΟΥΣΑΚΆΣ",
		"щи":           "ЩИ",
		"ხინკალი beef": "ხინკალი BEEF",
		"5 µl oil":     "5 µL OIL",
		"宫保鸡丁 ok":      "宫保鸡丁 OK",
		"ﬁsh":          "FISH",
		"":             "",
	} {
		assert.Equal(t, upperCase(in), want, in)
	}
}

func sizeOf(t *testing.T, lines []Line, text string) Style {
	t.Helper()
	for _, l := range lines {
		for _, s := range l.Spans {
			if strings.Contains(s.Text, text) {
				return s.Style
			}
		}
	}
	t.Fatalf("%q is missing", text)
	return Style{}
}

func TestEachFieldOfTheHeaderPrints(t *testing.T) {
	d := rich()
	d.Ticket.Course, d.Ticket.Customer, d.Ticket.Promised = "Mains", "Ana", "19:30"
	for _, f := range HeaderFields() {
		got := content(ComposeWith(d, Options{Columns: 42, Header: []string{f}}))
		assert.True(t, strings.Count(got, "=") >= 3*42, f, got)
	}
	got := content(ComposeWith(everyday(), Options{Columns: 42, Header: []string{"nothing"}}))
	assert.True(t, !strings.HasPrefix(got, "=") && !strings.Contains(got, "#7"), got)
}

func TestBlankLinesSeparateItems(t *testing.T) {
	blanks := func(n int) int {
		lines := ComposeWith(everyday(), Options{Columns: 42, BlankLines: n})
		return len(lines) - len(ComposeWith(everyday(), Options{Columns: 42}))
	}
	// There are two gaps; the one after the modifier has a blank line already.
	assert.Equal(t, blanks(1), 1)
	assert.Equal(t, blanks(2), 3)
}

func TestTheWidthOfThePaperIsLimited(t *testing.T) {
	for columns, want := range map[int]int{-1: 16, 15: 16, 17: 17, 255: 255, 256: 255} {
		lines := Compose(everyday(), columns, "")
		assert.Equal(t, Width(strings.TrimRight(firstWith(lines, "===="), "\n")), want, columns)
	}
}

// firstWith is the first line that contains text.
func firstWith(lines []Line, text string) string {
	for _, l := range lines {
		if s := content([]Line{l}); strings.Contains(s, text) {
			return s
		}
	}
	return ""
}

func TestTheRequestIsAQRCodeWithItsTextBelow(t *testing.T) {
	for _, c := range []struct {
		id   string
		kind ticket.Kind
		qr   bool
		want int
	}{
		{everyday().Ticket.Request, ticket.Order, true, 1}, {"id", ticket.Order, false, 0}, {"", ticket.Order, true, 0},
		{strings.Repeat("x", 200), ticket.Order, true, 1},
		{"id", ticket.Test, false, 1}, {"id", ticket.Test, true, 1},
	} {
		d, codes := everyday(), 0
		d.Ticket.Request, d.Ticket.Kind = c.id, c.kind
		lines := ComposeWith(d, Options{Columns: 20, QR: c.qr})
		for i, l := range lines {
			if l.QR != "" {
				codes++
				below := strings.Join(strings.Fields(content(lines[i:])), "")
				assert.True(t, l.QR == c.id && strings.HasPrefix(below, c.id), c.id, l.QR, below)
			}
		}
		assert.Equal(t, codes, c.want, c)
	}
}
