package contract

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// How a body is read: parse makes a tree of it; read checks the shape that section 2.4 of the contract
// states; anomalies notes deviations that can be printed. A field that is not checked here prints somehow: a
// field that is wrong must never cost the order, a shape that is wrong would make a ticket that says
// nothing.

// Open parses a print request. No other code parses the body, so the id that duplicates are
// recognised by is the id that everything else sees. Keys match exactly, also in case.
//
// Records in which an object has a key more than once are ambiguous: parsers differ in which value they take, and
// {"isVoid": true, "isVoid": false} is cooked or not. Open does not guess, and the order is not lost: all of it prints
// as received. A repeated key elsewhere in the envelope does no harm.
//
// A body that breaks a limit of this program, and none of the contract, prints as text, as every body does in the mode
// [Text]: it is one unreadable record.
//
// The error is an [*InvalidJSON] or a [*Mismatch], and the PrintRequest is then zero. The
// PrintRequest refers to body; the caller must not change it.
func Open(body []byte, mode Mode) (PrintRequest, error) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	envelope, content, repeats, err := parse(body)
	request := PrintRequest{Raw: body, Envelope: envelope, Content: content}
	if err == nil && repeats && isAmbiguous(envelope) {
		request.setText(nil, math.MaxInt) // it is JSON, and its text has no limit: at most a few times the body
		request.Anomalies = []Anomaly{DuplicateKey}
		return request, nil
	}

	wrong, _ := err.(*Mismatch) // a limit that the parser found, else the fault that read finds
	if err == nil {
		wrong = request.read(mode)
	}

	switch {
	case wrong != nil && wrong.limit:
		request.setText(err, maxText)
		request.Records[0].Why, request.Anomalies = "TOO MUCH FOR A TICKET – "+wrong.Error(), []Anomaly{OverLimit}
	case mode == Text:
		request.setText(err, maxText)
	case wrong != nil:
		return PrintRequest{}, wrong
	case err != nil:
		return PrintRequest{}, err
	default:
		request.Anomalies = request.anomalies(repeats)
	}
	return request, nil
}

var byteOrderMark = []byte("\xef\xbb\xbf") // with which some Windows programs begin

var tooDeep = fmt.Sprintf("nested deeper than %d", MaxDepth)

// read checks the shape, in the order of section 2.4 of the contract, and fills p.
func (p *PrintRequest) read(mode Mode) *Mismatch {
	list, wrong := array(p.Envelope, FieldRecords)
	if wrong != nil {
		return wrong
	}

	records := list.Len()
	switch {
	case records == 0:
		return mismatch(FieldRecords, "empty, want at least one record")
	case records > MaxItems: // a record makes a ticket even without items
		return overLimit(FieldRecords, fmt.Sprintf("more than %d records in the request", MaxItems))
	}

	p.Records = make([]Record, 0, records)
	for v := range list.All() {
		if v.Kind() != '{' {
			return mismatch(index(FieldRecords, len(p.Records)), "want an object, got "+v.typeName())
		}
		id, _ := CanonicalID(v.Get(FieldID).string())
		p.Records = append(p.Records, Record{Fields: v, ID: id})
	}

	if p.ID, wrong = requestID(p.Records[0].Fields.Get(FieldID)); wrong != nil {
		return wrong.below(index(FieldRecords, 0))
	}

	p.Records[0].ID = p.ID
	if _, isUUID := CanonicalID(p.ID); !isUUID && mode == Strict {
		return mismatch(index(FieldRecords, 0)+"."+FieldID, "want a UUID")
	}
	return p.readItems()
}

// readItems checks the items of all records.
func (p *PrintRequest) readItems() *Mismatch {
	var count counter
	for i := range p.Records {
		record := &p.Records[i]
		// null is no items: some languages write an empty list so.
		if record.Fields.Get(FieldItems).Kind() == 'n' {
			continue
		}

		items, wrong := array(record.Fields, FieldItems)
		if wrong == nil {
			record.Items = make([]Value, 0, min(items.Len(), MaxItems))
			for item := range items.All() {
				record.Items = append(record.Items, item)
			}
			wrong = count.list(items, FieldItems, 1)
		}

		if wrong != nil {
			return wrong.below(index(FieldRecords, i))
		}
	}
	return nil
}

// isAmbiguous says whether a body with a repeated key has the key records more than once, or repeats a key in them.
func isAmbiguous(envelope Value) bool {
	times, records := envelope.recordsKeys(), jsontext.Value(envelope.Get(FieldRecords).Text())
	// The text was parsed, so it is valid unless an object in it repeats a key.
	return times > 1 || times == 1 && !records.IsValid(jsontext.AllowInvalidUTF8(true))
}

// recordsKeys is how often a body has its records.
func (v Value) recordsKeys() (n int) {
	for member := range v.All() {
		if member.Key() == FieldRecords {
			n++
		}
	}
	return n
}

// string is the text of a string, and empty for anything else.
func (v Value) string() string {
	if v.Kind() != '"' {
		return ""
	}
	return v.Text()
}

// requestID is the id of a record in canonical form.
func requestID(v Value) (string, *Mismatch) {
	id, _ := CanonicalID(v.string())
	switch {
	case v == nil:
		return "", mismatch(FieldID, "missing")
	case v.Kind() != '"':
		return "", mismatch(FieldID, "want a string, got "+v.typeName())
	case strings.TrimSpace(id) == "":
		return "", mismatch(FieldID, "empty, want a UUID")
	case len(id) > MaxIDBytes:
		return "", mismatch(FieldID, fmt.Sprintf("%d bytes long, want at most %d", len(id), MaxIDBytes))
	}
	return id, nil
}

// A counter counts the items of a request while they are checked: a request with too many is given up, and prints as
// text, before a line is made of any of them. The depth is limited too, because tickets indent each level and later
// steps recurse.
type counter int

// list checks items at a depth, and everything below them.
func (c *counter) list(list Value, field string, depth int) *Mismatch {
	items := list.Len()
	if items > 0 && depth > MaxDepth {
		return overLimit(field, tooDeep)
	}
	if *c += counter(items); *c > MaxItems {
		return overLimit(field, fmt.Sprintf("more than %d items in the request", MaxItems))
	}

	at := 0
	for item := range list.All() {
		if item.Kind() != '{' {
			return mismatch(index(field, at), "want an object, got "+item.typeName())
		}

		// null is accepted where there are no children, because services send it.
		switch children := item.Get(FieldChildItems); children.Kind() {
		case 0, 'n':
		case '[':
			if m := c.list(children, FieldChildItems, depth+1); m != nil {
				return m.below(index(field, at))
			}
		default:
			return mismatch(index(field, at)+"."+FieldChildItems, "want an array, got "+children.typeName())
		}
		at++
	}
	return nil
}

// array is the list under a key that must be there.
func array(from Value, field string) (Value, *Mismatch) {
	found := from.Get(field)
	switch found.Kind() {
	case 0:
		return nil, mismatch(field, "missing")
	case '[':
		return found, nil
	}
	return nil, mismatch(field, "want an array, got "+found.typeName())
}

// VenueDiffers says whether a record names another venue than the header of the request, whose
// canonical UUID is venue. A record that names no venue does not differ. The header has been
// checked against the allow-list, so it decides; receiver counts the difference.
func VenueDiffers(p PrintRequest, venue string) bool {
	for _, r := range p.Records {
		named := r.Fields.Get(FieldVenueID)
		if id, _ := CanonicalID(named.string()); named != nil && named.Kind() != 'n' && id != venue {
			return true
		}
	}
	return false
}

// anomalies lists the deviations of a body that is accepted, each kind once.
func (p *PrintRequest) anomalies(repeats bool) (out []Anomaly) {
	note := func(odd bool, a Anomaly) {
		if odd {
			out = append(out, a)
		}
	}

	_, isUUID := CanonicalID(p.ID)
	note(!isUUID, IDNotUUID)
	// On the body, because the parser has already replaced the bytes.
	note(!utf8.Valid(p.Raw), InvalidUTF8)

	status := p.Envelope.Get(FieldStatus)
	note(status != nil && status.string() != ValueSuccess, StatusOdd)
	if count := p.Envelope.Get(FieldCount); count != nil {
		number, err := strconv.ParseFloat(count.Text(), 64) // 1.0 is the same count as 1
		note(count.Kind() != '0' || err != nil || number != float64(len(p.Records)), CountOdd)
	}

	note(repeats, DuplicateKey)
	return out
}

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
