package posapi

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	hidden     = "[secret]"
	maxQuote   = 200      // bytes of an answer that an error repeats
	maxRead    = 16 << 10 // bytes of an answer that are looked at to quote it
	maxSecrets = 6        // that are remembered: the client secret and the latest tokens
	minSecret  = 6        // bytes of what is taken out of names and the like
)

// secrets are what must not be shown: the client secret and the venue's tokens.
type secrets struct {
	mu    sync.Mutex
	words []string // the latest last; guarded by mu
}

func (s *secrets) add(word string) {
	if word == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.words, word); i >= 0 {
		s.words = slices.Delete(s.words, i, i+1)
	}
	s.words = append(s.words, word)
	s.words = s.words[max(0, len(s.words)-maxSecrets):]
}

func (s *secrets) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.words)
}

// hide takes the secrets out of an answer, as they are and as JSON has them.
func (s *secrets) hide(b []byte) []byte {
	for _, w := range s.all() {
		quoted, _ := json.Marshal(w)
		for _, spelling := range []string{w, string(quoted[1 : len(quoted)-1]), strings.ReplaceAll(w, "/", `\/`)} {
			if len(w) >= minSecret && bytes.Contains(b, []byte(spelling)) {
				b = bytes.ReplaceAll(b, []byte(spelling), []byte(hidden))
			}
		}
	}
	return b
}

var (
	tag = regexp.MustCompile(`<[^<>]*>`)
	// A plainWord has no character that any way of writing text has an escape for, and no digits
	// among many letters. So a secret that is one can be seen for what it is, and no other one is.
	plainWord = regexp.MustCompile(`^["'(]*(\p{L}[\p{L}\p{M}_:-]{0,23}|[0-9][0-9.:-]{0,9})[.,;:!?)"']*$`)
)

// plain is the beginning of a text that somebody else wrote, as it may be shown: its plain words,
// on one line, with dots for what is left out; "" if there are none, or a secret among them.
func (s *secrets) plain(b []byte) string {
	b = b[:min(len(b), maxRead)]
	words := strings.Fields(tag.ReplaceAllString(string(b), " "))
	text := string(b) + "\n" + strings.Join(words, " ")
	if slices.ContainsFunc(s.all(), func(secret string) bool { return strings.Contains(text, secret) }) {
		return ""
	}
	some := false
	for i, w := range words {
		if plainWord.MatchString(w) {
			some = true
		} else {
			words[i] = "…"
		}
	}
	if !some {
		return ""
	}
	return printable(strings.Join(slices.CompactFunc(words, func(a, b string) bool { return a == "…" && b == "…" }), " "))
}

// printable is s on one line without anything that a terminal could obey, at most maxQuote bytes
// long and the ellipsis.
func printable(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
	if len(s) <= maxQuote {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	n := maxQuote
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSuffix(strings.ToValidUTF8(s[:n], "\ufffd"), " ") + "…"
}
