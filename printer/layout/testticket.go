package layout

import (
	"cmp"
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// scripts are names of dishes in writing systems that printers often lack, from the most common to the rarest.
var scripts = [...]struct{ name, example string }{
	{"Latin", "Crème brûlée, jalapeño, Žižkov, ½ l"},
	{"Euro", "12 €"},
	{"Vietnamese", "Phở bò, bánh mì"},
	{"Greek", "Μουσακάς"},
	{"Cyrillic", "Борщ, вареники"},
	{"Hebrew", "חומוס"},
	{"Arabic", "كباب"},
	{"Thai", "ผัดไทย"},
	{"Devanagari", "पनीर टिक्का"},
	{"Kana", "すし ラーメン"},
	{"Han", "宫保鸡丁 麻婆豆腐"},
	{"Hangul", "비빔밥"},
	{"Emoji", "🌶"},
}

// test prints a sample of everything that the printer can do, and says in words where to look and when to listen, so
// that the person who sets up the printer can judge the slip without a manual.
func (c *composer) test(t *ticket.Ticket) {
	say := func(s string) { c.flow(paragraph{text: s}) }
	heading := func(s string) { c.ruled(s, "-", Style{Bold: true}) }

	heading("width")
	say(strconv.Itoa(c.columns) + " columns: the digits fill one line from edge to edge, no more and no less.")
	// A missing or wrapped digit shows that the configured width is wrong.
	c.add(Line{Spans: []Span{{Text: strings.Repeat("1234567890", c.columns/10+1)[:c.columns]}}})

	heading("sizes")
	for _, s := range []Span{
		{Text: "normal", Style: Style{}},
		{Text: "1 wide, 2 high", Style: Style{Height: 2}},
		{Text: "2 wide", Style: Style{Width: 2}},
		{Text: "2 x 2", Style: Style{Width: 2, Height: 2}},
	} {
		c.add(Line{Spans: []Span{s}})
	}

	heading("styles")
	c.flow(paragraph{text: "bold, darker than the rest", style: Style{Bold: true}})
	c.flow(paragraph{text: "white on black", style: Style{Invert: true}, fill: true})
	c.flow(paragraph{text: "red, if it has two colours", style: Style{Red: true}})

	st := voidStyle(Style{Bold: true}, true)
	c.framed(func() {
		c.flow(paragraph{mark: c.voidMark(true, st), text: "is how a cancelled line looks", style: st, fill: true})
	})
	c.alarmIf(true, func() { c.flow(paragraph{text: c.cookText("how an allergy looks")}) })

	heading("letters")
	say("What the printer cannot draw stands here in Latin letters between ~tildes~, or as its " +
		"name in brackets; no question mark stands for a letter.")
	for _, s := range scripts {
		label := s.name + ":" + spaces(max(12-len(s.name)-1, 1))
		c.flow(paragraph{label: []Span{{Text: label}}, text: c.text(s.example)})
	}

	heading("code")
	say("A telephone's camera reads the code as the letters below it.")
	c.qr(cmp.Or(Clean(t.Request), "ticketrail"))

	heading("buzzer and cut")
	say("One beep before this slip, if there is a buzzer. " +
		"Then one cut below the last line, if there is a blade, through no letter.")
}
