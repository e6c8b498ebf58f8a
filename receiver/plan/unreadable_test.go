package plan

import (
	"strings"
	"testing"
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
			if got := strings.Join(only(t, Config{}, "", `"name":"Pie","`+p+`":`+in).Lines[0].Notes, "/"); got != want {
				t.Errorf("%s %s of an item: %q, want %q", p, in, got, want)
			}
		}
		for _, p := range fields[fieldRecordNote].paths {
			if got := strings.Join(only(t, Config{}, `"`+p+`":`+in, `"name":"Pie"`).Notes, "/"); got != want {
				t.Errorf("%s %s of a record: %q, want %q", p, in, got, want)
			}
		}
	}
	// The layout of a receipt is no note.
	if got := only(t, Config{}, `"instructions":[{"command":"TEXT","value":"B10"}]`, `"name":"Pie"`); got.Notes != nil {
		t.Errorf("%q", got.Notes)
	}
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
		if item != c[1] || record != c[1] {
			t.Errorf("%s of an item: %q, of a record: %q, want %q", c[0], item, record, c[1])
		}
	}
	// A quotation hides nothing of a record that has nothing else to show.
	tk := split(t, Config{}, `{"id":"r","items":[],"meal":"Pie","isVoid":{"value":true}}`).Request.Drafts[0].Ticket
	if !strings.Contains(tk.Raw, `"meal":"Pie"`) || tk.Notes != nil {
		t.Errorf("%q, %q", tk.Raw, tk.Notes)
	}
}

func TestARecordWithARepeatedKeyPrintsAsItCameAtTheFallback(t *testing.T) {
	const fine = `{"id":"s","items":[{"name":"Soup"}]}`
	const odd = `{"id":"r","number":1,"items":[{"name":"Pie","name":"Ale"}]}`
	c := Config{Fallback: "pass", Routes: []Route{{To: []string{"grill"}}}}
	p := compile(t, c)
	r := p.Split(parse(t, `{"brand":"North","records":[`+odd+`,`+fine+`]}`), harbour, "T1", noon, nil)
	d := r.Request.Drafts
	if len(d) != 1 || d[0].Station != "pass" || d[0].Ticket.Raw != `[`+odd+`,`+fine+`]` ||
		d[0].Ticket.Lines != nil || d[0].Ticket.Record != "r" || d[0].Ticket.Notes[0] != "brand: North" {
		t.Errorf("%+v", d)
	}
}
