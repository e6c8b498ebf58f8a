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

// How a body is read: parse decodes it, keeping the values of repeated keys; read checks the
// shape that section 2.4 of the contract states; anomalies notes what is odd but can be printed. What
// is not checked here prints somehow: a field that is wrong must never cost the order, a shape that
// is wrong would make a ticket that says nothing.

// A Mode says how far a body may deviate from the contract and still be printed.
type Mode int

const (
	// Lenient accepts what can be printed, and counts deviations. It is the default: a service that
	// changes a detail must not stop the kitchen.
	Lenient Mode = iota
	// Strict also refuses an id that is not a UUID and a retryCount that is not an integer. Such an
	// order is lost, and the service logs that.
	Strict
)

// A PrintRequest is a body that can be printed. The caller must not change its maps: all readers
// share them.
type PrintRequest struct {
	// ID is records[0].id in canonical form. With the venue it is the key that duplicates are
	// recognised by. An id that is not valid Unicode is quoted: see [exactID]. If the record has the key
	// id more than once, ID joins its distinct values with spaces: a retry then has the same ID, and no
	// request with a single id has it.
	ID        string
	Records   []Record  // at least one
	Anomalies []Anomaly // its deviations, each kind at most once
	Raw       []byte    // the body as received, without a byte order mark
}

// A Record is one element of records.
type Record struct {
	ID     string         // canonical; empty if there is none or it is not a string
	Fields map[string]any // the whole record, items included; numbers are json.Number
	// Items has no nil elements. The children of an item are under childItems, which is absent,
	// nil, or a []any of map[string]any.
	Items []map[string]any
	// Unreadable is the record's JSON as received, if an object in it has a key more than once.
	// Fields then has a [Repeated] under that key, and Items is nil. Otherwise it is empty.
	Unreadable string
	// Why heads an unreadable record that is not one because of a repeated key.
	Why string
}

// InvalidJSON says that a body is not one JSON object. It is answered 400, so the body is never
// sent again.
type InvalidJSON struct {
	Offset int64 // of the first wrong byte
	Reason string
}

func (e *InvalidJSON) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// Mismatch says where a body differs from the contract: "records[0].items: missing". It contains
// nothing of the body, because answers and logs show it and orders name guests.
type Mismatch struct {
	Path    string // in JavaScript syntax: records[0].items[2].childItems
	Problem string
	// Limit says that the contract allows the body and this program does not: it prints, see [AsText].
	Limit bool
}

func mismatch(path, problem string) *Mismatch { return &Mismatch{Path: path, Problem: problem} }

func overLimit(path, problem string) *Mismatch {
	return &Mismatch{Path: path, Problem: problem, Limit: true}
}

func (e *Mismatch) Error() string {
	at := e.Path
	if len(at) > 2*maxPathPart { // 64 levels of items have a path of a kilobyte, in the answer, the log and the list
		at = at[:maxPathPart] + "…" + at[len(at)-maxPathPart:]
	}
	return at + ": " + e.Problem
}

const maxPathPart = 100 // bytes that a message has of the beginning and of the end of a long path; it is ASCII

// Open parses a print request. No other code parses the body, so the id that duplicates are
// recognised by is the id that everything else sees. Keys match exactly, also in case.
//
// A record in which an object has a key more than once is ambiguous: parsers differ in which value
// they take. Open does not guess, and the order is not lost. The record is marked
// [Record.Unreadable], it prints as received, and only its id is checked. If the key records itself
// is repeated, the whole body is one such record. A repeated key elsewhere in the envelope does no
// harm, because no ticket shows it. An id with several values is all of them: see
// [PrintRequest.ID].
//
// The error is an [*InvalidJSON] or a [*Mismatch], and the PrintRequest is then zero. The
// PrintRequest refers to body; the caller must not change it.
func Open(body []byte, mode Mode) (PrintRequest, error) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	if m := tooMuchMemory(body); m != nil {
		return PrintRequest{}, m
	}
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

var byteOrderMark = []byte("\xef\xbb\xbf") // with which some Windows programs begin

// parse decodes the body, which must be one object and nothing else. It decodes twice: the first
// pass checks the syntax and limits the nesting, on which the recursion of decode relies.
func parse(body []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return nil, parseError(body, err)
	}
	end := dec.InputOffset()
	dec = json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	v, err := decode(dec, value)
	if err != nil {
		return nil, parseError(body, err)
	}
	envelope, ok := v.(map[string]any)
	if !ok {
		return nil, &InvalidJSON{0, "want an object, got " + typeName(v)}
	}
	if rest := bytes.TrimLeft(body[end:], " \t\r\n"); len(rest) > 0 {
		return nil, &InvalidJSON{int64(len(body) - len(rest)), "text after the object"}
	}
	return envelope, nil
}

// parseError converts an error of the JSON parser.
func parseError(body []byte, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return &InvalidJSON{0, "the body is empty"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &InvalidJSON{int64(len(body)), "the body ends in the middle"}
	}
	e := &InvalidJSON{0, err.Error()}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		e.Offset = s.Offset
		// encoding/json refuses more than 10,000 levels. The JSON before that is valid, so a body that
		// begins with { is reported as nested too deep, and not as invalid JSON.
		if strings.Contains(s.Error(), "exceeded max depth") &&
			bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
			return overLimit(FieldRecords, tooDeep)
		}
	}
	return e
}

var tooDeep = fmt.Sprintf("nested deeper than %d", MaxDepth)

// read checks the shape, in the order of section 2.4 of the contract, and fills p.
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
		return mismatch(FieldRecords, "empty, want at least one record")
	case len(list) > MaxItems: // a record makes a ticket even without items
		return overLimit(FieldRecords, fmt.Sprintf("more than %d records in the request", MaxItems))
	}
	p.Records = make([]Record, len(list))
	for i, v := range list {
		fields, ok := v.(map[string]any)
		if !ok {
			return mismatch(index(FieldRecords, i), "want an object, got "+typeName(v))
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

// readItems checks the items of all records. An unreadable record is kept as its JSON, unchecked: its
// shape depends on which value counts, so it cannot be refused for it.
func (p *PrintRequest) readItems() *Mismatch {
	var count counter
	var raws []json.RawMessage
	for i := range p.Records {
		r := &p.Records[i]
		if repeats(r.Fields) {
			if raws == nil {
				// Once for all records: a body of many unreadable records would otherwise be parsed
				// for each.
				raws, _ = rawRecords(p.Raw) // cannot fail: Open has parsed the body
			}
			r.Unreadable = printable(raws[i])
			continue
		}
		// null is no items: what an empty list becomes in some languages.
		if v, there := r.Fields[FieldItems]; there && v == nil {
			r.Items = []map[string]any{}
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

// readRepeated reads a body with several keys "records" as one unreadable record. Its id is made of
// the ids of the first element of each.
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
		return mismatch(FieldRecords, "given more than once, and none has a records[0].id")
	}
	p.ID = id
	p.Records = []Record{{ID: id, Fields: map[string]any{FieldRecords: all}, Unreadable: printable(p.Raw)}}
	return nil
}

// requestID is the id of a record in canonical form. Of a repeated id it uses the values that are
// non-empty strings. Other values of a repeated id are ignored: a retry has the same ones.
func requestID(record map[string]any) (string, *Mismatch) {
	v, there := record[FieldID]
	if !there {
		return "", mismatch(FieldID, "missing")
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
		return "", mismatch(FieldID, fmt.Sprintf("%d bytes long, want at most %d", len(id), MaxIDBytes))
	case id != "":
		return id, nil
	case isString:
		return "", mismatch(FieldID, "empty, want a UUID")
	}
	return "", mismatch(FieldID, "want a string, got "+typeName(v))
}

// A counter counts the items of a request while they are checked: a request with too many is
// refused before anything is built from it. The depth is limited too, because tickets indent each
// level and later steps recurse.
type counter int

func (c *counter) add(field string, items int) *Mismatch {
	if *c += counter(items); *c > MaxItems {
		return overLimit(field, fmt.Sprintf("more than %d items in the request", MaxItems))
	}
	return nil
}

// itemList checks the items of a record and all items below them.
func (c *counter) itemList(list []any) ([]map[string]any, *Mismatch) {
	if m := c.add(FieldItems, len(list)); m != nil {
		return nil, m
	}
	items := make([]map[string]any, len(list))
	for i, v := range list {
		item, ok := v.(map[string]any)
		if !ok {
			return nil, mismatch(index(FieldItems, i), "want an object, got "+typeName(v))
		}
		items[i] = item
		if m := c.children(item, 1); m != nil {
			return nil, m.below(index(FieldItems, i))
		}
	}
	return items, nil
}

// children checks everything below an item, which is at the given depth. null is accepted where
// there are no children, because services send it.
func (c *counter) children(item map[string]any, depth int) *Mismatch {
	v := item[FieldChildItems]
	if v == nil { // absent or null
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return mismatch(FieldChildItems, "want an array, got "+typeName(v))
	}
	if len(list) > 0 && depth == MaxDepth {
		return overLimit(FieldChildItems, tooDeep)
	}
	if m := c.add(FieldChildItems, len(list)); m != nil {
		return m
	}
	for i, v := range list {
		child, ok := v.(map[string]any)
		if !ok {
			return mismatch(index(FieldChildItems, i), "want an object, got "+typeName(v))
		}
		if m := c.children(child, depth+1); m != nil {
			return m.below(index(FieldChildItems, i))
		}
	}
	return nil
}

// array is the list under a key that must be there.
func array(from map[string]any, field string) ([]any, *Mismatch) {
	v, there := from[field]
	if !there {
		return nil, mismatch(field, "missing")
	}
	list, ok := v.([]any)
	if !ok {
		return nil, mismatch(field, "want an array, got "+typeName(v))
	}
	return list, nil
}

// below puts the path of the parent in front of a mismatch's path. Only a mismatch pays for the
// path; a correct request builds no text.
func (e *Mismatch) below(parent string) *Mismatch {
	e.Path = parent + "." + e.Path
	return e
}

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// typeName names a JSON value's type with its article.
func typeName(v any) string {
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
