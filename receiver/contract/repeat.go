package contract

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// encoding/json keeps the last value of a repeated key and says nothing. For an order that is not
// good enough: {"isVoid": true, "isVoid": false} is cooked or not by which parser reads it. So Open
// decodes with tokens and keeps all values.

// Repeated is all values of a key that an object has more than once, in the order received. Parsers
// differ in which of them they take, so Open takes none.
type Repeated []any

// decode reads the next value of text as encoding/json does, but keeps all values of a repeated key, and
// the bytes of an id: see [exactID]. It recurses as deep as the value is nested; the caller has bounded
// that by decoding it before.
func decode(dec *json.Decoder, text []byte) (any, error) {
	token, err := dec.Token()
	// Any other token is a value itself; null is a nil token.
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decode(dec, text)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	case json.Delim('{'):
		obj := map[string]any{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			start := dec.InputOffset()
			v, err := decode(dec, text)
			if err != nil {
				return nil, err
			}
			if id, ok := v.(string); ok && key == FieldID && strings.ContainsRune(id, utf8.RuneError) {
				v = exactID(text[start:dec.InputOffset()])
			}
			put(obj, key.(string), v)
		}
		_, err = dec.Token()
		return obj, err
	}
	return token, err
}

// put adds a value under a key, which may have values already.
func put(obj map[string]any, key string, v any) {
	old, there := obj[key]
	// An array is a []any and never a Repeated, so a list is not mistaken for several values.
	switch all, again := old.(Repeated); {
	case again:
		v = append(all, v)
	case there:
		v = Repeated{old, v}
	}
	obj[key] = v
}

// values is all values of a key: one, unless the key is repeated.
func values(v any) Repeated {
	if all, twice := v.(Repeated); twice {
		return all
	}
	return Repeated{v}
}

// repeats says whether an object in v has a key more than once.
func repeats(v any) bool {
	switch v := v.(type) {
	case Repeated:
		return true
	case map[string]any:
		for _, e := range v {
			if repeats(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if repeats(e) {
				return true
			}
		}
	}
	return false
}

// rawRecords returns the text of each record. The body must have the key "records" once. Their order
// is that of PrintRequest.Records.
func rawRecords(body []byte) (records []json.RawMessage, err error) {
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, err
	}
	return records, json.Unmarshal(envelope[FieldRecords], &records)
}

// printable is JSON as received, without white space, which would cost paper.
func printable(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		// Never lose a record because it cannot be made shorter.
		return string(raw)
	}
	return string(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")))
}
