package contract

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"ticketrail/queue/ticket"
)

// A Value is a JSON value of a body with everything in it: its own node, then the nodes of its members or elements, in
// the order received. A Value that is not there is nil. All readers share the nodes, which never change.
//
// There is no other form of a body. A node takes 48 bytes, and its texts point into one copy of the body.
type Value []node

type node struct {
	kind  jsontext.Kind
	index int32 // in the whole body
	size  int32 // nodes of the value: its own, and all below it
	key   string
	text  string // see Value.Text
}

// maxValues limits the memory of one request: an order of 10,000 items with 25 fields each has so many.
const maxValues = 300_000

// maxNesting limits the recursion over a Value; the parser has the same limit.
const maxNesting = 10_000

// countValues is an upper bound of the number of values: each is the first of a list or object, or follows a comma.
func countValues(body []byte) int {
	most := 1
	for _, c := range []byte("{[,") {
		most += bytes.Count(body, []byte{c})
	}
	return most
}

// Kind is the first byte of the value: one of n, t, f, ", 0, { and [; 0 if it is not there.
func (v Value) Kind() jsontext.Kind {
	if len(v) == 0 {
		return 0
	}
	return v[0].kind
}

// Index is the position of the value among all values of its body.
func (v Value) Index() int { return int(v[0].index) }

// Key is the name of a member of an object.
func (v Value) Key() string { return v[0].key }

// Text is the content of a string. Of any other value it is the value as received. Bytes that are not UTF-8 are
// U+FFFD in a string; an id that is not Unicode is quoted: two of them must not become one, or the second order would
// be taken for a duplicate of the first.
func (v Value) Text() string {
	if len(v) == 0 {
		return ""
	}
	return v[0].text
}

// All yields the members of an object or the elements of a list; of anything else, nothing.
func (v Value) All() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if len(v) == 0 {
			return
		}

		for rest := v[1:]; len(rest) > 0; {
			size := rest[0].size
			if !yield(rest[:size:size]) {
				return
			}
			rest = rest[size:]
		}
	}
}

// Len is the number of members or elements.
func (v Value) Len() (n int) {
	for range v.All() {
		n++
	}
	return n
}

// Get is the member with a key, which matches exactly.
func (v Value) Get(key string) Value {
	if v.Kind() == '{' {
		for member := range v.All() {
			if member.Key() == key {
				return member
			}
		}
	}
	return nil
}

// At is the value at a dotted path of keys; nil if there is none.
func (v Value) At(path string) Value {
	for key := range strings.SplitSeq(path, ".") {
		v = v.Get(key)
	}
	return v
}

// JSON is the value on one line in the order received, without metadata and without the members that are named. Only
// the characters that JSON requires are escaped, because tickets show it.
func (v Value) JSON(without ...Value) string { return string(v.appendJSON(nil, without)) }

func (v Value) appendJSON(b []byte, without []Value) []byte {
	switch v.Kind() {
	case '{':
		b = append(b, '{')
		for member := range v.All() {
			isOut := func(out Value) bool { return len(out) > 0 && out.Index() == member.Index() }
			if ticket.IsMetadata(member.Key()) || slices.ContainsFunc(without, isOut) {
				continue
			}

			b = append(appendText(b, member.Key()), ':')
			b = append(member.appendJSON(b, without), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), '}')
	case '[':
		b = append(b, '[')
		for e := range v.All() {
			b = append(e.appendJSON(b, without), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), ']')
	case '"':
		return appendText(b, v.Text())
	}
	return append(b, v.Text()...)
}

func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error is about UTF-8, which the text is
	return b
}

// Parse reads an answer of the service, which must be one object.
func Parse(body []byte) (Value, error) {
	v, _, _, err := parse(bytes.TrimPrefix(body, byteOrderMark))
	return v, err
}

// parse reads a body, which must be one object. Of a body with an error it returns the part before the error.
// content is that of a [PrintRequest]. repeats says that an object has a key more than once.
func parse(body []byte) (v Value, content ticket.Digest, repeats bool, err error) {
	v, content, err = parseWith(body, jsontext.AllowInvalidUTF8(true))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		repeats = true
		v, content, err = parseWith(body, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	}
	return v, content, repeats, parseError(body, err)
}

// decoders are used again: the lists of names, by which a decoder finds a repeated one, are a quarter of the
// allocations of an order.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

var noBody = new(bytes.Buffer)

const hashAtOnce = 512 // bytes, which are collected: the parts are small

func parseWith(body []byte, options ...jsontext.Options) (_ Value, content ticket.Digest, _ error) {
	decoder := decoders.Get().(*jsontext.Decoder)
	defer decoders.Put(decoder)
	decoder.Reset(bytes.NewBuffer(body), options...)

	sum := sha256.New()
	reader := treeReader{text: string(body), isUnicode: utf8.Valid(body), dec: decoder,
		nodes: make([]node, 0, min(countValues(body), maxValues)), content: bufio.NewWriterSize(sum, hashAtOnce)}

	err := reader.body()
	_, isLimit := err.(*Mismatch)
	if isLimit { // the text behind the place where the reader stopped counts as received
		_ = reader.content.WriteByte(0) // no part begins with it
		_, _ = reader.content.WriteString(strings.TrimLeft(reader.text[decoder.InputOffset():], " \t\r\n"))
	}
	if err == nil || isLimit {
		_ = reader.content.Flush() // no hash returns an error
		content = ticket.Digest(sum.Sum(nil)[:len(content)])
	}

	decoder.Reset(noBody) // or it would keep the body
	return reader.nodes, content, err
}

// A treeReader makes nodes of the tokens of a body, and writes its content.
type treeReader struct {
	dec       *jsontext.Decoder
	text      string // the body
	isUnicode bool
	nodes     []node // the first maxValues of the body
	isOver    bool   // it has more
	depth     int    // of objects and lists whose end was not reached

	content *bufio.Writer // hashes the parts that a retry repeats
	differs bool          // the reader is in a member whose value may differ in a retry
}

// body reads one object, and nothing else.
func (t *treeReader) body() error {
	if kind := t.dec.PeekKind(); kind != '{' {
		// A list is no request in any case, so a syntax error in it is not worth saying.
		if _, err := t.dec.ReadValue(); err != nil && kind != '[' {
			return err
		}
		return &InvalidJSON{0, "want an object, got " + (Value{{kind: kind}}).typeName()}
	}

	err := t.value(0, "")
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return err // the body is read again
	}

	if t.isOver { // comes before an error behind the limit
		return overLimit("body", fmt.Sprintf("more than %d values", maxValues))
	}
	if err != nil {
		return err
	}

	if rest := strings.TrimLeft(t.text[t.dec.InputOffset():], " \t\r\n"); rest != "" {
		return &InvalidJSON{int64(len(t.text) - len(rest)), "text after the object"}
	}
	return nil
}

// value reads the value of a member of an object, or an element of a list, which has no key.
func (t *treeReader) value(of jsontext.Kind, key string) (err error) {
	next := node{kind: t.dec.PeekKind(), key: key, index: int32(len(t.nodes)), size: 1}
	isStructure := next.kind == '{' || next.kind == '['

	if isStructure {
		_, err = t.dec.ReadToken()
	} else {
		next.text, err = t.scalar(key == FieldID)
	}

	if err != nil {
		if of == '{' { // its key was read
			t.write('k', key)
		}
		return err
	}

	at, differs := len(t.nodes), t.differs
	if t.isOver = at == maxValues; !t.isOver {
		t.nodes = append(t.nodes, next)
	}

	if of == '{' {
		t.differs = differs || next.mayDiffer(t.depth == 1)
		t.write('k', key)
	}

	if isStructure {
		err = t.structure(next.kind, at)
	} else {
		t.write(byte(next.kind), next.text)
	}
	t.differs = differs
	return err
}

// structure reads an object or a list, whose beginning was read, into its node at an index.
func (t *treeReader) structure(kind jsontext.Kind, at int) error {
	t.write(byte(kind))
	if t.depth == maxNesting-1 {
		return overLimit("body", fmt.Sprintf("nested deeper than %d", maxNesting))
	}

	from := t.dec.InputOffset() - 1
	t.depth++
	err := t.parts(kind)
	t.depth--

	if err == nil {
		t.write('e')
	}

	if at < len(t.nodes) { // after an error the value is its part before that
		t.nodes[at].size = int32(len(t.nodes) - at)
		t.nodes[at].text = t.text[from:t.dec.InputOffset()]
	}
	return err
}

// write adds a part to the content. A mark begins each and texts have their lengths, so no two contents have the same
// bytes.
func (t *treeReader) write(mark byte, texts ...string) {
	if t.differs {
		return
	}

	_ = t.content.WriteByte(mark)
	for _, text := range texts {
		_, _ = t.content.Write(binary.AppendUvarint(t.content.AvailableBuffer(), uint64(len(text))))
		_, _ = t.content.WriteString(text)
	}
}

// mayDiffer says whether a member may have another value in a retry:
//   - anywhere, metadata, and updatedAt if it is a time;
//   - directly in the body, the service's measurements and each time, except one for which the meal is wanted
//     (wantedKey).
func (n node) mayDiffer(inBody bool) bool {
	isTime := func() bool {
		return (n.kind == '"' || n.kind == '0') && ticket.IsTime(n.key, strings.TrimSpace(n.text))
	}

	switch {
	case ticket.IsMetadata(n.key):
		return true
	case n.key == FieldUpdatedAt:
		return isTime()
	case inBody:
		return n.key == FieldDuration || n.key == FieldClientDrift || isTime() && !wantedKey.MatchString(n.key)
	}
	return false
}

// parts reads the members of an object or the elements of a list, and its end.
func (t *treeReader) parts(of jsontext.Kind) error {
	for {
		if kind := t.dec.PeekKind(); kind == '}' || kind == ']' {
			_, err := t.dec.ReadToken()
			return err
		}

		key, err := "", error(nil)
		if of == '{' {
			key, err = t.scalar(false)
		}
		if err == nil {
			err = t.value(of, key)
		}
		if err != nil {
			return err
		}
	}
}

// scalar reads a key, or a value that holds no others, and returns its text: a string without quotes and escapes. With
// exactly, which is for ids, a string that is not valid Unicode is returned as a quoted string of Go, so that ids that
// differ stay different.
func (t *treeReader) scalar(exactly bool) (string, error) {
	value, err := t.dec.ReadValue()
	if err != nil {
		return "", err
	}

	end := int(t.dec.InputOffset())
	text := t.text[end-len(value) : end]
	if text[0] != '"' {
		return text, nil
	}

	inside := text[1 : len(text)-1]
	if t.isUnicode && strings.IndexByte(inside, '\\') < 0 {
		return inside, nil
	}

	spelled, err := jsontext.AppendUnquote(nil, text)
	if err != nil && exactly {
		return strconv.Quote(inside), nil
	}
	return string(spelled), nil
}

// parseError converts an error of the JSON parser.
func parseError(body []byte, err error) error {
	syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &InvalidJSON{int64(len(body)), "the body ends in the middle"}
	case errors.Is(err, io.EOF):
		return &InvalidJSON{0, "the body is empty"}
	case isSyntax:
		return &InvalidJSON{syntax.ByteOffset, strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")}
	}
	return err
}

// typeName names a value's type with its article.
func (v Value) typeName() string { return typeNames[v.Kind()] }

var typeNames = map[jsontext.Kind]string{'n': "null", 't': "a boolean", 'f': "a boolean", '0': "a number",
	'"': "a string", '[': "an array", '{': "an object"}

// RawRecord returns the text of the record with an id from the body of a print request. If there is
// only one record, it is returned whatever its id is.
//
// A third-party kitchen display gets the record as the service sent it; the queue stores only whole
// requests. An error means that the display gets the ticket without it.
func RawRecord(body []byte, id string) (json.RawMessage, error) {
	envelope, err := Parse(body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}

	records := envelope.Get(FieldRecords)
	want, _ := CanonicalID(id)
	isOnly := records.Len() == 1
	for r := range records.All() {
		got, _ := CanonicalID(r.Get(FieldID).string())
		// The only record is returned whatever its id. An empty id names none.
		if isOnly || got == want && want != "" {
			return json.RawMessage(r.Text()), nil
		}
	}
	return nil, errors.New("the request has several records, and none has the id of the ticket's record")
}
