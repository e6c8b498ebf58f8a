package contract

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"ticketrail/queue/ticket"
)

// maxText is how much of a body that cannot be read prints, in bytes: about 80 cm of paper.
const maxText = 8000

// setText makes p one unreadable record, of which at most so many bytes print. isJSON says that its body had no syntax
// error. Its id is the first record's, else it is made of the content, so that a retry is recognised. The envelope
// stays if it holds more than the text.
func (p *PrintRequest) setText(isJSON bool, most int) {
	records := p.Envelope.Get(FieldRecords)
	var text string
	switch { // the part that a retry has too, if it can be told
	case isJSON && p.Envelope.recordsKeys() == 1:
		text = records.JSON()
	case isJSON:
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
		digest := sha256.Sum256([]byte(text))
		p.ID = "text-" + hex.EncodeToString(digest[:16])
	}

	if p.Cut = len(text) > most; p.Cut {
		text = fmt.Sprintf("%s … and %d bytes more", strings.ToValidUTF8(text[:most], ""), len(text)-most)
	}
	p.Records = []Record{{ID: p.ID, Unreadable: text}}
}

// digest stands for a body without the members that may differ in a retry.
func (v Value) digest() ticket.Digest {
	sum := sha256.New()
	out := bufio.NewWriterSize(sum, hashAtOnce)
	v.writeContent(out, true)
	_ = out.Flush() // no hash returns an error
	return ticket.Digest(sum.Sum(nil)[:len(ticket.Digest{})])
}

const hashAtOnce = 512 // bytes, which are collected: the parts are small

// writeContent writes a value. A mark begins each part and texts have their lengths, so no two values have the same
// bytes.
func (v Value) writeContent(out *bufio.Writer, isBody bool) {
	_ = out.WriteByte(byte(v.Kind()))
	if v.Kind() != '{' && v.Kind() != '[' {
		writeText(out, v.Text())
		return
	}

	for part := range v.All() {
		if v.Kind() == '{' {
			if part.mayDiffer(isBody) {
				continue
			}
			_ = out.WriteByte('k')
			writeText(out, part.Key())
		}
		part.writeContent(out, false)
	}
	_ = out.WriteByte('e')
}

func writeText(out *bufio.Writer, s string) {
	_, _ = out.Write(binary.AppendUvarint(out.AvailableBuffer(), uint64(len(s))))
	_, _ = out.WriteString(s)
}

// mayDiffer says whether a member may have another value in a retry:
//   - anywhere, metadata, and updatedAt if it is a time;
//   - directly in the body, the service's measurements and each time, except one under a wantedKey.
func (v Value) mayDiffer(inBody bool) bool {
	key := v.Key()
	switch {
	case ticket.IsMetadata(key):
		return true
	case key == FieldUpdatedAt:
		return v.isTime()
	case inBody:
		return key == FieldDuration || key == FieldClientDrift || v.isTime() && !wantedKey.MatchString(key)
	}
	return false
}

func (v Value) isTime() bool {
	return (v.Kind() == '"' || v.Kind() == '0') && ticket.IsTime(v.Key(), strings.TrimSpace(v.Text()))
}

// wantedKey matches keys of a time for which a meal is wanted. It is narrower than the rule for printing: a requestedAt
// may be the time of the retry, which must not print again.
var wantedKey = regexp.MustCompile(
	`(?i)^(?:promised?|due|pick_?up|collection|ready|wanted|delivery|serve|needed|eta)(?:_?(?:at|by|for|time|date))?$`)

// OneLine is a text of the service for people, as one line of at most so many bytes: without control characters and
// those that change the direction of text, but with the joiners that Persian and the scripts of India are spelled with.
// It is idempotent, and "" where nothing can be seen. It keeps nothing of the body that the text may be a part of.
func OneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case r == unicode.ReplacementChar, !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d':
			return -1
		}
		return r
	}, text)

	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.TrimSuffix(strings.ToValidUTF8(text[:most], ""), " ") // without half a character
	}
	if strings.Trim(text, " \u200c\u200d") == "" {
		return ""
	}
	return strings.Clone(text)
}
