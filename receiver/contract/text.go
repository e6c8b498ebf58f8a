package contract

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"ticketrail/queue/ticket"
)

// maxText is how much of a body that cannot be read prints, in bytes: about 80 cm of paper.
const maxText = 8000

// setText makes p one unreadable record, of which at most so many bytes print. After an error of the parser the text is
// the body as received, because the order may be in its other part. Its id is the first record's, else it is a hash, so
// that a retry is recognised. The envelope stays if the text is only its records: its other fields print as usual.
func (p *PrintRequest) setText(parseErr error, most int) {
	records := p.Envelope.Get(FieldRecords)
	var text string
	switch { // the records alone, if possible: the other fields may differ in a retry
	case parseErr == nil && p.Envelope.recordsKeys() == 1:
		text = records.JSON()
	case parseErr == nil:
		text, p.Envelope = p.Envelope.JSON(), nil
	default:
		p.Envelope = nil
		text = string(bytes.ToValidUTF8(p.Raw, []byte("\uFFFD")))
	}

	var first Value
	for first = range records.All() {
		break
	}

	p.ID, _ = CanonicalID(first.Get(FieldID).string())
	if strings.TrimSpace(p.ID) == "" || len(p.ID) > MaxIDBytes {
		same := ticket.DigestOf([]byte(text)) // in a retry
		if _, isLimit := parseErr.(*Mismatch); isLimit {
			same = p.Content
		}
		p.ID = "text-" + hex.EncodeToString(same[:])
	}

	if p.Cut = len(text) > most; p.Cut {
		text = fmt.Sprintf("%s … and %d bytes more", strings.ToValidUTF8(text[:most], ""), len(text)-most)
	}
	p.Records = []Record{{ID: p.ID, Unreadable: text}}
}
