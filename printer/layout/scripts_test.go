package layout

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"ticketrail/queue/ticket"
)

// A menu is what is ordered in one script: items, modifiers and notes.
type menu struct {
	script                     string
	short, long, modifier, say string
}

func menus() []menu {
	return []menu{
		{"latin", "Crème brûlée", "Straßburger Geflügelleberpâté mit Žižkover Jalapeño-Soße, 12 €",
			"sin gluten, ½ ración", "niño alérgico a la nuez"},
		{"vietnamese", "Phở bò tái", "Bánh mì thịt nướng với đồ chua và rau mùi tươi", "ít cay, thêm hành",
			"dị ứng đậu phộng"},
		{"greek", "Μουσακάς", "Γεμιστές ντομάτες με ρύζι, κουκουνάρι και μαϊντανό", "χωρίς κρεμμύδι",
			"αλλεργία στο σουσάμι"},
		{"cyrillic", "Борщ", "Вареники з картоплею, цибулею та сметаною по-київськи", "без чеснока",
			"аллергия на орехи"},
		{"hebrew", "חומוס", "שקשוקה חריפה עם גבינת עיזים ופלפלים קלויים (2 ביצים)", "בלי בצל", "אלרגי לשומשום"},
		{"arabic", "كباب", "مشاوي مشكلة مع الأرز بالزعفران وسلطة الفتوش ٣ قطع", "بدون بصل", "حساسية من السمسم"},
		{"persian", "چلوکباب", "خورش قورمه\u200cسبزی با برنج زعفرانی و سالاد شیرازی", "نمی\u200cخواهم پیاز",
			"حساسیت به بادام"},
		{"thai", "ผัดไทย", "แกงเขียวหวานไก่ใส่มะเขือเปราะและใบโหระพากับข้าวสวย", "ไม่เผ็ด ไม่ใส่น้ำตาล", "แพ้ถั่วลิสง"},
		{"devanagari", "पनीर टिक्का", "क्\u200dषेत्रीय मसालेदार आलू गोभी की सब्ज़ी और तंदूरी रोटी", "बिना प्याज़",
			"मूँगफली से एलर्जी"},
		{"kana", "すし", "ラーメン、チャーシューと味玉のせ（スープは別の丼で）ギョーザ六個つき", "わさび抜き", "ピーナッツアレルギー"},
		{"han", "宫保鸡丁", "麻婆豆腐、水煮牛肉、夫妻肺片、担担面（少辣，不要花生）四人份套餐", "不要香菜", "对花生过敏"},
		{"hangul", "비빔밥", "돌솥비빔밥과 해물파전, 매운 김치찌개 그리고 공기밥 두 그릇", "고추장 따로", "땅콩 알레르기"},
		{"emoji", "Taco 🌶️🌶️", "👨\u200d🍳 Chef's 🍕 with 🧀🧀 and 🥓, for 👩🏽\u200d🤝\u200d👨🏻 at the 🏴󠁧󠁢󠁥󠁮󠁧󠁿 table 1️⃣",
			"no 🧅", "🥜 ❌"},
	}
}

// order is a ticket in one script with a cancelled item.
func (m menu) order() ticket.Delivery {
	return ticket.Delivery{Job: 7, Attempt: 1, Station: m.short, Ticket: ticket.Ticket{
		Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a", VenueName: m.long, Number: "18", Table: "Table " + m.short,
		Server:   m.modifier,
		Received: received(), Zone: "Europe/Lisbon", Notes: []string{m.say},
		Lines: []ticket.Line{
			{Quantity: "2", Name: m.short, Course: m.modifier},
			{Quantity: "1", Name: m.long, Course: m.modifier, Notes: []string{m.say}},
			{Depth: 1, Quantity: "1", Name: m.modifier},
			{Depth: 2, Quantity: "3", Name: m.long},
			{Quantity: "12", Name: m.long, Course: m.modifier, Void: true},
		},
	}}
}

func TestEveryScriptFitsItsColumns(t *testing.T) {
	for _, m := range menus() {
		for _, columns := range []int{48, 42, 32} {
			file := filepath.Join("testdata", fmt.Sprintf("script-%s-%d.txt", m.script, columns))
			t.Run(filepath.Base(file), func(t *testing.T) {
				o := Options{Columns: columns, Printer: m.short}
				check(t, m.order(), o)
				got := Plain(ComposeWith(m.order(), o), columns)
				o.NameSize, o.ModifierSize, o.UpperCase, o.QR = Size{2, 2}, Size{2, 1}, true, true
				check(t, m.order(), o)
				got += Plain(ComposeWith(m.order(), o), columns)
				golden(t, file, got)
			})
		}
	}
}

func TestComposedAndDecomposedTextPrintAlike(t *testing.T) {
	for _, m := range menus() {
		decomposed := m
		for _, s := range []*string{&decomposed.short, &decomposed.long, &decomposed.modifier, &decomposed.say} {
			*s = norm.NFD.String(*s)
		}
		want, got := Compose(m.order(), 42, "x"), Compose(decomposed.order(), 42, "x")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: composed and decomposed differ:\n%s", m.script, diff)
		}
	}
}

func TestJoinersLeaveNoGap(t *testing.T) {
	for in, want := range map[string]string{
		"Kartoffel\u00adsuppe":  "Kartoffelsuppe",
		"👨\u200d🍳":              "👨🍳",
		"ක\u0dca\u200dරීම්":     "ක\u0dcaරීම්",
		"क\u094d\u200cष":        "क\u094dष",
		"نمی\u200cخواهم":        "نمی خواهم",
		"a\u2060b\u200bc\u00ad": "ab c",
	} {
		var c composer
		if got := c.text(in); got != want {
			t.Errorf("%+q prints %+q, want %+q", in, got, want)
		}
	}
}

func TestScriptsWithoutSpacesBreakWhereAllowed(t *testing.T) {
	for _, c := range []struct {
		text string
		room int
		want []string
	}{
		{"宫保鸡丁", 8, []string{"宫保鸡丁"}},
		{"宫保鸡丁", 5, []string{"宫保", "鸡丁"}},
		{"宫保鸡丁、辣", 8, []string{"宫保鸡", "丁、辣"}},
		{"Hot 宫保鸡丁辣", 8, []string{"Hot 宫保", "鸡丁辣"}},
		{"Hot 宫保鸡", 8, []string{"Hot", "宫保鸡"}},
		{"すし（辛い）", 7, []string{"すし", "（辛", "い）"}},
		{"ラーメン", 4, []string{"ラー", "メン"}},
		{"か\u3099か\u3099", 2, []string{"か\u3099", "か\u3099"}},
		{"漢\u0301x", 2, []string{"漢\u0301", "x"}},
		{"Coca-Cola宫保鸡丁", 9, []string{"Coca-Cola", "宫保鸡丁"}},
		{"。。。。。。", 4, []string{"。。", "。。", "。。"}},
		{"ข้าวผัดไก่ใส่ไข่", 8, []string{"ข้าวผัดไก่", "ใส่ไข่"}},
		{"비빔밥 비빔밥", 7, []string{"비빔밥", "비빔밥"}},
	} {
		got := wrap(c.text, c.room)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q on %d columns (-want +got):\n%s", c.text, c.room, diff)
		}
	}
}

func TestRightToLeftLinesAreAlignedAtTheRight(t *testing.T) {
	var c composer
	c.columns = 16
	c.flow(paragraph{label: []Span{{Text: "2x "}}, text: "שווארמה בלאפה cola עם קרח"})
	c.flow(paragraph{text: "hummus עם קרח and then some"})
	var got []string
	for _, l := range c.lines {
		s := ""
		for _, p := range l.Spans {
			s += p.Text
			if p.Direction != FirstStrong {
				s += [...]string{LeftToRight: ">", RightToLeft: "<"}[p.Direction]
			}
		}
		got = append(got, s)
	}
	want := []string{"2x שווארמה בלאפה<", "      cola עם קרח<"[1:], "hummus עם קרח>", "and then some>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
