package receiver

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
)

func TestOfARefusedCompressedBodyWhatItHoldsIsKept(t *testing.T) {
	long := `{"note":"` + noise(5000) + `"}`
	damaged := compressed(long)
	damaged[len(damaged)-5]++
	bomb := compressed(strings.Repeat(" ", 1<<20))
	for name, c := range map[string]struct {
		body    []byte
		code    Code
		message string
		kept    string // how the kept body begins
		whole   bool
	}{
		"another shape": {compressed(long), SchemaMismatch, "records: missing", long, true},
		"breaks off": {compressed(long)[:2000], InvalidJSON, "the compressed body ends in the middle", long[:1000],
			false},
		"damaged":   {damaged, InvalidJSON, "the compressed body is damaged", long, false},
		"no header": {[]byte("\x1f\x8b"), InvalidJSON, "the compressed body ends in the middle", "\x1f\x8b", false},
		"too large": {compressed(strings.Repeat(long, 40)), BodyTooLarge, "the body is larger than 150000 bytes", long,
			false},
		"a bomb": {bomb, BodyTooLarge, "the body is more than 100 times larger than its compressed form", "    ",
			false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, func(_ *Options, p *Policy) { p.MaxBody = 150_000 })
			w := b.do(post(c.body))
			code, message := errorOf(t, w.Body.Bytes())
			assert.True(t, code == c.code && message == c.message, code, message)
			kept := b.rejected()[0]
			assert.True(t, strings.HasPrefix(string(kept.Body), c.kept) && kept.Truncated != c.whole &&
				len(kept.Body) <= 150_001, len(kept.Body), kept.Truncated, string(kept.Body))
			assert.Equal(t, b.largeReserved.Load(), 0)
		})
	}
	b := newTestbed(t, nil)
	req := post(compressed(burger))
	req.Header.Set("Content-Type", "text/plain")
	b.do(req)
	assert.Equal(t, string(b.rejected()[0].Body), burger)
}

// FuzzBody posts any body, as it is and compressed: both get the same answer, and what is stored is what was
// sent.
func FuzzBody(f *testing.F) {
	f.Add([]byte(burger))
	f.Add([]byte("\ufeff" + burger))
	f.Add(compressed(burger))
	f.Add([]byte("{\"records\":[{\"id\":\"\xff\\ud800\",\"items\":null}]}"))
	f.Add([]byte(`{"records":[{"id":"a","items":[` + strings.Repeat("{},", 200) + `{}]}]}`))
	one, two := newTestbed(f, nil), newTestbed(f, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, b := range []*testbed{one, two} {
			b.rejects, b.intake.stored = nil, nil
		}
		if bytes.HasPrefix(body, gzipMagic) { // compressed twice is not read
			one.do(post(body))
			return
		}
		// A proxy may have decompressed it and left the header, or the reverse.
		req := post(body)
		req.Header.Set("Content-Encoding", "gzip")
		plain, packed := one.do(req), two.do(post(compressed(string(body))))
		if plain.Code != packed.Code || plain.Body.String() != packed.Body.String() {
			t.Fatalf("%d %s, compressed %d %s", plain.Code, plain.Body, packed.Code, packed.Body)
		}
		if plain.Code != 200 {
			if code, _ := errorOf(t, plain.Body.Bytes()); code.Status() != contract.HTTPBadRequest ||
				!bytes.Equal(one.rejected()[0].Body, body) || !bytes.Equal(two.rejected()[0].Body, body) {
				t.Fatalf("%s; kept %q and %q", code, one.rejected()[0].Body, two.rejected()[0].Body)
			}
			return
		}
		want := bytes.TrimPrefix(body, []byte("\ufeff"))
		for _, b := range []*testbed{one, two} {
			if q := b.intake.requests(); len(q) != 1 || !bytes.Equal(q[0].Body, want) || len(q[0].Drafts) == 0 {
				t.Fatalf("stored %+v", q)
			}
		}
	})
}

func compressed(body string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, body)
	_ = w.Close()
	return b.Bytes()
}

// noise is text that hardly compresses.
func noise(n int) string {
	var b strings.Builder
	for x := uint32(1); b.Len() < n; {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		fmt.Fprintf(&b, "%08x", x)
	}
	return b.String()
}
