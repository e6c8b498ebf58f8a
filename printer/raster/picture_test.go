package raster

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/printer/layout"
)

var update = flag.Bool("update", false, "write the golden files anew")

// picture stacks lines as they come out of a printer, two dots apart.
func picture(lines []Image) *image.Paletted {
	w, h := 0, 0
	for _, m := range lines {
		w, h = max(w, m.Width), h+m.Height+2
	}
	p := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.Black, color.Gray{200}})
	for i := range p.Pix {
		p.Pix[i] = 2
	}
	top := 0
	for _, m := range lines {
		for y := range m.Height {
			for x := range m.Width {
				p.SetColorIndex(x, top+y, 0)
				if m.black(x, y) {
					p.SetColorIndex(x, top+y, 1)
				}
			}
		}
		top += m.Height + 2
	}
	return p
}

// golden compares lines with an image that a person has checked.
func golden(t *testing.T, name string, lines []Image) {
	t.Helper()
	got, path := picture(lines), filepath.Join("testdata", name+".png")
	if *update {
		var b bytes.Buffer
		if err := png.Encode(&b, got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("%v; create it with -update and look at it", err)
	}
	defer f.Close()
	decoded, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	want, ok := decoded.(*image.Paletted)
	if !ok || want.Bounds() != got.Bounds() || !bytes.Equal(want.Pix, got.Pix) {
		out := filepath.Join(t.ArtifactDir(), name+".png")
		if f, err := os.Create(out); err == nil {
			_ = png.Encode(f, got)
			_ = f.Close()
		}
		t.Errorf("%s differs from what is drawn now: see %s (with -artifacts)", path, out)
	}
}

func drawer(t testing.TB, fonts ...string) *Drawer {
	t.Helper()
	d, err := New(Options{Fonts: fonts})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// text draws one span per line, after making it printable.
func text(d *Drawer, columns, dots int, style layout.Style, lines string) []Image {
	var mm []Image
	for l := range strings.SplitSeq(lines, "\n") {
		mm = append(mm, d.Line(layout.Line{Spans: []layout.Span{{Text: d.Printable(l), Style: style}}}, columns, dots))
	}
	return mm
}

func TestScriptsOfTheBuiltInFontMatchTheGoldenImages(t *testing.T) {
	d := drawer(t)
	for name, lines := range map[string]string{
		"latin": "Crème brûlée jalapeño Žižkov ½ l 12 €\nŒufs, Æbleskiver, Spätzle, Łosoś, Ćevapi\n“Quotes” – " +
			"and… ™ © ® ‰ → ✓ ★ ☎ ¿No?",
		"marks":      "e̋ q̃ n̈ A̋ X̌ b́ i̠ ṩ",
		"vietnamese": "Phở bò tái, bánh mì đặc biệt\nẤ ắ ợ Ữ NƯỚC MẮM, gỏi cuốn, bún chả",
		"greek":      "Μουσακάς, σουβλάκι, ΤΖΑΤΖΊΚΙ ὦ",
		"cyrillic":   "Борщ с пампушками, їжа, Щи, ё\nЋевапчићи, Ґ Ѓ Ў",
		"hebrew":     "שווארמה בלאפה 2x (חריף) hummus\nפלאפל 12.50, no onion\nשָׁלוֹם פָּלָאפֶל",
		"arabic": "شاورما دجاج مع ثوم 12 ريال (كبير)\nلا سلام الحلال والأرز بسم الله\nفتوش عدس بيض حمص كسكس رأس " +
			"أبيض\nمَشْوِي ١٢٫٥ kebab",
		"persian":     "چلو کباب گوجه پنیر ژله قیمه می\u200cخواهم\nپ چ ژ ک گ ی آش پیاز قارچ",
		"kana":        "すし 天ぷら うどん ラーメン ﾗｰﾒﾝ\nがぎぐ ぱぴぷ、「お茶」。",
		"simplified":  "宫保鸡丁 麻婆豆腐 米饭 两份 不要辣",
		"traditional": "宮保雞丁 麻婆豆腐 飯 兩份 灣，不要辣。",
		"hangul":      "김치찌개 불고기 비빔밥 맥주 두 병\n뷁",
		"names":       "🌶️ hot 👍🏽 👨\u200d👩\u200d👧\u200d👦 👨\u200d🍳\n🇩🇪 1️⃣ ❤️\u200d🔥 𝓟𝓲𝔃𝔃𝓪 ⅐",
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, text(d, 48, 576, layout.Style{}, lines)) })
	}
}

func TestSizesAndStylesMatchTheGoldenImage(t *testing.T) {
	d := drawer(t)
	span := func(s string, st layout.Style) layout.Span { return layout.Span{Text: s, Style: st} }
	var mm []Image
	for _, l := range []layout.Line{
		{Spans: []layout.Span{span("2x", layout.Style{Bold: true, Width: 2, Height: 2}),
			span(" ", layout.Style{Height: 2}), span("Phở gà", layout.Style{Height: 2}),
			span(" small", layout.Style{})}},
		{Spans: []layout.Span{span("VOID ", layout.Style{Bold: true, Invert: true}),
			span("寿司 すし", layout.Style{Invert: true, Height: 2}), span("    ", layout.Style{Invert: true}),
			span(" gy", layout.Style{})}},
		{Spans: []layout.Span{span("plain ", layout.Style{}), span("bold", layout.Style{Bold: true}),
			span(" 漢字 ", layout.Style{}), span("漢字", layout.Style{Bold: true}),
			span(" سلام ", layout.Style{Bold: true})}},
		{Spans: []layout.Span{span("g", layout.Style{Width: 8, Height: 8}),
			span("3", layout.Style{Width: 3, Height: 5}),
			span("שלום", layout.Style{Width: 2, Height: 3, Invert: true})}},
	} {
		mm = append(mm, d.Line(l, 48, 576))
	}
	golden(t, "styles", mm)
}

func TestColumnsOfOtherWidthsMatchTheGoldenImage(t *testing.T) {
	d := drawer(t)
	var mm []Image
	for _, p := range [][2]int{{64, 576}, {48, 384}, {42, 384}, {42, 576}, {32, 384}, {32, 512}, {32, 576}, {42, 210}} {
		mm = append(mm, text(d, p[0], p[1], layout.Style{}, "Phở 麻婆 すし سلام שלום g█─q")...)
	}
	golden(t, "columns", mm)
}
