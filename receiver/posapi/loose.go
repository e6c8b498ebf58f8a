package posapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Keys are looked up as they are written: decoding into a struct would take ID for id.

// jsonObject is nil when b is not one JSON object.
func jsonObject(b []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &m); err != nil {
		return nil
	}
	return m
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
func jsonWords(raw json.RawMessage) []string {
	var list []string
	if len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
		return list
	}
	if len(raw) > 0 && raw[0] == '"' {
		return append([]string{}, strings.Fields(jsonText(raw))...)
	}
	return nil
}

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
