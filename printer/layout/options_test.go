package layout

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ticketrail/queue/ticket"
)

func headerFields() []string {
	return []string{"venue", "number", "table", "type", "time", "server", "date", "guests", "destination", "course",
		"promised", "customer"}
}

func options() *rapid.Generator[Options] {
	fields := append(headerFields(), "no such field", "at {printer}, {server}")
	return rapid.Custom(func(t *rapid.T) Options {
		o := randomOptions(rapid.Uint64().Draw(t, "knobs"))
		o.Columns, o.Printer = rapid.IntRange(-1, 64).Draw(t, "columns"), "grill"
		o.BlankLines = rapid.SampledFrom([]int{0, 0, 1, 3, -5, 1 << 40}).Draw(t, "blank")
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
		o.Header = headerFields()[take(10):]
	}
	if take(2) == 1 {
		o.Alarms, o.Framed = NewAlarms([]string{"*ω", "中", "nuts"}), take(2) == 1
	}
	return o
}

func TestCopiesAndBackupTicketsAreMarked(t *testing.T) {
	for _, columns := range []int{20, 32, 42, 48} {
		d := everyday()
		d.For, d.Down, d.Doubt = "hot-line_2\x1b@ süß", "printer", true
		got := strings.Join(strings.Fields(content(ComposeWith(d, Options{Columns: columns, Copy: 2, Copies: 2}))), " ")
		for _, want := range []string{possibleDuplicate, "FOR HOT LINE 2\ufffd@ SÜSS (printer down)", "COPY 2/2"} {
			if !strings.Contains(got, want) {
				t.Errorf("%d columns: %q is missing in %q", columns, want, got)
			}
		}
		d.Down = ""
		if got := content(Compose(d, columns, "")); strings.Contains(got, "down") {
			t.Errorf("%d columns: nothing is known to be down:\n%s", columns, got)
		}
		got = content(ComposeWith(everyday(), Options{Columns: columns, Copy: 1, Copies: 1}))
		if strings.Contains(got, "COPY") || strings.Contains(got, "FOR") || strings.Contains(got, "down") {
			t.Errorf("%d columns: a single copy at its own station has a banner:\n%s", columns, got)
		}
	}
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
		if got := upperCase(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestUpperCaseAppliesToNamesModifiersAndNotes(t *testing.T) {
	d := rich()
	got := content(ComposeWith(d, Options{Columns: 48, UpperCase: true}))
	for _, want := range []string{"CRÈME BRÛLÉE", "EXTRA CHEDDAR", "WELL DONE, NO", "ALLERGIC TO SESAME",
		"Harbour Grill", `{"menuItemId":"a7c9"`, "Seat 3"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
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

func TestTheHeaderPrintsTheConfiguredFieldsInOrder(t *testing.T) {
	d := rich()
	d.Ticket.Course, d.Ticket.Customer, d.Ticket.Promised = "Mains", "Ana", "19:30"
	got := Plain(ComposeWith(d, Options{Columns: 42,
		Header: []string{"table", "time", "server", "guests", "venue", "nothing"}}), 42)
	at := -1
	for _, want := range []string{"Table B10", "21:49", "Server Jonathan A.", "Guests 4", "Harbour Grill", "sesame"} {
		i := strings.Index(got, want)
		if i <= at {
			t.Errorf("%q stands at %d, after %d:\n%s", want, i, at, got)
		}
		at = i
	}
	for _, no := range []string{"#18", "Dine In", "2026", "GRILL-1"} {
		if strings.Contains(got, no) {
			t.Errorf("%q was not configured:\n%s", no, got)
		}
	}
	got = content(ComposeWith(everyday(), Options{Columns: 42, Header: []string{}}))
	if strings.HasPrefix(got, "=") || strings.Contains(got, "#7") {
		t.Errorf("an empty header is not empty:\n%s", got)
	}
	for _, f := range headerFields() {
		if got := content(ComposeWith(d, Options{Columns: 42, Header: []string{f}})); strings.Count(got, "=") < 3*42 {
			t.Errorf("the field %s prints nothing:\n%s", f, got)
		}
	}
}

func TestBlankLinesSeparateItems(t *testing.T) {
	blanks := func(n int) int {
		lines := ComposeWith(everyday(), Options{Columns: 42, BlankLines: n})
		return len(lines) - len(ComposeWith(everyday(), Options{Columns: 42}))
	}
	// There are two gaps; the one after the modifier has a blank line already.
	if a, b := blanks(1), blanks(2); a != 1 || b != 3 {
		t.Errorf("1 blank line adds %d lines, 2 add %d", a, b)
	}
	if got := blanks(1 << 30); got > 2*maxBlankLines {
		t.Errorf("%d blank lines", got)
	}
}

// codes is how many QR codes are in lines.
func codes(lines []Line) (n int) {
	for _, l := range lines {
		if l.QR != "" {
			n++
		}
	}
	return n
}

func TestATestTicketHasOneQRCode(t *testing.T) {
	d := ticket.Delivery{Ticket: ticket.Ticket{Kind: ticket.Test, Request: "r"}}
	for _, qr := range []bool{false, true} {
		if got := codes(ComposeWith(d, Options{Columns: 42, QR: qr})); got != 1 {
			t.Errorf("QR %v: %d codes, want 1", qr, got)
		}
	}
}

func TestTheWidthOfThePaperIsLimited(t *testing.T) {
	for columns, want := range map[int]int{-1: 16, 15: 16, 17: 17, 255: 255, 256: 255} {
		lines := Compose(everyday(), columns, "")
		if got := Width(strings.TrimRight(firstWith(lines, "===="), "\n")); got != want {
			t.Errorf("%d columns: a rule is %d wide, want %d", columns, got, want)
		}
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

func TestTheRequestIsAQRCodeInTheFooter(t *testing.T) {
	for _, columns := range []int{20, 42} {
		d := everyday()
		lines := ComposeWith(d, Options{Columns: columns, QR: true})
		i := slices.IndexFunc(lines, func(l Line) bool { return l.QR != "" })
		if i < 0 || lines[i].QR != d.Ticket.Request {
			t.Fatalf("%d columns: no code:\n%s", columns, Plain(lines, columns))
		}
		if got := strings.Join(strings.Fields(content(lines[i:])), ""); got != d.Ticket.Request {
			t.Errorf("%d columns: the caption is %q", columns, got)
		}
	}
	for id, want := range map[string]int{"": 0, strings.Repeat("x", 250): 1, strings.Repeat("x", 251): 0} {
		d := everyday()
		d.Ticket.Request = id
		if got := codes(ComposeWith(d, Options{Columns: 42, QR: true})); got != want {
			t.Errorf("an id of %d bytes gives %d codes, want %d", len(id), got, want)
		}
	}
}
