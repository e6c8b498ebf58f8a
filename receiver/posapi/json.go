package posapi

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// The contract leaves much open, so answers are decoded into maps: a field of another type than
// expected, or one that is missing, must not make the rest unreadable.

// jsonObject is nil when b is not one JSON object. A byte order mark in front is ignored: some
// servers send it.
func jsonObject(b []byte) (m map[string]json.RawMessage) {
	if json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &m) != nil {
		return nil
	}
	return m
}

// jsonArray is the first elements of b, at most so many: an answer full of commas would otherwise
// take 12 times its size in memory. It is false when b is not an array.
func jsonArray(b json.RawMessage, most int) (all []json.RawMessage, ok bool) {
	if jsonKind(b) != "an array" {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(b))
	_, _ = d.Token() // the bracket
	for d.More() && len(all) < most {
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return nil, false
		}
		all = append(all, v)
	}
	return all, true
}

// jsonAt follows a dotted path. It is nil where there is nothing.
func jsonAt(m map[string]json.RawMessage, path string) json.RawMessage {
	head, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return m[head]
	}
	return jsonAt(jsonObject(m[head]), rest)
}

// jsonText is a string, or a number as it is written, for ids that are numbers; "" is anything else.
func jsonText(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	_ = json.Unmarshal(raw, &n)
	return n.String()
}

// jsonNumber is a number, or a string that is one: some services quote numbers.
func jsonNumber(raw json.RawMessage) (f float64, ok bool) {
	s := strings.TrimSpace(jsonText(raw))
	return f, s != "null" && json.Unmarshal([]byte(s), &f) == nil
}

// jsonNull is true for a field that is missing or null: services use the two alike.
func jsonNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// jsonKind names what raw is, for error messages.
func jsonKind(raw json.RawMessage) string {
	if jsonNull(raw) {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}

// jsonTime reads ISO 8601 with and without a colon in the offset; without an offset it is UTC. What is
// neither is the zero time.
func jsonTime(raw json.RawMessage) time.Time {
	s := jsonText(raw)
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

const (
	hidden    = "[secret]"
	minSecret = 6   // bytes: a shorter one would take letters out of names
	maxQuote  = 200 // bytes of a text of the service that is shown: two lines of a terminal
)

// escaped is a JSON string with an escape in it.
var escaped = regexp.MustCompile(`"[^"\\]*\\.(?:[^"\\]|\\.)*"`)

// redact replaces the secrets in b. The request has them, and a proxy's error page may repeat the
// request. A JSON string is decoded to look for them, because each character of a secret may be
// escaped and would come back when a field is read: PHP writes a / as \/.
func redact(b []byte, secrets ...string) []byte {
	var pairs []string
	for _, s := range secrets {
		if len(s) >= minSecret {
			pairs = append(pairs, s, hidden)
		}
	}
	exact := strings.NewReplacer(pairs...)
	text := escaped.ReplaceAllStringFunc(string(b), func(quoted string) string {
		var s string
		_ = json.Unmarshal([]byte(quoted), &s)
		clean := exact.Replace(s)
		if clean == s {
			return quoted
		}
		b, _ := json.Marshal(clean)
		return string(b)
	})
	return []byte(exact.Replace(text))
}

// plainWord is a word or a short number, without a character that any encoding of text escapes, and
// without digits among letters. Tokens, and secrets in base64 or percent-encoded, are none.
var plainWord = regexp.MustCompile(`^["'(]*(\p{L}[\p{L}\p{M}_:-]{0,23}|[0-9][0-9.:-]{0,9})[.,;:!?)"']*$`)

// plainText is the plain words of a text of the service, with "…" for the others; "" when there are
// none. redact finds only the secrets of this call as they are: an error text may as well contain
// an older token, or a part or an encoding of one.
func plainText(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		if !plainWord.MatchString(w) {
			words[i] = "…"
		}
	}
	words = slices.CompactFunc(words, func(a, b string) bool { return a == "…" && b == "…" })
	if len(words) == 1 && words[0] == "…" {
		return ""
	}
	return printable(strings.Join(words, " "))
}

// printable is s on one line without control characters, which a terminal could obey. It is at
// most maxQuote bytes long, not counting the ellipsis.
func printable(s string) string {
	space := func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }
	words := strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), space)
	if s = strings.Join(words, " "); len(s) <= maxQuote {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuote], "") + "…" // without half a character
}
