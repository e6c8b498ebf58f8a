package layout

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

// init makes rapid draw the same values on every machine. -rapid.seed=0 draws other ones at each run.
func init() { flag.Set("rapid.seed", "1") }

// tracers are letters that are on a ticket only where the service put them, so their way through the layout can be
// followed.
var tracers = []rune("αβγδεζηθικλμνξοπρστυφχψω中文字宽ж")

func tracedLetters(s string) string {
	return strings.Map(func(r rune) rune {
		r = unicode.ToLower(r) // the options may ask for capitals
		if slices.Contains(tracers, r) {
			return r
		}
		return -1
	}, s)
}

func content(lines []Line) (text string) {
	for _, l := range lines {
		text += l.Text() + "\n"
	}
	return text
}

func words() *rapid.Generator[string] {
	letters := append([]rune("   \n\t\x1b\x00\u202e\u200b\ufeff"), tracers...)
	letters = append(letters, tracers...)
	return rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom(letters), 0, 60, -1),
		rapid.Just(strings.Repeat("ωψ", 70)),
		rapid.StringOfN(rapid.SampledFrom(letters), 0, 8, -1),
	)
}

func deliveries() *rapid.Generator[ticket.Delivery] {
	notes := rapid.SliceOfN(words(), 0, 2)
	// A name has at least one traced letter, so that it is not replaced by "(no name)".
	name := rapid.Custom(func(t *rapid.T) string { return "α" + words().Draw(t, "name") })
	quantity := rapid.OneOf(rapid.SampledFrom([]string{"1", "2", "0.5", "-0.333333333", "12"}), words())
	lines := rapid.Custom(func(t *rapid.T) ticket.Line {
		return ticket.Line{
			Depth:    rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 5000)).Draw(t, "depth"),
			Quantity: quantity.Draw(t, "quantity"),
			Name:     name.Draw(t, "name"), Notes: notes.Draw(t, "notes"),
			Seat: words().Draw(t, "seat"),
			Raw:  rapid.Bool().Draw(t, "raw"), Void: rapid.Bool().Draw(t, "void"),
			Refire: rapid.Bool().Draw(t, "refire"), NoRoute: rapid.Bool().Draw(t, "unrouted"),
			Course: rapid.SampledFrom([]string{"", "Mains", "Desserts"}).Draw(t, "course"),
		}
	})
	kind := rapid.SampledFrom([]ticket.Kind{ticket.Order, ticket.ExpiredList, ticket.Test})
	return rapid.Custom(func(t *rapid.T) ticket.Delivery {
		return ticket.Delivery{
			Job: rapid.Uint64().Draw(t, "job"), Attempt: rapid.IntRange(0, 3).Draw(t, "attempt"),
			Doubt: rapid.Bool().Draw(t, "doubt"), Reprint: rapid.Bool().Draw(t, "reprint"),
			For: rapid.SampledFrom([]string{"", "bar", "\x1b@" + strings.Repeat("pass ", 20)}).Draw(t, "for"),
			Ticket: ticket.Ticket{
				Kind:    kind.Draw(t, "kind"),
				Request: "0d9e1c52", VenueName: words().Draw(t, "venue"), Number: words().Draw(t, "number"),
				Table: words().Draw(t, "table"),
				Type:  words().Draw(t, "type"), Notes: notes.Draw(t, "notes"), Received: received(),
				Void: rapid.Bool().Draw(t, "void"), Refire: rapid.Bool().Draw(t, "refire"),
				Lines: rapid.SliceOfN(lines, 0, 6).Draw(t, "lines"), Raw: words().Draw(t, "raw"),
				Later: laterVoids(notes.Draw(t, "later")),
			},
		}
	})
}

// expected is all traced text of a delivery in the order in which it must print.
func expected(t ticket.Ticket) string {
	s := strings.Join(t.Later.Texts(), "") + t.VenueName + t.Number + t.Table + t.Type + strings.Join(t.Notes, "")
	var c composer
	course, seat := "", "" // as printed last
	for _, l := range t.Lines {
		if l.Depth == 0 && l.Course != course {
			course, seat = l.Course, ""
		}
		own := c.text(l.Seat)
		if l.Depth == 0 && own != seat {
			seat = own
			s += own
		}
		s += l.Quantity + l.Name
		if own != seat {
			s += own
		}
		s += strings.Join(l.Notes, "")
	}
	s += t.Raw
	if t.Kind == ticket.Test {
		for _, sc := range scripts {
			s += sc.example
		}
		s += Clean(t.Request)
	}
	return tracedLetters(s)
}

func TestNoTextIsCutOffAndNoLineIsWiderThanThePaper(t *testing.T) { rapid.Check(t, checkDelivery) }

func FuzzCompose(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkDelivery)) }

// checkDelivery is the promise that everything prints, for any ticket on any paper.
func checkDelivery(t *rapid.T) {
	d, o := deliveries().Draw(t, "delivery"), options().Draw(t, "options")
	check(t, d, o)

	o.Header, o.Footer, o.Cut = nil, nil, "" // these choose which fields print, and how often
	o.Columns = rapid.IntRange(20, 64).Draw(t, "columns")
	lines := ComposeWith(d, o)
	assert.Equal(t, tracedLetters(content(lines)), expected(d.Ticket), o)
}

func TestACharacterWithMoreMarksThanALineHoldsStillFits(t *testing.T) {
	for _, mark := range []string{"\uaaeb", "\u0301", "\U0001f3fd"} { // wide, without width, wide
		name := strings.Repeat("a"+strings.Repeat(mark, 70), 3)
		check(t, ticket.Delivery{Ticket: ticket.Ticket{Lines: []ticket.Line{
			{Quantity: "1", Name: name},
			{Quantity: "1", Name: mark + "x", Void: true},
		}}}, Options{Columns: 20})
	}
}

// check verifies the rules for every ticket on every paper.
func check(t assert.T, d ticket.Delivery, o Options) {
	lines := ComposeWith(d, o)
	columns := max(o.Columns, minColumns)
	for i, l := range lines {
		assert.True(t, l.Width() <= columns, i, l)
		for _, s := range append(l.Spans, Span{Text: l.QR}) {
			assert.Equal(t, Clean(s.Text), s.Text, i)
			assert.True(t, min(s.Width, s.Height) >= 0 && max(s.Width, s.Height) <= 8, i, s)
		}
	}
	for l := range strings.Lines(Plain(lines, columns)) {
		assert.Equal(t, Width(strings.TrimSuffix(l, "\n")), columns+2, l)
	}
}

func TestAVoidIsNeverTakenForAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, o := deliveries().Draw(t, "delivery"), options().Draw(t, "options")
		columns := rapid.IntRange(20, 64).Draw(t, "columns")
		o.Columns, d.For = columns, ""
		d.Ticket.Raw, d.Ticket.Notes, d.Ticket.Later = "", nil, nil
		d.Ticket.VenueName, d.Ticket.Number, d.Ticket.Table, d.Ticket.Type = "", "", "", ""
		d.Ticket.Void = true
		if d.Ticket.Kind == ticket.Test { // a test ticket shows letters of its own
			d.Ticket.Kind = ticket.Order
		}
		for i := range d.Ticket.Lines {
			d.Ticket.Lines[i].Void, d.Ticket.Lines[i].Seat = true, ""
		}
		for i, l := range ComposeWith(d, o) {
			if tracedLetters(l.Text()) == "" {
				continue
			}
			text := strings.TrimPrefix(l.Text(), "* ")
			assert.True(t, strings.HasPrefix(text, "VOID"), i, text)
			for _, s := range l.Spans {
				side := strings.TrimSpace(s.Text) == "*"
				assert.True(t, s.Red && (s.Invert || side), i, s)
			}
			assert.Equal(t, l.Width(), columns, i) // it is black from edge to edge
		}
	})
}

func TestAnOrderIsNeverTakenForAVoid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := deliveries().Draw(t, "delivery")
		d.Ticket.Void, d.Ticket.Kind = false, ticket.Order
		for i := range d.Ticket.Lines {
			d.Ticket.Lines[i].Void = false
		}
		o := options().Draw(t, "options")
		text := content(ComposeWith(d, o))
		assert.True(t, !strings.Contains(text, "VOID"), text)
	})
}

func TestALongTicketIsComposed(t *testing.T) {
	d := everyday()
	d.Ticket.Lines[0].Name = strings.Repeat("ω", 50_000)
	d.Ticket.Raw = strings.Repeat("[1,2]", 10_000)
	check(t, d, Options{Columns: 20, UpperCase: true, NameSize: Size{3, 3}})
}

func TestTheTimeIsInTheVenuesZone(t *testing.T) {
	for zone, want := range map[string]string{
		"Australia/Melbourne": "21:49", "Europe/Lisbon": "10:49", "": "10:49 UTC", "UTC": "10:49 UTC",
		"Nowhere/Atlantis": "10:49 UTC", "Local": "10:49 UTC", "../../etc/passwd": "10:49 UTC",
	} {
		got, _ := clockAndDate(received(), zone)
		assert.Equal(t, got, want, zone)
	}
	clock, date := clockAndDate(time.Time{}, "UTC")
	assert.Equal(t, clock+date, "")
}

func TestCleanTextHoldsNoCommands(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == 0x20000 {
			r = 0xe0000 // only ideographs in between
		}
		got := Clean(string(r))
		commands := strings.ContainsFunc(got, func(r rune) bool {
			return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs)
		})
		assert.True(t, got != "" && Clean(got) == got && !commands, r, got)
	}
	for in, want := range map[string]string{
		"Burger\x1b@\x1dV0":     "Burger\ufffd@\ufffdV0",
		"a\xffb":                "a\ufffdb",
		"no\nnuts":              "no nuts",
		"\u202egnp.exe\u202c":   " gnp.exe ",
		"Crème brûlée":          "Crème brûlée",
		"\u009b31mred":          "\ufffd31mred",
		"zero\u200bwidth\ufeff": "zero width ",
	} {
		assert.Equal(t, Clean(in), want, in)
	}
}

func laterVoids(texts []string) (voids ticket.LaterVoids) {
	for _, s := range texts {
		if s != "" { // it would stand for more voids
			voids = append(voids, ticket.LaterVoid{Text: s})
		}
	}
	return voids
}
