package raster

import (
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
)

// visualText is the text on paper from left to right.
func visualText(d *Drawer, text string) string { return visualTextIn(d, text, layout.FirstStrong) }

func visualTextIn(d *Drawer, text string, way layout.Direction) string {
	var b strings.Builder
	for _, u := range d.units(text, way, 1000, false) {
		if u.font == blank {
			b.WriteString(strings.Repeat(" ", u.columns))
			continue
		}
		b.WriteString(string(u.text))
	}
	return b.String()
}

func TestRightToLeftTextIsInVisualOrder(t *testing.T) {
	d := drawer(t)
	for text, want := range map[string]string{
		"hello (world)":           "hello (world)",
		"שלום":                    "םולש",
		"  שלום  ":                "  םולש  ", // the layout's spaces stay
		"2x שלום (חם) ok":         "2x (םח) םולש ok",
		"Coke שלום 12.50% xyz":    "Coke 12.50% םולש xyz",
		"Coke שלום 12, xyz":       "Coke 12 םולש, xyz",
		"Coke שלום 12xyz":         "Coke 12 םולשxyz",
		"שלום 12.50% xyz":         "xyz 12.50% םולש",
		"שלום a (b) c":            "a (b) c םולש",
		"[שלום]":                  "[םולש]",
		"12 > 5 < שלום":           "םולש > 5 < 12",
		"«‹≤שלום≥›»":              "«‹≤םולש≥›»",
		"ab ١٢ cd":                "ab ١٢ cd",
		"ab ١٢ שלום":              "ab םולש ١٢",
		"- שלום":                  "םולש -",
		"قهوة ١٢٫٥ 3":             "3 ١٢٫٥ ةوهق",
		"no \u202eoverride\u202c": "no \u202eoverride\u202c",
	} {
		assert.Equal(t, visualText(d, text), want, text)
	}
}

func TestAPartOfATextHasTheDirectionOfTheWhole(t *testing.T) {
	d := drawer(t)
	for _, c := range []struct {
		text string
		way  layout.Direction
		want string
	}{
		{"cola עם קרח", layout.FirstStrong, "cola חרק םע"},
		{"cola עם קרח", layout.RightToLeft, "חרק םע cola"},
		{"12.50 ₪", layout.RightToLeft, "₪ 12.50"},
		{"חומוס and pita", layout.RightToLeft, "and pita סומוח"},
		{"חומוס and pita", layout.LeftToRight, "סומוח and pita"},
		{"é à", layout.RightToLeft, "é à"},
	} {
		assert.Equal(t, visualTextIn(d, c.text, c.way), c.want, c.text, c.way)
	}
}

func TestScriptsOfTheBuiltInFontMatchTheGoldenImages(t *testing.T) {
	d := drawer(t)
	for name, lines := range map[string]string{
		"latin": "Crème brûlée jalapeño Žižkov ½ l 12 €\nŒufs, Æbleskiver, Spätzle, Łosoś, Ćevapi\n“Quotes” – " +
			"and… ™ © ® ‰ → ✓ ★ ☎ ¿No?",
		"marks":       "e̋ q̃ n̈ A̋ X̌ b́ i̠ ṩ",
		"vietnamese":  "Phở bò tái, bánh mì đặc biệt\nẤ ắ ợ Ữ NƯỚC MẮM, gỏi cuốn, bún chả",
		"greek":       "Μουσακάς, σουβλάκι, ΤΖΑΤΖΊΚΙ ὦ",
		"cyrillic":    "Борщ с пампушками, їжа, Щи, ё\nЋевапчићи, Ґ Ѓ Ў",
		"hebrew":      "שווארמה בלאפה 2x (חריף) hummus\nפלאפל 12.50, no onion\nשָׁלוֹם פָּלָאפֶל",
		"kana":        "すし 天ぷら うどん ラーメン ﾗｰﾒﾝ\nがぎぐ ぱぴぷ、「お茶」。",
		"simplified":  "宫保鸡丁 麻婆豆腐 米饭 两份 不要辣",
		"traditional": "宮保雞丁 麻婆豆腐 飯 兩份 灣，不要辣。",
		"hangul":      "김치찌개 불고기 비빔밥 맥주 두 병",
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, printed(d, 48, 576, layout.Style{}, lines)) })
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
			span(" שלום ", layout.Style{Bold: true})}},
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
		mm = append(mm, printed(d, p[0], p[1], layout.Style{}, "Phở 麻婆 すし שלום g█─q")...)
	}
	golden(t, "columns", mm)
}
