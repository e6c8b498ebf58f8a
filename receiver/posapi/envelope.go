package posapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/url"
	"strings"

	"ticketrail/receiver/contract"
)

const (
	maxCursor  = 4 << 10 // bytes: it must fit into an address
	maxRecords = 100_000 // of one list
	maxStale   = 100     // pages in a row that bring nobody new
	maxWant    = 20      // counts that differ
)

// An envelope is a page of a list, as far as it matters here.
type envelope struct {
	records []json.RawMessage
	count   int // -1: not said
	next    string
	place   string // where next was
}

// A record is one element of a list.
type record struct {
	at     int // in the list, from 0
	fields map[string]json.RawMessage
	raw    json.RawMessage
}

// list reads all pages as they are ranged over. Records whose id was there before are left out:
// a page shifts when somebody is hired while it is read.
func (v *Venue) list(ctx context.Context, call Call, path string, query url.Values) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		r := newReading(v, call)
		q := maps.Clone(query)
		for {
			page, err := v.page(ctx, call, path, q, r.place)
			if err != nil {
				yield(record{}, err)
				return
			}
			r.open(page)
			for _, raw := range page.records {
				rec, fresh, e := r.take(raw)
				if e != nil {
					yield(record{}, e)
					return
				}
				if fresh && !yield(rec, nil) {
					return
				}
			}
			more, err := r.turn(page)
			if err != nil {
				yield(record{}, err)
			}
			if !more {
				return
			}
			q.Set(contract.ParamCursor, page.next)
		}
	}
}

// A reading is what must be remembered from page to page. Ids and cursors are remembered by
// their hashes: nobody else decides how long they are.
type reading struct {
	v     *Venue
	call  Call
	ids   map[[sha256.Size]byte]bool
	asked map[[sha256.Size]byte]bool // cursors
	place string                     // where the next page is named; "": not known yet
	at    int                        // records that came, with those left out
	got   int                        // without
	had   int                        // got before this page
	stale int
	want  []int
}

func newReading(v *Venue, call Call) *reading {
	return &reading{v: v, call: call, ids: map[[sha256.Size]byte]bool{}, asked: map[[sha256.Size]byte]bool{}}
}

// open begins a page.
func (r *reading) open(p envelope) {
	r.had = r.got
	if n := len(r.want); p.count >= 0 && n < maxWant && (n == 0 || r.want[n-1] != p.count) {
		r.want = append(r.want, p.count)
	}
	if p.next != "" {
		r.place = p.place
	}
}

// take adds a record, which is not fresh when its id was there before.
func (r *reading) take(raw json.RawMessage) (rec record, fresh bool, e *Error) {
	rec = record{at: r.at, fields: jsonObject(raw), raw: raw}
	if rec.fields == nil {
		return record{}, false, r.v.odd(r.call, fmt.Sprintf("%s: want an object, got %s", rec.path(), jsonKind(raw)))
	}
	if r.at++; r.got == maxRecords {
		return record{}, false, r.v.odd(r.call, fmt.Sprintf("the list has more than %d records", maxRecords))
	}
	if id := rec.id(); id != "" {
		h := sha256.Sum256([]byte(id))
		if r.ids[h] {
			return rec, false, nil
		}
		r.ids[h] = true
	}
	r.got++
	return rec, true, nil
}

// turn ends a page and says whether there is another. Its error is the last of the list.
func (r *reading) turn(p envelope) (more bool, err error) {
	if p.next == "" || len(p.records) == 0 {
		return false, r.counted()
	}
	if r.stale++; r.got > r.had {
		r.stale = 0
	}
	if r.stale >= maxStale {
		return false, r.v.odd(r.call, fmt.Sprintf("the last %d pages brought nothing new, and still there is a next one", maxStale))
	}
	h := sha256.Sum256([]byte(p.next))
	if r.asked[h] {
		e := r.v.odd(r.call, "the service names the same next page a second time; the list would never end")
		e.Advice = "check where it names the next page"
		return false, e
	}
	r.asked[h] = true
	return true, nil
}

// counted compares with what each page said: when the count changes on the way, somebody who was
// there all the time may have slipped from one page to another, and the last count agrees.
func (r *reading) counted() error {
	for _, n := range r.want {
		if n != r.got {
			return &CountError{Call: r.call, Venue: r.v.id, Got: r.got, Want: r.want}
		}
	}
	return nil
}

func (r record) path() string { return fmt.Sprintf("%s[%d]", contract.FieldRecords, r.at) }

// id is canonical, and "" when the record has none.
func (r record) id() string {
	id, _ := contract.CanonicalID(jsonText(r.fields[contract.FieldID]))
	return id
}

func (v *Venue) page(ctx context.Context, call Call, path string, query url.Values, place string) (envelope, error) {
	var page envelope
	err := v.get(ctx, call, path, query, func(a answer) (e *Error) {
		page, e = v.open(call, a, place)
		return e
	})
	return page, err
}

// odd is the error of JSON that is not what the contract says.
func (v *Venue) odd(call Call, problem string) *Error {
	return v.fault(call, ErrMalformed, resultMalformed, problem)
}

// open reads an answer whose next page is named at place, if that is known already.
func (v *Venue) open(call Call, a answer, place string) (envelope, *Error) {
	obj := jsonObject(a.body)
	if obj == nil {
		return envelope{}, v.unreadable(call, a)
	}
	v.clock.note(obj, a)
	if status := obj[contract.FieldStatus]; !jsonNull(status) && jsonText(status) != contract.StatusSuccess {
		e := v.fault(call, ErrRefused, resultRefused, "the answer's status is "+v.hush.text(status))
		e.Status, e.Says = a.status, v.says(a)
		return envelope{}, e
	}
	p := envelope{count: -1}
	raw, ok := obj[contract.FieldRecords], false
	// One more than a list may have is enough to see that it has too many.
	if p.records, ok = jsonArray(raw, maxRecords+1); !ok {
		e := v.odd(call, fmt.Sprintf("%s: want an array, got %s", contract.FieldRecords, jsonKind(raw)))
		e.Status = a.status
		return envelope{}, e
	}
	if n, ok := jsonNumber(obj[contract.FieldCount]); ok && n >= 0 && n <= math.MaxInt32 && n == math.Trunc(n) {
		p.count = int(n)
	}
	var e *Error
	p.next, p.place, e = v.next(call, obj, a, cmp.Or(v.c.o.CursorAt, place))
	return p, e
}

// next finds the next page's cursor. Where it was once it is on every page: on the last, which
// names none, a cursor elsewhere is the page's own. Until that is known, a place that says
// "next" is believed when it is there, even if it is empty: a plain cursor beside it may be the
// one that was asked with.
func (v *Venue) next(call Call, obj map[string]json.RawMessage, a answer, place string) (c, at string, e *Error) {
	if place != "" {
		if name, ok := strings.CutPrefix(place, headerPlace); ok {
			c, e = v.cursor(call, place, a.header.Get(name))
		} else {
			c, e = v.cursorAt(call, obj, place)
		}
		return c, place, e
	}
	for _, wantNext := range []bool{true, false} {
		there := false
		for _, at := range contract.NextCursorPlaces() {
			if saysNext(at) != wantNext || jsonAt(obj, at) == nil {
				continue
			}
			there = true
			if c, e = v.cursorAt(call, obj, at); c != "" || e != nil {
				return c, at, e
			}
		}
		if h := a.header.Values(contract.HeaderNextCursor); wantNext && len(h) > 0 {
			at = headerPlace + contract.HeaderNextCursor
			c, e = v.cursor(call, at, h[0])
			return c, at, e
		}
		if there {
			break
		}
	}
	return "", "", nil
}

func saysNext(at string) bool {
	return strings.HasPrefix(strings.ToLower(at[strings.LastIndexByte(at, '.')+1:]), "next")
}

func (v *Venue) cursorAt(call Call, obj map[string]json.RawMessage, at string) (string, *Error) {
	raw := jsonAt(obj, at)
	if k := jsonKind(raw); !jsonNull(raw) && string(raw) != "false" && k != "a string" && k != "a number" {
		return "", v.odd(call, fmt.Sprintf("%s: want a cursor, got %s", printable(at, maxQuote), k))
	}
	return v.cursor(call, at, jsonText(raw))
}

func (v *Venue) cursor(call Call, at, c string) (string, *Error) {
	if len(c) > maxCursor {
		return "", v.odd(call, fmt.Sprintf("%s: a cursor of %d bytes", printable(at, maxQuote), len(c)))
	}
	if strings.TrimSpace(c) == "" {
		return "", nil
	}
	return c, nil
}
