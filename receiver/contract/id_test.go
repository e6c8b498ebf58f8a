package contract

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"ticketrail/deploy/assert"
)

func TestAnIdThatIsNotUnicodeShowsItsBytesAndIsLikeNoOther(t *testing.T) {
	seen := map[string]string{}
	for id, want := range map[string]string{ // blank: any
		"a\xff": `"a\xff"`, `a\ud800b`: `"a\\ud800b"`, "\\t\xff": `"\\t\xff"`, `\ud83c\udf54\n`: "🍔\n",
		"a\xfe": "", "a\xff\xff": "", "a\uFFFD": "", `a\ud800`: "", `a\ud801`: "", `a\udc00`: "", `a\ud800\ud800`: "",
		`a\udc00\ud800`: "", `a\ud800\n`: "", `a\ud800n`: "", `a\"\ud800`: "", "\xc0\xaf": "", "\xff\\/": "",
	} {
		p, err := Open(bodyOf(id), Lenient)
		if err != nil || p.Records[0].ID != p.ID || want != "" && p.ID != want {
			t.Errorf("%q: %q, %v, want %q", id, p.ID, err, want)
			continue
		}
		other, known := seen[p.ID]
		assert.True(t, !known, id, other, p.ID)
		assert.True(t, utf8.ValidString(p.ID), id, p.ID)
		seen[p.ID] = id
	}
}

func bodyOf(id string) []byte {
	return fmt.Appendf(nil, `{"records":[{"id" : "%s" ,"items":[]}]}`, id)
}
