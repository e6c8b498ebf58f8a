package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxText is how much of a body that cannot be read prints, in bytes: about 80 cm of paper.
const maxText = 8000

// asText is the request for a body that must print although it cannot be read: one record, Unreadable, that says why.
// envelope is what was read of it, and isJSON that it had no error. The id is that of the first record, else it is made
// of the content, so that a retry is recognised.
func asText(body []byte, envelope Value, isJSON bool, why string) PrintRequest {
	// What a retry has too, if it can be told.
	text := string(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	records := envelope.Get(FieldRecords)
	if records != nil && isJSON {
		text = records.JSON()
	}
	var first Value
	for first = range records.All() {
		break
	}
	id, _ := CanonicalID(first.Get(FieldID).string())
	if strings.TrimSpace(id) == "" || len(id) > MaxIDBytes {
		digest := sha256.Sum256([]byte(text))
		id = "text-" + hex.EncodeToString(digest[:16])
	}
	isCut := len(text) > maxText
	if isCut {
		text = fmt.Sprintf("%s … and %d bytes more", strings.ToValidUTF8(text[:maxText], ""), len(text)-maxText)
	}
	return PrintRequest{ID: id, Raw: body, Cut: isCut, Records: []Record{{ID: id, Unreadable: text, Why: why}}}
}
