package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// Digest is the content of a request: a hash over its records as canonical JSON, the keys
// sorted and the numbers as written. It leaves out, at every depth, what differs between a
// request and its retry: retryCount and every key that begins with an underscore. The id of
// a record is in canonical form, for a UUID in capitals is the same.
func Digest(req contract.PrintRequest) (sum [32]byte) {
	records := make([]any, len(req.Records))
	for i := range req.Records {
		fields := req.Records[i].Fields
		if id, ok := fields[contract.FieldID].(string); ok && id != req.Records[i].ID {
			fields = maps.Clone(fields)
			fields[contract.FieldID] = req.Records[i].ID
		}
		records[i] = fields
	}
	h := sha256.New()
	digest(h, records)
	h.Sum(sum[:0])
	return sum
}

// digest recurses as deep as v is nested, which whoever parsed v bounds. It makes no copy: a
// hostile body of millions of objects is in memory once already.
func digest(h hash.Hash, v any) {
	write := func(s string) { _, _ = io.WriteString(h, s) } // a hash takes everything
	separator := ""
	switch v := v.(type) {
	case map[string]any:
		write("{")
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !bookkeeping(k) {
				write(separator + asJSON(k) + ":")
				digest(h, v[k])
				separator = ","
			}
		}
		write("}")
	case []any:
		write("[")
		for _, e := range v {
			write(separator)
			digest(h, e)
			separator = ","
		}
		write("]")
	case contract.Repeated: // two values are not the same content as a list of them
		digest(h, []any(v))
		write("(repeated)")
	default:
		write(asJSON(v))
	}
}

// bookkeeping says that a key tells nothing about the order.
func bookkeeping(key string) bool {
	return key == contract.FieldRetryCount || strings.HasPrefix(key, "_")
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
