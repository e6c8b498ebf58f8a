package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"unicode/utf8"
)

// maxText is how much of a body that cannot be read prints, in bytes: about 80 cm of paper.
const maxText = 8000

// AsText is the request for a body that Open refuses but that must print: one record, Unreadable, that
// says why. Its id is that of the first record, else it is made of the content, so that a retry is
// recognised. cut says that not all of the body prints.
//
// The body is read as a stream, so that neither its depth nor its size costs memory. The error says that it
// is not one JSON object; the request can be printed nevertheless.
func AsText(body []byte, why string) (p PrintRequest, cut bool, err error) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	s := scanner{digest: sha256.New()}
	if err = s.scan(body); err != nil || !s.records {
		s.digest.Reset()
		s.digest.Write(body)
	}
	digest := hex.EncodeToString(s.digest.Sum(nil))
	id, _ := CanonicalID(s.id)
	if strings.TrimSpace(id) == "" || len(id) > MaxIDBytes {
		id = "text-" + digest[:32]
	}
	text := string(bytes.ToValidUTF8(body[:min(len(body), maxText)], []byte("\uFFFD")))
	if cut = len(body) > maxText; cut {
		text += fmt.Sprintf(" … and %d bytes more", len(body)-maxText)
	}
	return PrintRequest{
		ID: id, Raw: body, Anomalies: []Anomaly{OverLimit},
		Records: []Record{{ID: id, Fields: map[string]any{"text": digest}, Unreadable: text, Why: why}},
	}, cut, err
}

// A scanner reads a body token by token, and finds what a retry has too.
type scanner struct {
	id      string
	records bool // the envelope has the key
	ended   bool
	digest  hash.Hash // of what is under records, without metadata
	open    []opened
}

// An opened is an object or an array whose end was not reached.
type opened struct {
	object bool
	inside bool   // it is part of what is hashed
	key    string // of the value that is read, in an object
	index  int    // of the value that is read
	value  bool   // a key was read, its value was not
	hashed bool   // the value is part of what is hashed
}

func (s *scanner) scan(body []byte) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	for {
		start, known := dec.InputOffset(), s.id != ""
		token, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF) && s.ended:
			return nil
		case err != nil:
			return err
		case len(s.open) == 0 && (s.ended || token != json.Delim('{')):
			return errors.New("want one object")
		}
		s.token(token)
		if !known && strings.ContainsRune(s.id, utf8.RuneError) {
			s.id = exactID(body[start:dec.InputOffset()])
		}
		s.ended = len(s.open) == 0
	}
}

func (s *scanner) token(token json.Token) {
	n := len(s.open)
	if n == 0 {
		s.open = append(s.open, opened{object: true})
		return
	}
	in := &s.open[n-1]
	text, isText := token.(string)
	if in.object && !in.value && isText {
		isRecords := n == 1 && text == FieldRecords
		s.records = s.records || isRecords
		in.key, in.value, in.hashed = text, true, (in.inside || isRecords) && !IsMetadata(text)
		s.hash(in, token)
		return
	}
	if isText && s.id == "" && n == 3 && s.open[0].key == FieldRecords && s.open[1].index == 0 && in.key == FieldID {
		s.id = text
	}
	s.hash(in, token)
	switch token {
	case json.Delim('{'), json.Delim('['):
		next := opened{object: token == json.Delim('{'), inside: in.hashed}
		next.hashed = next.inside && !next.object
		s.open = append(s.open, next)
		return
	case json.Delim('}'), json.Delim(']'):
		if s.open = s.open[:n-1]; n == 1 {
			return
		}
		in = &s.open[n-2]
	}
	in.index++
	in.value = false
}

// hash adds a token with its type and length, so that no two contents have the same bytes.
func (s *scanner) hash(in *opened, token json.Token) {
	if in.hashed {
		text := fmt.Sprint(token)
		_, _ = fmt.Fprintf(s.digest, "%T %d %s", token, len(text), text)
	}
}

// IsMetadata says that a key is about the transport or the service's database, not about the order. What is
// under it may differ in a retry.
func IsMetadata(key string) bool {
	return key == FieldRetryCount || strings.HasPrefix(key, "_")
}
