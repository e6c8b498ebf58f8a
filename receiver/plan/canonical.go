package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ticketrail/receiver/contract"
)

// Digest is the content of a request: a hash over its records as canonical JSON, the keys
// sorted and the numbers as written. It leaves out, at every depth, what differs between a
// request and its retry: retryCount and every key that begins with an underscore. The id of
// a record is in canonical form, for a UUID in capitals is the same.
func Digest(req contract.PrintRequest) [32]byte {
	buf := make([]byte, 0, len(req.Raw)+64)
	buf = append(buf, '[')
	for i := range req.Records {
		if i > 0 {
			buf = append(buf, ',')
		}
		r := &req.Records[i]
		fields := r.Fields
		if id, ok := fields[contract.FieldID].(string); ok && id != r.ID {
			fields = maps.Clone(fields)
			fields[contract.FieldID] = r.ID
		}
		buf = appendJSON(buf, fields, bookkeeping)
	}
	buf = append(buf, ']')
	return sha256.Sum256(buf)
}

// bookkeeping says that a key tells nothing about the order.
func bookkeeping(key string) bool {
	return key == contract.FieldRetryCount || strings.HasPrefix(key, "_")
}

// appendJSON writes v as compact JSON with sorted keys, without the keys that skip (may be
// nil) says to leave out. It recurses as deep as v is nested, which whoever parsed v bounds.
func appendJSON(dst []byte, v any, skip func(key string) bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, e, skip)
		}
		return append(dst, ']')
	case map[string]any:
		return appendObject(dst, v, skip)
	case contract.Repeated: // for the digest alone; two values are not the same content as a list of them
		return append(appendJSON(dst, []any(v), skip), "(repeated)"...)
	}
	// Not what a parser of JSON makes; keep it readable all the same.
	return appendString(dst, fmt.Sprint(v))
}

func appendObject(dst []byte, obj map[string]any, skip func(key string) bool) []byte {
	var room [24]string // most objects are no larger, and then nothing is allocated
	keys := room[:0]
	for k := range obj {
		if skip == nil || !skip(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, k)
		dst = append(dst, ':')
		dst = appendJSON(dst, obj[k], skip)
	}
	return append(dst, '}')
}

// appendString writes s in quotes. Only what JSON cannot hold is escaped.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default: // a byte that is no UTF-8
			dst = append(dst, "\uFFFD"...)
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
