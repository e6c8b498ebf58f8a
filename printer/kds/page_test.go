package kds_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

var hostile = []string{
	`<img src=x onerror=alert(1)>`, `</script><script>alert(1)</script>`, `"><svg onload=alert(1)>`,
	`' onclick='alert(1)`, "a\x1b[31m\u202eb\x00", `&lt;b&gt;`, `<!-- `, `]]>`, "x\u2028y",
}

func TestHostileTextOnAPageIsText(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		for i, s := range hostile {
			tk := ticket.Ticket{
				Request: s, Number: s, Table: s, Server: s, Type: s, Guests: s, Destination: s, Course: s,
				VenueName: s, Notes: []string{s}, Received: time.Now(),
				Lines: []ticket.Line{{Quantity: s, Name: s, Notes: []string{s}, Seat: s, Course: s}},
			}
			assert.NoError(t, w.screens["hot-line"].Board().Add(t.Context(),
				ticket.Delivery{Job: uint64(i + 1), Ticket: tk, For: s, Down: s}))
		}
		_, page, _ := w.get(w.client("127.0.0.1"), "/screen/hot-line")
		for _, s := range hostile {
			assert.True(t, !strings.ContainsAny(s, "<>&") || !strings.Contains(page, s), s)
		}
		assert.True(t, !strings.ContainsAny(page, "\x00\x1b\u202e\u2028") &&
			strings.Contains(page, `onerror=alert(1)`), "the page has control characters, or not the text")
	})
}

// tooNewFor2020 matches features that browsers of 2020 do not know. The oldest that must work is Chromium
// 80.
var tooNewFor2020 = map[string]*regexp.Regexp{
	".js": regexp.MustCompile(`\.at\(|replaceAll|replaceChildren|structuredClone|randomUUID|` +
		`Object\.hasOwn|\?\?=|\|\|=|&&=|\bawait import|^await |^\s+#\w+|static \{|` +
		`Promise\.any|\.findLast|toSorted|AbortSignal\.(timeout|any)|Array\.fromAsync|\d_\d|/v\b`),
	".css": regexp.MustCompile(`:has\(|:is\(|:where\(|:focus-visible|\binset:|` +
		`aspect-ratio|@layer|@container|color-mix|:not\([^()]*,|\bdvh\b|\bsvh\b|` +
		`^\s*&|accent-color|(^|[^-])\bgap:|row-gap|` +
		`content-visibility|margin-inline|padding-inline|backdrop-filter`),
}

func TestThePageUsesNothingThatBrowsersOf2020DoNotKnow(t *testing.T) {
	files, err := fs.Glob(os.DirFS("web"), "*")
	assert.True(t, err == nil && len(files) >= 10, files, err)
	for _, name := range files {
		b, err := os.ReadFile("web/" + name)
		assert.NoError(t, err)
		for ext, bad := range tooNewFor2020 {
			if !strings.HasSuffix(name, ext) {
				continue
			}
			for n, line := range strings.Split(string(b), "\n") {
				code, _, _ := strings.Cut(line, "//")
				assert.True(t, !bad.MatchString(code) || strings.HasPrefix(strings.TrimSpace(code), "/*"), name, n+1,
					strings.TrimSpace(line))
			}
		}
	}
}
