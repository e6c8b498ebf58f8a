package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Mode says how much a body may differ from the contract and still be printed.
type Mode int

const (
	// Lenient prints what can be printed and counts what was odd.
	Lenient Mode = iota
	// Strict refuses an id that is no UUID and a retryCount that is no integer.
	Strict
)

// A PrintRequest is a body that can be printed. Its maps are shared with the caller and
// must not be changed.
type PrintRequest struct {
	// ID is records[0].id in canonical form: with the venue, the key of the request. Where it
	// is there twice, it is all its different values with spaces between: a retry has the same,
	// and a request under one of them is another request.
	ID        string
	Records   []Record  // at least one
	Anomalies []Anomaly // what was odd about it, each kind at most once
	Raw       []byte    // the body as received
}

// A Record is one element of records.
type Record struct {
	ID     string           // canonical; empty when it has none that is a string
	Fields map[string]any   // the whole record, items included; numbers are json.Number
	Items  []map[string]any // never nil elements; children are under childItems: absent, nil or a []any of map[string]any
	// Unreadable is the record's JSON as received, if any object in it has a key twice; Fields then
	// holds a [Repeated] there, and Items is nil. Else it is empty.
	Unreadable string
}

// InvalidJSON says that a body is not one JSON object.
type InvalidJSON struct {
	Offset int64 // in bytes, where it went wrong
	Reason string
}

func (e *InvalidJSON) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// Mismatch says where a body differs from the contract: "records[0].items: missing". It
// repeats nothing of what was received.
type Mismatch struct {
	Path    string // as in JavaScript: records[0].items[2].childItems
	Problem string
}

func (e *Mismatch) Error() string { return e.Path + ": " + e.Problem }

// Open reads a print request, and nothing else in the program parses the body, so that none
// can see another id than the one that is deduplicated. Keys match exactly.
//
// A record in which any object has a key twice is ambiguous, for parsers differ in which value
// they take. Nothing is guessed and nothing is lost: it is [Record.Unreadable], prints as it came,
// and of its shape only the id is checked. If records itself is there twice, the whole body is
// one such record. Another key of the envelope may be there twice, for no ticket shows it. An id
// of several values is all of them, see [PrintRequest.ID].
//
// The error is an [*InvalidJSON] or a [*Mismatch], and then the PrintRequest is zero. It keeps body.
func Open(body []byte, mode Mode) (PrintRequest, error) {
	envelope, err := parse(body)
	if err != nil {
		return PrintRequest{}, err
	}
	p := PrintRequest{Raw: body}
	if m := p.read(envelope); m != nil {
		return PrintRequest{}, m
	}
	if mode == Strict {
		if m := strict(p.Records); m != nil {
			return PrintRequest{}, m
		}
	}
	p.Anomalies = anomalies(envelope, p.Records, body)
	return p, nil
}

func parse(body []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return nil, refused(body, err)
	}
	end := dec.InputOffset()
	dec = json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	v, err := decode(dec)
	if err != nil {
		return nil, refused(body, err)
	}
	envelope, ok := v.(map[string]any)
	if !ok {
		return nil, &InvalidJSON{0, "want an object, got " + kind(v)}
	}
	if rest := bytes.TrimLeft(body[end:], " \t\r\n"); len(rest) > 0 {
		return nil, &InvalidJSON{int64(len(body) - len(rest)), "something follows the object"}
	}
	return envelope, nil
}

// refused turns the parser's error into ours.
func refused(body []byte, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return &InvalidJSON{0, "the body is empty"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &InvalidJSON{int64(len(body)), "the body ends in the middle"}
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return &InvalidJSON{0, "the body begins with a byte order mark"}
	}
	e := &InvalidJSON{0, err.Error()}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		e.Offset = s.Offset
		// The parser stops at 10,000 levels. What it has read by then is fine JSON, so
		// this is about the shape, unless the outermost value already had the wrong one.
		if strings.Contains(s.Error(), "exceeded max depth") && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
			return &Mismatch{FieldRecords, tooDeep}
		}
	}
	return e
}

var tooDeep = fmt.Sprintf("nested deeper than %d", MaxDepth)

// read checks the shape in the order of the specification and fills p.
func (p *PrintRequest) read(envelope map[string]any) *Mismatch {
	if all, twice := envelope[FieldRecords].(Repeated); twice {
		return p.readRepeated(all)
	}
	list, m := array(envelope, FieldRecords)
	if m != nil {
		return m
	}
	switch {
	case len(list) == 0:
		return &Mismatch{FieldRecords, "empty, want at least one record"}
	case len(list) > MaxItems: // each makes a ticket, even without items
		return &Mismatch{FieldRecords, fmt.Sprintf("more than %d records in the request", MaxItems)}
	}
	p.Records = make([]Record, len(list))
	for i, v := range list {
		fields, ok := v.(map[string]any)
		if !ok {
			return &Mismatch{index(FieldRecords, i), "want an object, got " + kind(v)}
		}
		p.Records[i].Fields = fields
		if id, ok := fields[FieldID].(string); ok {
			p.Records[i].ID, _ = CanonicalID(id)
		}
	}
	if p.ID, m = requestID(p.Records[0].Fields); m != nil {
		return m.below(index(FieldRecords, 0))
	}
	p.Records[0].ID = p.ID
	return p.readItems()
}

func (p *PrintRequest) readItems() *Mismatch {
	var count counter
	var raws []json.RawMessage
	for i := range p.Records {
		r := &p.Records[i]
		if repeats(r.Fields) {
			if raws == nil {
				raws, _ = received(p.Raw) // it has parsed before
			}
			r.Unreadable = printable(raws[i])
			continue
		}
		items, m := array(r.Fields, FieldItems)
		if m == nil {
			r.Items, m = count.itemList(items)
		}
		if m != nil {
			return m.below(index(FieldRecords, i))
		}
	}
	return nil
}

// readRepeated makes one record of a body with several records keys. Its id is that of the
// first element of each of them.
func (p *PrintRequest) readRepeated(all Repeated) *Mismatch {
	var ids Repeated
	for _, v := range all {
		if list, ok := v.([]any); ok && len(list) > 0 {
			if first, ok := list[0].(map[string]any); ok {
				ids = append(ids, values(first[FieldID])...)
			}
		}
	}
	id, m := requestID(map[string]any{FieldID: ids})
	if m != nil {
		return &Mismatch{FieldRecords, "there twice, and no records[0].id to know the request by"}
	}
	p.ID = id
	p.Records = []Record{{ID: id, Fields: map[string]any{FieldRecords: all}, Unreadable: printable(p.Raw)}}
	return nil
}

// requestID is the id of a record in canonical form. What of a repeated one is no id is left out.
func requestID(record map[string]any) (string, *Mismatch) {
	v, there := record[FieldID]
	if !there {
		return "", &Mismatch{FieldID, "missing"}
	}
	var ids []string
	for _, v := range values(v) {
		id, ok := v.(string)
		if id, _ = CanonicalID(id); ok && strings.TrimSpace(id) != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	id := strings.Join(ids, " ")
	_, isString := v.(string)
	switch {
	case len(id) > MaxIDBytes:
		return "", &Mismatch{FieldID, fmt.Sprintf("%d bytes long, want at most %d", len(id), MaxIDBytes)}
	case id != "":
		return id, nil
	case isString:
		return "", &Mismatch{FieldID, "empty, want a UUID"}
	}
	return "", &Mismatch{FieldID, "want a string, got " + kind(v)}
}

// A counter counts the items of a request while they are checked, so that what is built of
// them is bounded before any of it is.
type counter int

func (c *counter) add(field string, items int) *Mismatch {
	if *c += counter(items); *c > MaxItems {
		return &Mismatch{field, fmt.Sprintf("more than %d items in the request", MaxItems)}
	}
	return nil
}

// itemList checks the elements of a record's items and everything below them.
func (c *counter) itemList(list []any) ([]map[string]any, *Mismatch) {
	if m := c.add(FieldItems, len(list)); m != nil {
		return nil, m
	}
	items := make([]map[string]any, len(list))
	for i, v := range list {
		item, ok := v.(map[string]any)
		if !ok {
			return nil, &Mismatch{index(FieldItems, i), "want an object, got " + kind(v)}
		}
		items[i] = item
		if m := c.children(item, 1); m != nil {
			return nil, m.below(index(FieldItems, i))
		}
	}
	return items, nil
}

func (c *counter) children(item map[string]any, depth int) *Mismatch {
	v := item[FieldChildItems]
	if v == nil { // absent or null
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return &Mismatch{FieldChildItems, "want an array, got " + kind(v)}
	}
	if len(list) > 0 && depth == MaxDepth {
		return &Mismatch{FieldChildItems, tooDeep}
	}
	if m := c.add(FieldChildItems, len(list)); m != nil {
		return m
	}
	for i, v := range list {
		child, ok := v.(map[string]any)
		if !ok {
			return &Mismatch{index(FieldChildItems, i), "want an object, got " + kind(v)}
		}
		if m := c.children(child, depth+1); m != nil {
			return m.below(index(FieldChildItems, i))
		}
	}
	return nil
}

func array(from map[string]any, field string) ([]any, *Mismatch) {
	v, there := from[field]
	if !there {
		return nil, &Mismatch{field, "missing"}
	}
	list, ok := v.([]any)
	if !ok {
		return nil, &Mismatch{field, "want an array, got " + kind(v)}
	}
	return list, nil
}

// below moves a mismatch under the place where it was found.
func (e *Mismatch) below(parent string) *Mismatch {
	e.Path = parent + "." + e.Path
	return e
}

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// kind names a JSON value's type with its article.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	case Repeated:
		return "several values"
	default:
		return "an object"
	}
}
