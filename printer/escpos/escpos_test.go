package escpos

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/queue/ticket"
)

var update = flag.Bool("update", false, "write the golden files anew")

func model(t testing.TB, name string) profile.Profile {
	t.Helper()
	p, ok := profile.Lookup(name)
	if !ok {
		t.Fatalf("no profile %q", name)
	}
	return p
}

func delivery() ticket.Delivery {
	return ticket.Delivery{Job: 17, Attempt: 1, Doubt: true, Ticket: ticket.Ticket{
		Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a", Number: "18", Table: "B10", Server: "Žofie",
		Received: time.Date(2026, 2, 6, 10, 49, 48, 0, time.UTC), Zone: "Europe/Prague",
		Notes: []string{"“no nuts” – severe allergy…"},
		Lines: []ticket.Line{
			{Quantity: "2", Name: "Crème brûlée 5€"},
			{Quantity: "1", Name: "宫保鸡丁 \U0001f336\ufe0f", Notes: []string{"2⅓ cups, 10⁴ scoville"}},
			{Depth: 1, Quantity: "1", Name: "Борщ"},
			{Quantity: "1", Name: "Phở bò", Void: true},
			{Quantity: "1", Name: "Evil\x1b@\x1dV\x00 pie\u202e"},
		},
	}}
}

func encode(d ticket.Delivery, p profile.Profile) []byte {
	lines := layout.ComposeFor(d, p.Columns, "grill", func(s string) string { return Printable(s, p) })
	return Encode(lines, p)
}

func TestStreamsAreAsTheyWere(t *testing.T) {
	for _, name := range profile.Names() {
		file := filepath.Join("testdata", name+".txt")
		t.Run(name, func(t *testing.T) {
			r, err := read(encode(delivery(), model(t, name)))
			if err != nil {
				t.Fatal(err)
			}
			// A line of print on a line of text.
			got := strings.ReplaceAll(strings.Join(r.ops, "; "), "; LF; ", "; LF\n") + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("run with -update if this is meant (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatWasMeasuredIsWhatPrints(t *testing.T) {
	for _, name := range profile.Names() {
		p := model(t, name)
		for columns := 20; columns <= 64; columns++ {
			lines := layout.ComposeFor(delivery(), columns, "grill", func(s string) string { return Printable(s, p) })
			r, err := read(Encode(lines, p))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(r.lines) != len(lines) {
				t.Fatalf("%s, %d columns: %d lines printed of %d", name, columns, len(r.lines), len(lines))
			}
			for i, l := range r.lines {
				if l.columns != lines[i].Width() || l.columns > columns || l.height != lines[i].Height() {
					t.Errorf("%s, %d columns: %q prints %d×%d, was measured %d×%d", name, columns, l.text, l.columns, l.height, lines[i].Width(), lines[i].Height())
				}
			}
		}
	}
}

func TestAVoidIsBlackOrRedAllAcross(t *testing.T) {
	for _, name := range profile.Names() {
		p := model(t, name)
		r, err := read(encode(delivery(), p))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.lines {
			void := strings.HasPrefix(l.text, "** VOID ** ")
			if p.Invert && void && (!l.black || l.columns != p.Columns) {
				t.Errorf("%s: %q is not black all across", name, l.text)
			}
			if p.TwoColour && l.red != void {
				t.Errorf("%s: %q: red is %v", name, l.text, l.red)
			}
		}
	}
}

func TestLettersAModelLacksAreReplaced(t *testing.T) {
	full := model(t, "generic-80mm")
	bare := full
	bare.CodePages = []profile.CodePage{{Number: 0, Name: "CP437"}}
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
		{full, "宫保", "[U+5BAB][U+4FDD]"},
		{full, "hot \U0001f336\ufe0f", "hot [HOT PEPPER]"},
		{full, "1\ufe0f\u20e3", "1"},
		{full, "٣x", "3x"},
		{full, "2⅓ cups", "2 1/3 cups"},
		{full, "2⅓5", "2 1/3 5"},
		{full, "10⁴", "10(4)"},
		{full, "①", "(1)"},
		{full, "250㎖", "250ml"},
		{full, "a\u00a0b\u202fc\u2003d", "a b c d"},
		{full, "\U0001f1ee\U0001f1f9", "IT"},
		{full, "broken \xff", "broken ■"},
		{full, "?", "?"},
		{bare, "5€ “no” – it’s…", `5EUR "no" - it's...`},
		{bare, "Škoda Ølfrokost", "Skoda Olfrokost"},
		{none, "Crème brûlée ½", "Creme brulee 1/2"},
		{none, "\x1b@", "[U+FFFD]@"},
	} {
		got := Printable(c.in, c.p)
		if got != c.want {
			t.Errorf("Printable(%q) = %q, want %q", c.in, got, c.want)
		}
		if again := Printable(got, c.p); again != got {
			t.Errorf("Printable(%q) = %q: not its own answer", got, again)
		}
	}
}

// TestEveryRuneHasAnAnswer goes through all of Unicode: every answer is safe, stays what
// it is and takes as many columns as it has bytes.
func TestEveryRuneHasAnAnswer(t *testing.T) {
	p := model(t, "generic-80mm")
	var lines []layout.Line
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if ideographs := r > 0x3400 && r < 0xd800 || r > 0x20000; ideographs && r%17 != 0 {
			continue // one is like the other
		}
		got := Printable("_"+string(r), p)[1:]
		if strings.Contains(got, "?") && !strings.Contains(norm.NFKD.String(string(r)), "?") {
			t.Fatalf("%U prints as %q", r, got)
		}
		if w := layout.Width(got); w != len([]rune(got)) {
			t.Fatalf("%U: %q takes %d columns", r, got, w)
		}
		if got != "" && Printable(got, p) != got {
			t.Fatalf("%U: %q is not its own answer", r, got)
		}
		lines = append(lines, layout.Line{Spans: []layout.Span{{Text: string(r)}}})
	}
	if _, err := read(Encode(lines, p)); err != nil {
		t.Fatal(err)
	}
}

func TestTheEuroComesFromPagesThatHaveIt(t *testing.T) {
	p := model(t, "generic-80mm")
	for _, c := range []struct {
		name   string
		number byte
		want   string
	}{{"CP858", 19, "\xd5"}, {"WPC1252", 16, "\x80"}} {
		p.CodePages = []profile.CodePage{{Number: 0, Name: "CP437"}, {Number: 40, Name: "WPC1250"}, {Number: c.number, Name: c.name}}
		got := Encode([]layout.Line{{Spans: []layout.Span{{Text: "5 €"}}}}, p)
		if want := []byte("5 \x1bt" + string(rune(c.number)) + c.want + "\n"); !bytes.Contains(got, want) {
			t.Errorf("%s: % X does not contain % X", c.name, got, want)
		}
	}
}

func TestTheCutFollowsTheModel(t *testing.T) {
	for _, c := range []struct {
		cutter profile.Cutter
		feed   int
		want   string
	}{
		{profile.NoCutter, 6, "\n\x1bd\x06"}, {profile.PartialCut, 4, "\n\x1bd\x04\x1dVB\x00"}, {profile.FullCut, 0, "\n\x1dVA\x00"},
	} {
		p := model(t, "generic-80mm")
		p.Cutter, p.FeedBeforeCut = c.cutter, c.feed
		if got := Encode([]layout.Line{{}}, p); !bytes.HasSuffix(got, []byte(c.want)) {
			t.Errorf("cutter %d: % X does not end in % X", c.cutter, got, c.want)
		}
	}
}

func TestThePageStaysWhereItIsWhilePossible(t *testing.T) {
	p := model(t, "generic-80mm")
	got := Encode([]layout.Line{{Spans: []layout.Span{{Text: "é € é é"}}}, {Spans: []layout.Span{{Text: "é"}}}}, p)
	if n := bytes.Count(got, []byte("\x1bt")); n != 2 {
		t.Errorf("the code page is chosen %d times, want 2 (the first, and one with €): % X", n, got)
	}
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"Burger", "\x1b@\x1dV\x00", "\x10\x04\x01", "café 5€ 中文 \U0001f336", "\u009b1m\u202e", "\xff\xfe", "а\u0301b\u20e3"} {
		f.Add(s, s, uint8(0), uint8(17), uint8(1))
	}
	names := profile.Names()
	f.Fuzz(func(t *testing.T, a, b string, flags, size, which uint8) {
		p := model(t, names[int(which)%len(names)])
		st := layout.Style{Bold: flags&1 > 0, Invert: flags&2 > 0, Red: flags&4 > 0, Width: int(size&15) - 2, Height: int(size>>4) - 2}
		lines := []layout.Line{{Spans: []layout.Span{{Text: a}, {Text: b, Style: st}, {Text: a, Style: st}}}, {}, {Spans: []layout.Span{{Text: b}}}}
		r, err := read(Encode(lines, p))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.lines) != len(lines) {
			t.Fatalf("%d lines printed of %d", len(r.lines), len(lines))
		}
		once := Printable(a, p)
		if twice := Printable(once, p); twice != once {
			t.Fatalf("Printable(%q) = %q, and of that %q", a, once, twice)
		}
		if w := layout.Width(once); w != len([]rune(once)) {
			t.Fatalf("%q takes %d columns", once, w)
		}
		// A whole ticket of it, as it goes out.
		d := delivery()
		d.Ticket.Lines[0].Name, d.Ticket.Lines[1].Notes, d.Ticket.Number = a, []string{b}, b
		ls := layout.ComposeFor(d, p.Columns, a, func(s string) string { return Printable(s, p) })
		if r, err = read(Encode(ls, p)); err != nil {
			t.Fatal(err)
		}
		for i, l := range r.lines {
			if l.columns > p.Columns || l.columns != ls[i].Width() {
				t.Fatalf("%q prints %d of %d columns, was measured %d", l.text, l.columns, p.Columns, ls[i].Width())
			}
		}
	})
}

func benchmarked() ticket.Delivery {
	d := delivery()
	for i := len(d.Ticket.Lines); i < 20; i++ {
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: "2", Name: fmt.Sprintf("Steak frites number %d", i)})
	}
	return d
}

func BenchmarkEncode(b *testing.B) {
	p := model(b, "generic-80mm")
	lines := layout.ComposeFor(benchmarked(), p.Columns, "grill", func(s string) string { return Printable(s, p) })
	b.SetBytes(int64(len(Encode(lines, p))))
	for b.Loop() {
		Encode(lines, p)
	}
}

func BenchmarkComposeAndEncode(b *testing.B) {
	p, d := model(b, "generic-80mm"), benchmarked()
	for b.Loop() {
		encode(d, p)
	}
}
