package contract

import (
	"fmt"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
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
		assert.True(t, strings.HasPrefix(p.ID, want) && len(p.ID) <= 100, body, p.ID, want)
	}
	const body = `{"records":[{"retryCount":0,"_at":[1],"items":[{"n":"x","_y":{"z":1}}]}],"stamp":1}`
	for other, want := range map[string]bool{
		strings.Replace(body, `"retryCount":0`, `"retryCount":{"n":[2]}`, 1): true,
		strings.Replace(body, `"stamp":1`, `"stamp":"later"`, 1):             true,
		strings.Replace(body, `"z":1`, `"z":[2,3]`, 1):                       true,
		strings.Replace(body, `"x"`, `"y"`, 1):                               false,
		strings.Replace(body, `"n":"x"`, `"n":["x"]`, 1):                     false,
	} {
		assert.Equal(t, same(body, other), want, other, !want)
	}
	p, _ := Open([]byte(strings.Repeat("x", maxText)), Text)
	assert.True(t, !p.Cut && len(p.Records[0].Unreadable) == maxText, "of a text of the largest size",
		len(p.Records[0].Unreadable))
	assert.True(t, !same(`{"x":1}`, `{"x":2}`) && !same("a", "b"), "without records two bodies are the same")
}

func TestARetryHasTheSameContent(t *testing.T) {
	digest := func(record, beside string) ticket.Digest {
		p, err := Open([]byte(`{"records":[{"id":"a","items":[],`+record+`}],`+beside+`}`), Lenient)
		assert.True(t, err == nil && p.Content != (ticket.Digest{}), record, beside, err)
		return p.Content
	}
	const record = `"retryCount": 1,"_at":{"t":["1"]},"s":"x"`
	const beside = `"sentAt":"2026-11-20T19:30:00.5Z","note":"\"1,"`
	first := digest(record, beside)
	for _, c := range []struct {
		record, beside string
		same           bool
	}{
		{`"retryCount":22,"_at":"[}","s":"x"`, `"sentAt": "2027-01-01T00:00:00+01:00","note":"\"1,"`, true},
		{record, `"sentAt":1770000060 ,"note":"\"1,"`, true},
		{`"retryCount": 1,"_at":3,"s":"x","at":1770000060`, beside, false},
		{`"retryCount" : 1` + "\n" + `,"_at":3,"s":"x"`, beside, true},
		{`"retryCount": 1,"_at":3,"s":"_x"`, beside, false},
		{`"retryCount": 1,"_at":3,"s":"2026-11-20T19:30:00Z"`, beside, false},
		{record, `"sentAt":"2026-11-20T19:30:00.5Z","note":"peanuts"`, false},
		{record, `"sentAt":"tomorrow","note":"\"1,"`, false},
		{record, `"sentAt":" 2026-11-20T19:30:00Z ","note":"\"1,"`, true},
		{record + `,"n":1,"n":1`, beside, false},
	} {
		assert.Equal(t, digest(c.record, c.beside) == first, c.same, c.record, c.beside)
	}
	inside := func(at string) ticket.Digest { return digest(record, beside+`,"x":{"at":`+at+`}`) }
	assert.True(t, inside("1770000060") != inside("1770000061"), "a time that is not directly in the body differs")
	for member, same := range map[string]bool{
		`"duration":`: true, `"serverClientDrift":`: true, `"readAt":177000000`: true, `"dueling_at":177000000`: true,
		`"pickupTime":177000000`: false, `"ready_by":177000000`: false, `"_allergies":`: false, `"tables":`: false,
	} {
		assert.Equal(t, digest(record, member+"1") == digest(record, member+"2"), same, member)
	}
	assert.Equal(t, digest(record+`,"updatedAt":177000000`+"1", beside), digest(record+`,"updatedAt":177000000`+"2",
		beside), "an order that was updated for the retry is another one")
	long := `,"t":["` + strings.Repeat("x", 2*hashAtOnce) + `",1,2]`
	assert.True(t, digest(record+long, beside) != digest(strings.Replace(record, `"x"`, `"y"`, 1)+long, beside),
		"the beginning of a long order does not count")
}

func TestTheContentIsThatOfEarlierVersions(t *testing.T) { // or a retry that comes after an upgrade prints again
	p, err := Open(Example("burger.json"), Lenient)
	assert.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("%x", p.Content), "d487b2adb6e765257e31961aadfedb73")

	p, err = Open([]byte(`{"records":[{"id":"a"`), Text)
	assert.True(t, err == nil && p.Content == (ticket.Digest{}), "a body that is not JSON has no content", err)
}

func TestATextForPeopleIsOneShortVisibleLine(t *testing.T) {
	for in, want := range map[string]string{
		"Jon\x1b[31m\x00\n\r\tA\u0085.": "Jon [31m A .", "\u202eevil\u2066\ufeff \xff\xfeEve": "evil Eve",
		"Zoë Ł. \u00a0 مریم\u200cها 李": "Zoë Ł. مریم\u200cها 李", strings.Repeat("é", 80): strings.Repeat("é", 50),
		strings.Repeat("x", 99) + " y": strings.Repeat("x", 99), " \x00\u200d": "",
	} {
		got := OneLine(in, 100)
		assert.True(t, got == want && OneLine(got, 100) == want, in, got, want)
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
