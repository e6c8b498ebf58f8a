package contract

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"
)

func TestAnIdThatIsNotUnicodeShowsItsBytesAndIsLikeNoOther(t *testing.T) {
	seen := map[string]string{}
	for id, want := range map[string]string{ // blank: any
		"a\xff": `"a\xff"`, `a\ud800b`: `"a\\ud800b"`, "\\t\xff": `"\\t\xff"`,
		"a\xfe": "", "a\xff\xff": "", "a\uFFFD": "", `a\ud800`: "", `a\ud801`: "", `a\udc00`: "", `a\ud800\ud800`: "",
		`a\udc00\ud800`: "", `a\ud800\n`: "", `a\ud800n`: "", `a\"\ud800`: "", "\xc0\xaf": "", "\xff\\/": "",
	} {
		p, err := Open(bodyOf(id), Lenient)
		if err != nil || p.Records[0].ID != p.ID || want != "" && p.ID != want {
			t.Errorf("%q: %q, %v, want %q", id, p.ID, err, want)
			continue
		}
		if other, known := seen[p.ID]; known {
			t.Errorf("%q and %q are both %q", id, other, p.ID)
		}
		if !utf8.ValidString(p.ID) {
			t.Errorf("%q becomes %q, which JSON cannot store", id, p.ID)
		}
		seen[p.ID] = id
	}
}

func TestAnIdThatIsUnicodeIsTheTextThatItSpells(t *testing.T) {
	for _, id := range []string{`A`, `\u0041`, `\uFFFD`, "\uFFFD",
		`\uFFFD\ud83c\udf54\n\"\\\/\b\f\r\t`, `\ufffd\u00e9`} {
		var want string
		if err := json.Unmarshal([]byte(`"`+id+`"`), &want); err != nil {
			t.Fatal(err)
		}
		if p, err := Open(bodyOf(id), Lenient); err != nil || p.ID != want {
			t.Errorf("%s: %q, %v, want %q", id, p.ID, err, want)
		}
	}
}

func TestABodyThatPrintsAsTextHasTheIdThatOpenWouldFind(t *testing.T) {
	for _, id := range []string{"a", "a\xff", "a\xfe", `\ud800`, "\uFFFD"} {
		body := append([]byte("\xef\xbb\xbf"), bodyOf(id)...)
		p, err := Open(body, Lenient)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := Open(body, Text); err != nil || text.ID != p.ID || text.Records[0].ID != p.ID {
			t.Errorf("%q: %q, %v, want %q", id, text.ID, err, p.ID)
		}
	}
}

func bodyOf(id string) []byte {
	return fmt.Appendf(nil, `{"records":[{"id" : "%s" ,"items":[]}]}`, id)
}
