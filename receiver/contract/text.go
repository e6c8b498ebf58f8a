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

// AsText is the request for a body that Open refuses but that must print: one record, Unreadable, that
// says why. Its id is that of the first record, else it is made of the content, so that a retry is
// recognised. cut says that not all of the body prints.
//
// The error says that the body is not one JSON object; the request can be printed nevertheless.
func AsText(body []byte, why string) (p PrintRequest, cut bool, err error) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	envelope, _, err := parse(body)
	if _, invalid := err.(*InvalidJSON); !invalid {
		err = nil // a limit: what was read until then is all that prints
	}

	// What a retry has too, if it can be told.
	text := string(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	records := envelope.Get(FieldRecords)
	if records != nil && err == nil {
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
	if cut = len(text) > maxText; cut {
		text = fmt.Sprintf("%s … and %d bytes more", strings.ToValidUTF8(text[:maxText], ""), len(text)-maxText)
	}
	return PrintRequest{
		ID: id, Raw: body, Anomalies: []Anomaly{OverLimit}, Records: []Record{{ID: id, Unreadable: text, Why: why}},
	}, cut, err
}
