package posapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	maxQuote   = 200 // bytes of an answer that an error repeats
	hushed     = "[secret]"
	maxWords   = 64       // that a hush remembers
	minWord    = 6        // bytes of a secret that is taken out of names and the like
	textWindow = 16 << 10 // bytes of an answer that are looked at to quote it
)

// A hush knows what must not be said: the client secret and the venue's tokens, the latest of
// them, in every spelling in which a server or a proxy may give them back.
type hush struct {
	mu    sync.Mutex
	words []string // the latest last; guarded by mu
}

func (h *hush) add(secrets ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted, _ := json.Marshal(s)
		query, path := url.QueryEscape(s), url.PathEscape(s)
		for _, w := range []string{
			s, string(quoted[1 : len(quoted)-1]), strings.ReplaceAll(s, "/", `\/`), strings.ReplaceAll(s, `"`, `\"`),
			query, path, lowerEscapes(query), lowerEscapes(path), html.EscapeString(s), base64.StdEncoding.EncodeToString([]byte(s)),
		} {
			if i := slices.Index(h.words, w); i >= 0 {
				h.words = slices.Delete(h.words, i, i+1)
			}
			h.words = append(h.words, w)
		}
	}
	if n := len(h.words) - maxWords; n > 0 {
		h.words = slices.Delete(h.words, 0, n)
	}
}

// lowerEscapes has %2f for %2F, as some servers write it.
func lowerEscapes(s string) string {
	return escape.ReplaceAllStringFunc(s, strings.ToLower)
}

var escape = regexp.MustCompile(`%[0-9A-F]{2}`)

// body takes the secrets out of an answer, before anybody reads it. JSON stays JSON, and words
// too short for a secret stay what they are: a name.
func (h *hush) body(b []byte) []byte {
	out := h.without(b, minWord)
	if same := len(b) == 0 || len(out) > 0 && &out[0] == &b[0]; !same && json.Valid(b) && !json.Valid(out) {
		return h.literals(b, true) // it stood in a number, and may stand in a string as well
	}
	if bytes.IndexByte(out, '\\') >= 0 && json.Valid(out) {
		return h.literals(out, false)
	}
	return out
}

// broken is [hush.body] of an answer that broke off, maybe in the middle of a secret.
func (h *hush) broken(b []byte) []byte {
	h.mu.Lock()
	words := slices.Clone(h.words)
	h.mu.Unlock()
	half := 0 // bytes at the end of b that a secret begins with
	for _, w := range words {
		for n := min(len(w)-1, len(b)); n >= minWord && n > half; n-- {
			if bytes.HasSuffix(b, []byte(w[:n])) {
				half = n
			}
		}
	}
	if half > 0 {
		b = append(slices.Clone(b[:len(b)-half]), hushed...)
	}
	return h.body(b)
}

// literals does the same for the strings of JSON: all, or those that are written with escapes, of
// which there is more than one way.
func (h *hush) literals(b []byte, all bool) []byte {
	var out []byte
	done := 0 // b up to there is in out
	for i := bytes.IndexByte(b, '"'); i >= 0 && i < len(b); i++ {
		if b[i] != '"' {
			continue
		}
		end := i + 1
		for b[end] != '"' {
			if b[end] == '\\' {
				end++
			}
			end++
		}
		var s string
		if (all || bytes.IndexByte(b[i:end], '\\') >= 0) && json.Unmarshal(b[i:end+1], &s) == nil {
			if clean := h.without([]byte(s), minWord); string(clean) != s {
				quoted, _ := json.Marshal(string(clean))
				out = append(append(out, b[done:i]...), quoted...)
				done = end + 1
			}
		}
		i = end
	}
	return append(out, b[done:]...)
}

// without replaces the words of at least that many bytes, longer ones before those they hold.
func (h *hush) without(b []byte, atLeast int) []byte {
	h.mu.Lock()
	words := slices.Clone(h.words)
	h.mu.Unlock()
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	for _, w := range words {
		if len(w) >= atLeast && bytes.Contains(b, []byte(w)) {
			b = bytes.ReplaceAll(b, []byte(w), []byte(hushed))
		}
	}
	return b
}

// Text that is a secret by its place or shape, whoever's it is.
var (
	secretMember = regexp.MustCompile(`(?i)"([a-z_-]*(?:token|secret|password|authorization|api_?key))"\s*:\s*"(?:[^"\\]|\\.)*"?`)
	secretField  = regexp.MustCompile(`(?i)\b([a-z_]*(?:token|secret|password)=)[^&\s"'<>;]+`)
	secretScheme = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{16,}`)
	secretUser   = regexp.MustCompile(`://[^/@\s"]+@`)
	secretJWT    = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{4,}[A-Za-z0-9_.-]*`)
)

// text is a piece of an answer as it may be shown: no secret, no control character, not longer
// than 200 bytes.
func (h *hush) text(b []byte) string {
	b = h.without(b[:min(len(b), textWindow)], 3)
	b = secretMember.ReplaceAll(b, []byte(`"$1":"`+hushed+`"`))
	b = secretField.ReplaceAll(b, []byte("${1}"+hushed))
	b = secretScheme.ReplaceAll(b, []byte("$1 "+hushed))
	b = secretUser.ReplaceAll(b, []byte("://"+hushed+"@"))
	b = secretJWT.ReplaceAll(b, []byte(hushed))
	b = b[:min(len(b), textWindow-4<<10)] // a secret that the window cut in two is behind that
	return printable(string(b), maxQuote)
}

// printable is s on one line without anything that a terminal could obey, at most n bytes long
// and the ellipsis.
func printable(s string, n int) string {
	var b strings.Builder
	blank := true // nothing yet, or a space at the end
	for _, r := range s {
		if !unicode.IsPrint(r) || r == ' ' {
			if !blank {
				b.WriteByte(' ')
			}
			blank = true
			continue
		}
		if b.Len()+utf8.RuneLen(r) > n {
			return strings.TrimSuffix(b.String(), " ") + "…"
		}
		b.WriteRune(r)
		blank = false
	}
	return strings.TrimSuffix(b.String(), " ")
}
