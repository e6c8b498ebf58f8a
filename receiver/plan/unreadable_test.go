package plan

import (
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestANoteOfAnotherTypeIsQuoted(t *testing.T) {
	for _, c := range [][2]string{
		{`[{"text":"no nuts"}]`, "no nuts"}, {`{"text":" no nuts "}`, "no nuts"}, {`{"note":"x"}`, "x"},
		{`{"value":"x","id":7,"_at":"now","name":null,"more":[]}`, "x"},
		{`{"name":"nuts","quantity":0}`, `{"name":"nuts","quantity":0}`},
		{`{"name":"nuts","value":"none"}`, `{"name":"nuts","value":"none"}`},
		{`{"allergens":["nuts"]}`, `{"allergens":["nuts"]}`}, {`{"nuts":false}`, `{"nuts":false}`},
		{`{"text":7}`, `{"text":7}`}, {`{"id":7,"_at":"now"}`, `{"id":7}`}, {`7`, "7"}, {`0`, "0"}, {`true`, "true"},
		{`[7,"x",["y"],{"message":"z"},false,null,{},[],"",7]`, `7/x/["y"]/z`}, {`{}`, ""}, {`[]`, ""}, {`null`, ""},
		{`false`, ""}, {`""`, ""}, {`" "`, ""}, {`[[],{"text":""},[null]]`, ""},
	} {
		in, want := c[0], c[1]
		for _, p := range fields[fieldNote].paths {
			got := strings.Join(only(t, Config{}, "", `"name":"Pie","`+p+`":`+in).Lines[0].Notes, "/")
			assert.Equal(t, got, want, p, in)
		}
		for _, p := range fields[fieldRecordNote].paths {
			assert.Equal(t, strings.Join(only(t, Config{}, `"`+p+`":`+in, `"name":"Pie"`).Notes, "/"), want, p, in)
		}
	}
	// The layout of a receipt is no note.
	got := only(t, Config{}, `"instructions":[{"command":"TEXT","value":"B10"}]`, `"name":"Pie"`)
	assert.True(t, got.Notes == nil, got.Notes)
}

func TestAVoidThatCannotBeReadIsAQuestion(t *testing.T) {
	for _, c := range [][2]string{
		{`"isVoid":{"value":true}`, `isVoid.value: true`}, {`"void":["x"]`, `void: x`},
		{`"voided":" Maybe "`, `voided: Maybe`}, {`"isVoid":2,"void":"-1"`, `isVoid: 2, void: -1`},
		{`"isVoid":null`, ``}, {`"isVoid":false`, ``}, {`"isVoid":0`, ``}, {`"isVoid":-0.0`, ``}, {`"isVoid":""`, ``},
		{`"isVoid":" "`, ``}, {`"isVoid":"False"`, ``}, {`"isVoid":"0"`, ``}, {`"isVoid":"NO"`, ``},
		{`"isVoid":"n"`, ``}, {`"isVoid":{},"void":true`, ``}, // it is one
		{`"status":{"name":"VOIDED"}`, `status.name: VOIDED`},
		{`"kdsStatus":["VOID"],"status":9`, `kdsStatus: VOID/status: 9`}, {`"status":"FIRED","kdsStatus":null`, ``},
	} {
		l, tk := only(t, Config{}, "", `"name":"Pie",`+c[0]).Lines[0], only(t, Config{}, c[0], `"name":"Pie"`)
		item := strings.Join(append([]string{l.MayCancel}, l.Notes...), "/")
		record := strings.Join(append([]string{tk.MayCancel}, tk.Notes...), "/")
		assert.True(t, item == c[1] && record == c[1], c[0], item, record, c[1])
	}
	// A quotation hides nothing of a record that has nothing else to show.
	tk := split(t, Config{}, `{"id":"r","items":[],"meal":"Pie","isVoid":{"value":true}}`).Request.Drafts[0].Ticket
	assert.True(t, strings.Contains(tk.Raw, `"meal":"Pie"`) && tk.Notes == nil, tk.Raw, tk.Notes)
}

func TestARecordWithARepeatedKeyPrintsAsItCameAtTheFallback(t *testing.T) {
	const fine = `{"id":"s","items":[{"name":"Soup"}]}`
	const odd = `{"id":"r","number":1,"items":[{"name":"Pie","name":"Ale"}]}`
	c := Config{Fallback: "pass", Routes: []Route{{To: []string{"grill"}}}}
	p := compile(t, c)
	r := p.Split(parse(t, `{"brand":"North","records":[`+odd+`,`+fine+`]}`), harbour, "T1", noon, nil)
	d := r.Request.Drafts
	assert.True(t, len(d) == 1 && d[0].Station == "pass" && d[0].Ticket.Raw == `[`+odd+`,`+fine+`]` &&
		d[0].Ticket.Lines == nil && d[0].Ticket.Record == "r" && d[0].Ticket.Notes[0] == "brand: North", d)
}
