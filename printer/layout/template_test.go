package layout

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/ticket"
)

// head is what a template's header prints on paper of 32 columns.
func head(t *testing.T, d ticket.Delivery, text string) []string {
	t.Helper()
	tp, err := ParseTemplate(`{{define "header"}}` + text + `{{end}}`)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	lines, _, err := tp.lines("header", (&composer{columns: 32}).fields(&d), composer{columns: 32})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out []string
	for _, l := range lines {
		if l.Width() > 32 {
			t.Errorf("%s: %d of 32 columns: %v", text, l.Width(), l.Spans)
		}
		out = append(out, strings.TrimSuffix(content([]Line{l}), "\n"))
	}
	return out
}

func TestATemplatePlacesItsText(t *testing.T) {
	for text, want := range map[string][]string{
		`{{center .Venue}}`:                                  {"         Harbour Grill"},
		`{{.Number}}{{right .Table}}`:                        {"#18                    Table B10"},
		`a{{center "b"}}{{right "c"}}`:                       {"a" + spaces(14) + "b" + spaces(15) + "c"},
		`{{right "far"}}near`:                                {"near" + spaces(25) + "far"},
		`{{big "ab"}} {{bold "c"}}d`:                         {"ab cd"},
		`{{big (right "ab")}}`:                               {spaces(28) + "ab"},
		"\n\n  {{.Type}}\n\n{{if .For}}x{{end}}\n":           {"Dine In"},
		`a{{blank}}b`:                                        {"a", "", "b"},
		`{{rule "-"}}{{rule}}`:                               {strings.Repeat("-", 32), strings.Repeat("=", 32)},
		`{{rule "-*-"}}{{rule " "}}`:                         {strings.Repeat("-*-", 10), strings.Repeat("=", 32)},
		`{{upper "süß"}} {{lower "ÀB"}}`:                     {"SÜSS àb"},
		`{{time "3:04 PM" .Received}} {{.Time}}`:             {"9:49 PM 21:49"},
		`{{time "15:04" ""}}x`:                               {"x"},
		`{{printf "%04d|%5.1f|%-3s|" .Attempt 2.0 .Guests}}`: {"0002|  2.0|4  |"},
		`{{.Venue}} {{.Venue}} {{.Venue}}`:                   {"Harbour Grill Harbour Grill", "Harbour Grill"},
		`{{big .Venue}} {{.Venue}}`:                          {"Harbour Grill", "Harbour Grill"},
		`{{left .Venue}}{{right .Date}} {{right .Job}}`:      {"Harbour Grill", spaces(13) + "Fri 6 Feb 2026 1017"},
		`{{center "` + strings.Repeat("x", 40) + `"}}`: {strings.Repeat("x", 32),
			spaces(12) + strings.Repeat("x", 8)},
		`{{left "` + strings.Repeat("x", 20) + `"}}{{right "` + strings.Repeat("y", 11) + `"}}`: {
			strings.Repeat("x", 20) + " " + strings.Repeat("y", 11)},
		`{{left "` + strings.Repeat("x", 20) + `"}}{{center "b"}}`:    {strings.Repeat("x", 20) + " b"},
		`{{center "bbb"}}{{right "` + strings.Repeat("y", 20) + `"}}`: {spaces(8) + "bbb " + strings.Repeat("y", 20)},
		`{{.Items}}`: {"7"},
		strings.Repeat("x", 32) + " " + strings.Repeat("a", 15) + " " + strings.Repeat("b", 16): {
			strings.Repeat("x", 32), strings.Repeat("a", 15) + " " + strings.Repeat("b", 16)},
		`{{range .Notes}}! {{.}}` + "\n{{end}}": {"! Guest is allergic to sesame", "and in a hurry"},
		`{{big "宫保鸡丁宫保鸡丁宫"}}`:                   {"宫保鸡丁宫保鸡丁", "宫"},
		`{{len .Notes}} {{eq .Guests "4"}}`:     {"1 true"},
	} {
		if diff := cmp.Diff(want, head(t, rich(), text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestATemplateChangesOnlyHeaderAndFooter(t *testing.T) {
	d := rich()
	d.For, d.Down = "grill", "printer"
	tp := parsed(`{{define "header"}}HEAD {{.Number}}{{end}}{{define "footer"}}FOOT {{.ShortRequest}}{{end}}`)
	own := ComposeWith(d, Options{Columns: 42, Template: tp})
	usual := Compose(d, 42, "")
	ours, theirs := Plain(own, 42), Plain(usual, 42)
	from, to := "║! Guest is allergic", "║** REFIRE **"
	cut := func(s string) string { return s[strings.Index(s, from):strings.Index(s, to)] }
	if diff := cmp.Diff(cut(theirs), cut(ours)); diff != "" {
		t.Errorf("items differ:\n%s", diff)
	}
	for _, want := range []string{possibleDuplicate, "FOR GRILL (printer down)", "HEAD #18", "FOOT 4c5b6a"} {
		if !strings.Contains(ours, want) {
			t.Errorf("%q is missing:\n%s", want, ours)
		}
	}
	for _, not := range []string{"Table B10", "job 1017"} {
		if strings.Contains(ours, not) {
			t.Errorf("%q belongs to the built-in header:\n%s", not, ours)
		}
	}
}

func TestWhatWasCancelledLaterPrintsWithEveryTemplate(t *testing.T) {
	d := order(ticket.Line{Quantity: "1", Name: "Soup"})
	o := Options{Columns: 42, Template: parsed(`{{define "header"}}{{end}}{{define "footer"}}{{end}}`)}
	if got := content(ComposeWith(d, o)); got != "1x Soup\n" { // no rules either
		t.Errorf("got\n%s", got)
	}

	d.Ticket.Later = []string{"VOID at 19:40: job 13"}
	lines := ComposeWith(d, o)
	if got := content(lines); !strings.Contains(got, "VOID at 19:40: job 13") || !strings.HasSuffix(got, "1x Soup\n") {
		t.Errorf("got\n%s", got)
	}
	if st := sizeOf(t, lines, "VOID at 19:40: job 13"); st.Height != 2 || !st.Red || !st.Invert {
		t.Errorf("its style is %+v, want that of a void", st)
	}
}

func TestAFailingTemplateFallsBackToTheBuiltInHeaderAndReports(t *testing.T) {
	for _, text := range []string{
		`{{define "header"}}SECRET {{index .Notes 1}}{{end}}`,
		`{{define "header"}}{{if ne .Number "#18"}}SECRET{{.Nothing}}{{end}}{{end}}`,
		`{{define "header"}}SECRET {{if ne .Number "#18"}}{{range 99}}{{blank}}{{end}}{{end}}{{end}}`,
		`{{define "header"}}SECRET {{if ne .Number "#18"}}{{time "15:04" "noon"}}{{end}}{{end}}`,
	} {
		var got []error
		o := Options{Columns: 42, Printer: "bar", Template: parsed(text),
			OnTemplateError: func(err error) { got = append(got, err) }}
		lines := ComposeWith(everyday(), o)
		if diff := cmp.Diff(Compose(everyday(), 42, "bar"), lines); diff != "" {
			t.Errorf("%s: not the built-in header (-want +got):\n%s", text, diff)
		}
		if len(got) != 1 || !strings.Contains(got[0].Error(), "header") {
			t.Errorf("%s: reported %v, want one error that names the header", text, got)
		}
	}
	ComposeWith(everyday(), Options{Columns: 42, Template: templates()[3]}) // nobody asks for the error

	// The error is short, and a field that is too long for a header is not cut off.
	for _, text := range []string{`{{time "15:04" .Server}}`, `{{.Server}}`} {
		d, got := everyday(), error(nil)
		d.Ticket.Server = strings.Repeat("ω", 5000)
		lines := ComposeWith(d, Options{Columns: 42, OnTemplateError: func(err error) { got = err },
			Template: parsed(`{{define "header"}}{{if ne .Server "Jonathan A."}}` + text + `{{end}}{{end}}`)})
		if got == nil || len(got.Error()) > 520 || strings.Count(content(lines), "ω") != len(d.Ticket.Server)/len("ω") {
			t.Errorf("%s: error %v, and of %d letters %d print", text, got, 5000, strings.Count(content(lines), "ω"))
		}
	}
}

func TestTheOutputOfATemplateHasAtMostSixtyLines(t *testing.T) {
	if _, err := ParseTemplate(`{{define "header"}}{{range 30}}x{{blank}}{{end}}{{end}}`); err != nil {
		t.Errorf("60 lines: %v", err)
	}
	_, err := ParseTemplate(`{{define "header"}}{{range 30}}x{{blank}}{{end}}y{{end}}`)
	if err == nil || !strings.Contains(err.Error(), "61 lines high") {
		t.Errorf("61 lines: %v", err)
	}
}

func TestATemplateMistakeIsFoundWhenItIsParsed(t *testing.T) {
	for text, want := range map[string]string{
		`{{define "header"}}x`:                 "unexpected EOF",
		`{{define "header"}}{{foo}}{{end}}`:    `function "foo" not defined`,
		`{{define "header"}}{{.Tabel}}{{end}}`: "can't evaluate field Tabel",
		`hello`:                                "text outside",
		``:                                     `neither "header" nor "footer"`,
		`{{define "head"}}x{{end}}`:            `neither "header" nor "footer"`,
		`{{define "footer"}}{{template "footer"}}{{end}}`:                     "exceeded maximum template depth",
		`{{define "header"}}{{range .Notes}}{{upper .Missing}}{{end}}{{end}}`: "can't evaluate field",
		`{{define "header"}}{{js .Venue}}{{end}}`:                             "no such function on paper",
	} {
		tp, err := ParseTemplate(text)
		if err == nil || tp != nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "template: ") {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

func TestNoTemplateEmitsCommands(t *testing.T) {
	d := rich()
	d.Ticket.Table = "\x1b@\x03\x1dV0\u202e"
	for _, text := range []string{
		"\x1b@\x0e{{.Table}}", `{{printf "%c%c%c%c%c" 27 64 3 4 155}}`, `{{"\x1bm\x03\x11\x0f\x00"}}`,
		`{{print "\x0f" .Table}}`, `{{bold "\x04\x04\x04\x04"}}{{right .Table}}x`,
	} {
		tp := parsed(`{{define "header"}}` + text + `{{end}}`)
		o := Options{Columns: 32, Template: tp, OnTemplateError: func(err error) { t.Errorf("%q: %v", text, err) }}
		check(t, d, o)
		for _, r := range content(ComposeWith(d, o)) {
			if r != '\n' && unicode.IsControl(r) {
				t.Errorf("%q prints %U", text, r)
			}
		}
	}
}

func TestATemplatesTextIsMadePrintable(t *testing.T) {
	d := rich()
	d.Ticket.Table = "é"
	o := Options{Columns: 32, Template: parsed(`{{define "header"}}ö {{.Table}} {{rule "é"}}{{end}}`),
		Printable: func(s string) string { return strings.NewReplacer("é", "e", "ö", "[o umlaut]").Replace(s) }}
	got := content(ComposeWith(d, o))
	if !strings.Contains(got, "[o umlaut] e\n") || strings.ContainsAny(got, "éö") {
		t.Errorf("got %s", got)
	}
}

func TestATemplateIsSafeForConcurrentUse(t *testing.T) {
	tp := templates()[1]
	want := content(ComposeWith(rich(), Options{Columns: 42, Template: tp}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if got := content(ComposeWith(rich(), Options{Columns: 42, Template: tp})); got != want {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzTemplate varies the fields, which come from the network. The template is the operator's own.
func FuzzTemplate(f *testing.F) {
	f.Add("12\x1b@", "Ana", uint8(32))
	f.Add("宫保鸡丁", "\x0f\x04\x07\u202e", uint8(20))
	tp := parsed(`{{define "header"}}{{big .Number}}{{right (bold .Table)}}{{range .Notes}}{{.}}{{rule .}}{{end}}
{{center (tall .Server) | left}}{{end}}
{{define "footer"}}{{template "a" .}}{{end}}
{{define "a"}}{{with .Server}}{{printf "%5s" .}}{{else}}{{blank}}{{end}}{{end}}`)
	f.Fuzz(func(t *testing.T, field, note string, columns uint8) {
		d := everyday()
		d.Ticket.Table, d.Ticket.Server, d.Ticket.Number, d.Ticket.Notes = field, field, field, []string{note}
		failed := errors.New("none")
		check(t, d, Options{Columns: int(columns), Template: tp, OnTemplateError: func(err error) { failed = err }})
		if s := failed.Error(); Clean(s) != s || len(s) > 800 {
			t.Fatalf("the error is not clean: %q", s)
		}
	})
}
