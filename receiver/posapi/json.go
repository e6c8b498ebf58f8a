package posapi

import (
	"bytes"
	"encoding/json"
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

// redact replaces the secrets in b, as they are and as JSON spells them. The request has them, and
// a proxy's error page may repeat the request.
func redact(b []byte, secrets ...string) []byte {
	for _, s := range secrets {
		if len(s) >= minSecret {
			quoted, _ := json.Marshal(s)
			b = bytes.ReplaceAll(b, []byte(s), []byte(hidden))
			b = bytes.ReplaceAll(b, quoted[1:len(quoted)-1], []byte(hidden))
		}
	}
	return b
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
