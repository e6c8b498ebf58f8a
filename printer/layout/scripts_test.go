package layout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestComposedAndDecomposedTextPrintAlike(t *testing.T) {
	for _, text := range []string{"Žižkover Jalapeño-Soße", "Phở bò tái", "Μαϊντανό", "їжа", "がぎぐ ギョーザ", "돌솥비빔밥"} {
		with := func(s string) []Line {
			return Compose(order(ticket.Line{Quantity: "1", Name: s, Notes: []string{s}}), 42, s)
		}
		assert.Equal(t, cmp.Diff(with(text), with(norm.NFD.String(text))), "", text)
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
		assert.Equal(t, c.text(in), want, in)
	}
}

func TestTextWithoutSpacesBreaksWhereAllowed(t *testing.T) {
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
		{`{"id":"a1","qty":2,"size":"1,5l"}`, 16, []string{`{"id":"a1",`, `"qty":2,`, `"size":"1,5l"}`}},
		{"비빔밥 비빔밥", 7, []string{"비빔밥", "비빔밥"}},
	} {
		assert.Equal(t, cmp.Diff(c.want, wrap(c.text, c.room)), "", c.text, c.room)
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
	assert.Equal(t, cmp.Diff(want, got), "")
}
