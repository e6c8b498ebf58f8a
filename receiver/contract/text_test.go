package contract

import (
	"strings"
	"testing"
)

func TestTheTextOfABodyHasTheIdOfItsFirstRecordAndIsEqualForARetry(t *testing.T) {
	const id = "9B2E7C1A-4F0D-4C53-8D8E-0A5F6A3C1B01"
	same := func(a, b string) bool {
		one, _ := Open([]byte(a), Text)
		two, _ := Open([]byte(b), Text)
		return one.ID == two.ID && one.Records[0].Unreadable == two.Records[0].Unreadable
	}
	for _, c := range [][2]string{
		{`{"records":[{"items":[{"id":"item"}],"id":"` + id + `"}]}`, strings.ToLower(id)},
		{`{"x":{"id":"no"},"records":[{"id":"a"},{"id":"b"}]}`, "a"},
		{`{"records":[{"retryCount":1},{"id":"b"}]}`, "text-"},
		{`{"records":[{"id":"` + strings.Repeat("x", 201) + `"}]}`, "text-"}, {`{"records":[{"id":7}]}`, "text-"},
		{`{"records":[{"x":{"id":"no"},"id":"a"}]}`, "a"}, {`nothing`, "text-"},
	} {
		body, want := c[0], c[1]
		p, _ := Open([]byte(body), Text)
		if !strings.HasPrefix(p.ID, want) || len(p.ID) > 100 {
			t.Errorf("%.60s: id %q, want %q", body, p.ID, want)
		}
	}
	const body = `{"records":[{"retryCount":0,"_at":[1],"items":[{"n":"x","_y":{"z":1}}]}],"stamp":1}`
	for other, want := range map[string]bool{
		strings.Replace(body, `"retryCount":0`, `"retryCount":{"n":[2]}`, 1): true,
		strings.Replace(body, `"stamp":1`, `"stamp":"later"`, 1):             true,
		strings.Replace(body, `"z":1`, `"z":[2,3]`, 1):                       true,
		strings.Replace(body, `"x"`, `"y"`, 1):                               false,
		strings.Replace(body, `"n":"x"`, `"n":["x"]`, 1):                     false,
	} {
		if same(body, other) != want {
			t.Errorf("%s: same %v", other, !want)
		}
	}
	if p, _ := Open([]byte(strings.Repeat("x", maxText)), Text); p.Cut || len(p.Records[0].Unreadable) != maxText {
		t.Errorf("of a text of the largest size %d bytes print", len(p.Records[0].Unreadable))
	}
	if same(`{"x":1}`, `{"x":2}`) || same("a", "b") {
		t.Error("without records two bodies are the same")
	}
}

func FuzzTheTextOfAnyBodyIsBounded(f *testing.F) {
	f.Add([]byte(`{"records":[{"id":"a","items":[]}]}`))
	f.Add([]byte(`{"records":[[{"id":"a"}],{"id":"b"}]}` + "\xff\x1b"))
	f.Add([]byte(`[{"records":1}`))
	for _, id := range []string{"a\xff", `\ud800`, "\uFFFD", `\uFFFD\ud83c\udf54\n\"\\\/\b\f\r\t`, `\ufffd\u00e9`} {
		f.Add(append([]byte("\xef\xbb\xbf"), bodyOf(id)...))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := Open(body, Text)
		r := p.Records[0]
		if len(p.Records) != 1 || p.ID == "" || len(p.ID) > MaxIDBytes || err != nil ||
			len(r.Unreadable) > 3*maxText+60 {
			t.Fatalf("%+v", p)
		}
		if q, bad := Open(body, Lenient); bad == nil && q.Anomalies == nil && q.ID != p.ID {
			t.Fatalf("%q has the id %q and as text %q", body, q.ID, p.ID)
		}
	})
}
