package posapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// What the contract does not show is looked for in maps, by keys as they are written: decoding
// into a struct would take ID for id.

// jsonObject is nil when b is not one JSON object.
func jsonObject(b []byte) (m map[string]json.RawMessage) {
	if json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &m) != nil {
		return nil
	}
	return m
}

// jsonArray is the elements of b, which is a piece of JSON, but not more than most; it is false
// when b is no array.
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

// jsonText is a string, or a number as it is written; "" is anything else.
func jsonText(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	_ = json.Unmarshal(raw, &n)
	return n.String()
}

// jsonNumber is a number, or a string that is one.
func jsonNumber(raw json.RawMessage) (f float64, ok bool) {
	s := strings.TrimSpace(jsonText(raw))
	return f, s != "null" && json.Unmarshal([]byte(s), &f) == nil
}

// jsonWords is a list of strings, or one string of words with spaces between; nil when raw is
// neither. They are the names of scopes: short, and not so many that showing them fills a screen.
func (s *secrets) jsonWords(raw json.RawMessage) (words []string) {
	const most = 64
	switch jsonKind(raw) {
	case "an array":
		all, _ := jsonArray(raw, most)
		words = []string{}
		for _, v := range all {
			words = append(words, jsonText(v))
		}
	case "a string":
		words = append([]string{}, strings.Fields(jsonText(raw))...)
		words = words[:min(len(words), most)]
	}
	for i, w := range words {
		words[i] = printable(string(s.hide([]byte(w))))
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
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
