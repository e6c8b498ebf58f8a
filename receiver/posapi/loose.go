package posapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Keys are looked up as they are written: decoding into a struct would take ID for id. Values
// stay where they are in the answer: a copy of each makes gigabytes of an answer that is nothing
// but tiny values.

// maxMembers of an object are looked at, with different keys; the contract knows a dozen.
const maxMembers = 1000

// jsonObject is nil when b is not one JSON object. Of a key that is there twice the last counts.
func jsonObject(b []byte) map[string]json.RawMessage {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
	if len(b) == 0 || b[0] != '{' || !json.Valid(b) {
		return nil
	}
	m := map[string]json.RawMessage{}
	key, isKey := "", true
	jsonEach(b, func(v json.RawMessage) bool {
		if isKey = !isKey; !isKey {
			key = jsonText(v)
			return true
		}
		if _, there := m[key]; there || len(m) < maxMembers {
			m[key] = v
		}
		return true
	})
	return m
}

// jsonArray is the elements of b, which is a piece of JSON, but not more than most; it is false
// when b is no array.
func jsonArray(b json.RawMessage, most int) (all []json.RawMessage, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		return nil, false
	}
	jsonEach(b, func(v json.RawMessage) bool {
		if len(all) == most {
			return false
		}
		all = append(all, v)
		return true
	})
	return all, true
}

// jsonEach gives f the values between the brackets of b, the keys of an object among them,
// until f has enough. b is one valid array or object.
func jsonEach(b []byte, f func(json.RawMessage) bool) {
	for i := 1; i < len(b)-1; {
		switch b[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
			continue
		}
		end := jsonEnd(b, i)
		if !f(json.RawMessage(b[i:end:end])) {
			return
		}
		i = end
	}
}

// jsonEnd is where the value ends that begins at i.
func jsonEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i // of a number or a word
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// jsonAt follows a dotted path. It is nil where there is nothing.
func jsonAt(m map[string]json.RawMessage, path string) json.RawMessage {
	head, rest, deeper := strings.Cut(path, ".")
	raw := m[head]
	if !deeper {
		return raw
	}
	if raw == nil {
		return nil
	}
	return jsonAt(jsonObject(raw), rest)
}

// jsonText is a string, or a number as it is written; "" is anything else.
func jsonText(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
	case raw[0] == '"':
		if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
			return string(raw[1 : len(raw)-1])
		}
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		return string(raw)
	}
	return ""
}

// jsonNumber is a number, or a string that is one.
func jsonNumber(raw json.RawMessage) (float64, bool) {
	s := strings.TrimSpace(jsonText(raw))
	if s == "" || strings.ContainsAny(s, "xX_nN") { // no 0x1p4, no Inf, no NaN
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// jsonWords is a list of strings, or one string of words with spaces between. It is nil when
// raw is neither.
//
// They are the names of scopes: short, and not so many that showing them fills a screen.
func jsonWords(raw json.RawMessage) []string {
	var list []string
	if all, ok := jsonArray(raw, maxScopes); ok {
		list = []string{}
		for _, v := range all {
			if v[0] != '"' {
				return nil
			}
			list = append(list, jsonText(v))
		}
	} else if len(raw) > 0 && raw[0] == '"' {
		list = append([]string{}, strings.Fields(jsonText(raw))...)
	}
	if list == nil {
		return nil
	}
	words := []string{}
	for _, w := range list[:min(len(list), maxScopes)] {
		if w = printable(w, maxScope); w != "" {
			words = append(words, w)
		}
	}
	return words
}

const (
	maxScopes = 64  // of a token
	maxScope  = 100 // bytes
)

func jsonNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// jsonKind names what raw is, for people.
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

// jsonTime reads ISO 8601 with and without colons in the offset; without an offset it is UTC.
func jsonTime(raw json.RawMessage) (time.Time, bool) {
	s := jsonText(raw)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
