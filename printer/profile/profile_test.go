package profile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"

	"ticketrail/deploy/assert"
)

func TestEveryModelIsComplete(t *testing.T) {
	for _, p := range All() {
		got, ok := Lookup(p.Name)
		assert.True(t, ok && cmp.Equal(got, p), p.Name, got)
		assert.True(t, p.Columns >= 20 && p.Dots >= p.Columns*8 && p.About != "", p.Name, p.About, p.Columns, p.Dots)
		assert.True(t, p.FeedBeforeCut >= 1 && (p.Cutter != NoCutter || p.FeedBeforeCut >= 4), p.Name, p.FeedBeforeCut)
		assert.True(t, len(p.CodePages) != 0 && p.CodePages[0] == (CodePage{0, "CP437"}), p.Name, p.CodePages)
		assert.True(t, p.Buzzer != DrawerPort, p.Name)
		want := Auto
		if strings.HasPrefix(p.Name, "epson-tm-u220") {
			want = ByStatus
			assert.True(t, p.Raster == NoRaster && p.Sizing == Doubled && p.TwoColour, p.Name, p)
		}
		assert.True(t, p.Confirm == want, p.Name, p.Confirm, want)
	}
	_, ok := Lookup("typewriter")
	assert.True(t, !ok, "a model that is not there was found")
}

func TestTheDocumentedModelsExist(t *testing.T) {
	want := []string{
		"bixolon-srp-350", "citizen-ct-s310", "epson-tm-m30", "epson-tm-t20", "epson-tm-t88", "epson-tm-u220",
		"epson-tm-u220b", "generic-58mm", "generic-80mm", "rongta-80mm", "star-escpos", "xprinter-80mm",
	}
	assert.Equal(t, cmp.Diff(want, Names()), "")
}

func TestAModelWithAMistakeIsRefused(t *testing.T) {
	for yaml, want := range map[string]string{
		"models: [{name: a, columns: 42, dots: 512, colour: red}]":                  "a: colour: unknown key",
		"models: [{name: a, columns: 42, dots: 512, kanji: true, kanji: false}]":    "already defined",
		"models: [{name: a, columns: 42, dots: 512, two_byte: utf8}]":               `"utf8" is not valid`,
		"models: [{name: a, columns: 42, dots: 512, sizing: scaled, cutter: half}]": `"half" is not valid`,
	} {
		_, err := decode([]byte(yaml))
		assert.Contains(t, fmt.Sprint(err), want)
	}
}

func TestANumberMayHaveAnyTypeThatAFileIsDecodedTo(t *testing.T) {
	p, _ := Lookup("generic-80mm")
	got, err := p.Override(map[string]any{"columns": 42, "dots": 512, "feed_before_cut": 6.0,
		"lines_per_second": 12, "code_pages": []any{"CP850=2"}})
	want := p
	want.Columns, want.Dots, want.FeedBeforeCut, want.LinesPerSecond = 42, 512, 6, 12
	want.CodePages = []CodePage{{2, "CP850"}}
	assert.NoError(t, err)
	assert.Equal(t, cmp.Diff(want, got), "")
	again, _ := Lookup("generic-80mm")
	assert.Equal(t, cmp.Diff(p, again), "", "an override changes no model")
}

func TestEachWordThatTheProgramKnowsIsAValueOfItsKey(t *testing.T) {
	var p Profile
	for name, words := range map[string]string{
		"cutter":   fmt.Sprint([]Cutter{NoCutter, PartialCut, FullCut}),
		"sizing":   fmt.Sprint([]Sizing{Scaled, Doubled}),
		"two_byte": fmt.Sprint([]TwoByte{NoTwoByte, GB18030}),
		"raster":   fmt.Sprint([]Raster{NoRaster, BitImage, Graphics}),
		"qr":       fmt.Sprint([]QR{NoQR, NativeQR, RasterQR}),
		"buzzer":   fmt.Sprint([]Buzzer{NoBuzzer, EscParenA, EscB, DrawerPort}),
		"confirm":  fmt.Sprint([]Confirm{Auto, ByProcessID, ByStatus, NoConfirm}),
	} {
		for _, k := range p.keys() {
			assert.True(t, k.name != name || fmt.Sprint(k.words) == words, name, k.words, words)
		}
	}
}

func TestTheErrorOfAnInvalidOverrideNamesTheValidValues(t *testing.T) {
	p, _ := Lookup("epson-tm-t88")
	for _, c := range []struct {
		key  string
		v    any
		want string
	}{
		{"columns", 0, "columns: 0 is not valid; use a whole number from 20 to 255"},
		{"columns", 42.5, "columns: 42.5 is not valid; use a whole number from 20 to 255"},
		{"columns", "many", `columns: "many" is not valid; use a whole number from 20 to 255`},
		{"columns", 200, "dots: 512 are too few for 200 columns; use at least 1200"},
		{"dots", 5000, "dots: 5000 is not valid; use a whole number from 160 to 1000"},
		{"cutter", "half", `cutter: "half" is not valid; use none, partial or full`},
		{"cutter", nil, `cutter: <nil> is not valid; use none, partial or full`},
		{"confirm", "", `confirm: "" is not valid; use auto, process_id, status or none`},
		{"kanji", "yes", `kanji: "yes" is not valid; use true or false`},
		{"about", 7, "about: 7 is not valid; use a line of text, 200 letters at most"},
		{"about", "red\x1b[31m", `about: "red\x1b[31m" is not valid; use a line of text`},
		{"name", "x", "name: unknown key of a profile; use one of about, columns, "},
		{"code_pages", []any{}, "code_pages: [] is not valid; use a list like [CP437=0, WPC1252=16], the preferred"},
		{"code_pages", []any{"CP437"}, `code_pages: "CP437" is not valid`},
		{"code_pages", []any{"CP437=256"}, `code_pages: "CP437=256" is not valid`},
		{"code_pages", []any{"CP437=0", "CP850=0"}, `code_pages: "CP850=0": the number 0 is already used by CP437`},
		{"code_pages", []any{"KLINGON=9"}, `code_pages: "KLINGON=9": unsupported code page; use one of CP437, `},
		{"sizing", "doubled", ""},
		{"small_font", true, "small_font: true is valid with sizing: doubled only"},
	} {
		got, err := p.Override(map[string]any{c.key: c.v})
		if c.want == "" {
			assert.True(t, err == nil, c.key, c.v, err)
			continue
		}
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), c.want), c.key, c.v, err, c.want)
		assert.True(t, cmp.Equal(got, p), c.key, c.v)
	}
	_, err := p.Override(map[string]any{"raster": "none", "qr": "raster", "two_byte": "gb18030", "sizing": "doubled"})
	assert.True(t, err != nil && strings.Count(err.Error(), "\n") == 1, err)
}

func TestErrorsAreShortAndContainNoControlCharacters(t *testing.T) {
	p, _ := Lookup("generic-80mm")
	long := "\x1b[2J\n" + strings.Repeat("é", 10<<10)
	for _, key := range p.keys() {
		for _, v := range []any{long, []any{long}, []any{long + "=1"}, map[string]any{long: long}} {
			_, err := p.Override(map[string]any{key.name: v})
			assert.True(t, err != nil, key.name)
			s := err.Error()
			clean := utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
			assert.True(t, len(s) <= 1000 && clean, key.name, s)
		}
	}
}

func TestTheYAMLAndTheJSONOfAProfileAreValidOverrides(t *testing.T) {
	for _, want := range All() {
		asJSON, err := json.Marshal(want)
		assert.NoError(t, err)
		for _, shown := range []string{want.YAML(), string(asJSON)} {
			var over map[string]any
			assert.NoError(t, yaml.Unmarshal([]byte(shown), &over))
			delete(over, "name")
			got, err := Profile{Name: want.Name}.Override(over)
			assert.NoError(t, err)
			assert.Equal(t, cmp.Diff(want, got), "")
		}
	}
}
