package receiver

import (
	"bytes"
	"strings"
	"testing"

	"ticketrail/receiver/contract"
)

// FuzzBody posts any body: it is stored as it was sent, and a refused one is kept as it was sent.
func FuzzBody(f *testing.F) {
	f.Add([]byte(burger))
	f.Add([]byte("\ufeff" + burger))
	f.Add([]byte("{\"records\":[{\"id\":\"\xff\\ud800\",\"items\":null}]}"))
	f.Add([]byte(`{"records":[{"id":"a","items":[` + strings.Repeat("{},", 200) + `{}]}]}`))
	b := newTestbed(f, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		b.rejects, b.intake.stored = nil, nil
		if w := b.do(post(body)); w.Code != 200 {
			code, _ := errorOf(t, w.Body.Bytes())
			if code.Status() != contract.HTTPBadRequest || !bytes.Equal(b.rejected()[0].Body, body) {
				t.Fatalf("%s; kept %q", code, b.rejected()[0].Body)
			}
			return
		}
		want := bytes.TrimPrefix(body, []byte("\ufeff"))
		if q := b.intake.requests(); len(q) != 1 || !bytes.Equal(q[0].Body, want) || len(q[0].Drafts) == 0 {
			t.Fatalf("stored %+v", q)
		}
	})
}
