package contract

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// join parses once more, token by token, a body that has parsed and holds a key twice, which
// the ordinary parse forgets. It is as deep as that parse allowed.
func join(body []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	v, err := value(dec)
	if err != nil {
		return nil, refused(body, err)
	}
	return v.(map[string]any), nil
}

func value(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := value(dec)
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
			v, err := value(dec)
			if err != nil {
				return nil, err
			}
			put(obj, key.(string), v)
		}
		_, err = dec.Token()
		return obj, err
	}
	return token, err
}

// put sets a member, which may be there already.
func put(obj map[string]any, key string, v any) {
	old, there := obj[key]
	switch key {
	case FieldRecords, FieldItems, FieldChildItems:
		if first, ok := old.([]any); ok {
			if more, ok := v.([]any); ok {
				v = append(first, more...)
			} else if v == nil {
				v = first
			}
		}
	case FieldIsVoid, FieldVoid, FieldVoided:
		if there && (old == true || evidentlyFalse(v)) {
			v = old
		}
	}
	obj[key] = v
}

// evidentlyFalse says that v beside another value of a void field adds nothing. What is not
// evident is kept: a person will see it quoted.
func evidentlyFalse(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case string:
		v = strings.ToLower(strings.TrimSpace(v))
		f, err := strconv.ParseFloat(v, 64)
		return v == "" || v == "false" || v == "no" || v == "n" || err == nil && f == 0
	}
	return false
}
