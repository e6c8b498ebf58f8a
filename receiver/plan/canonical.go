package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"ticketrail/receiver/contract"
)

// Digest is the content of a request: a hash over its records as canonical JSON, the keys
// sorted and the numbers as written. It leaves out, at every depth, what differs between a
// request and its retry: retryCount and every key that begins with an underscore. The id of
// a record is in canonical form, for a UUID in capitals is the same.
func Digest(req contract.PrintRequest) [32]byte {
	records := make([]map[string]any, len(req.Records))
	for i := range req.Records {
		r := &req.Records[i]
		records[i] = contentOf(r.Fields)
		if _, ok := r.Fields[contract.FieldID].(string); ok {
			records[i][contract.FieldID] = r.ID
		}
	}
	return sha256.Sum256([]byte(asJSON(records)))
}

// bookkeeping says that a key tells nothing about the order.
func bookkeeping(key string) bool {
	return key == contract.FieldRetryCount || strings.HasPrefix(key, "_")
}

func contentOf(obj map[string]any) map[string]any {
	out := make(map[string]any, len(obj))
	for k, e := range obj {
		if !bookkeeping(k) {
			out[k] = content(e)
		}
	}
	return out
}

// content is v without bookkeeping. It recurses as deep as v is nested, which whoever parsed v
// bounds.
func content(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return contentOf(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = content(e)
		}
		return out
	case contract.Repeated: // two values are not the same content as a list of them
		return map[string]any{"_repeated": content([]any(v))}
	}
	return v
}

// asJSON is v on one line, the keys sorted. Only what JSON cannot hold is escaped.
func asJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v) // not what a parser of JSON makes; keep it readable all the same
	}
	return strings.TrimSuffix(b.String(), "\n")
}
