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

// Digest identifies the content of a request: SHA-256 over its records as canonical JSON, with sorted
// keys and numbers as written. It leaves out, at every depth, what differs between a request and its
// retry: retryCount and every key that begins with an underscore. Record ids are hashed in canonical
// form, because a UUID in capitals is the same id.
//
// The queue stores it. A change here makes every retry that arrives after an upgrade look like a
// changed order.
//
// With a known id, an equal digest makes a request a plain duplicate; another digest makes it a
// conflict, of which the queue prints only what is new. So a difference that means nothing, such as 1 and
// 1.0, costs a log line, and no dish is cooked twice.
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
	writeCanonical(h, records)
	h.Sum(sum[:0])
	return sum
}

// writeCanonical recurses as deep as v is nested; the JSON parser limits that to 10,000 levels. It
// makes no copy of v: a hostile body of millions of values is in memory once already. A separator
// comes before each element but the first; a key that is left out must not leave one.
func writeCanonical(h hash.Hash, v any) {
	write := func(s string) { _, _ = io.WriteString(h, s) } // a hash never returns an error
	separator := ""
	switch v := v.(type) {
	case map[string]any:
		write("{")
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !isMetadata(k) {
				write(separator + asJSON(k) + ":")
				writeCanonical(h, v[k])
				separator = ","
			}
		}
		write("}")
	case []any:
		write("[")
		for _, e := range v {
			write(separator)
			writeCanonical(h, e)
			separator = ","
		}
		write("]")
	case contract.Repeated: // a key with two values must not hash like a key with one list
		writeCanonical(h, []any(v))
		write("(repeated)")
	default:
		write(asJSON(v))
	}
}

// isMetadata says that a key is about the transport or the service's database, not about the order.
// Leaving out a key that is about the order would hide a change of the order.
func isMetadata(key string) bool { return contract.IsMetadata(key) }

// asJSON is v on one line with sorted keys. It escapes only what JSON requires: tickets show it, and
// \u003c in the place of < is hard to read.
func asJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v) // cannot happen to what a JSON parser made; still readable if it does
	}
	return strings.TrimSuffix(b.String(), "\n")
}
