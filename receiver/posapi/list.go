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

	headerPlace = "header:"
)

// A page is one answer of a list, as far as it matters here.
type page struct {
	records []json.RawMessage
	count   int    // -1: not said
	next    string // the cursor of the next page; "": there is none
}

// A record is one element of a list.
type record struct {
	at     int // in the list, from 0
	fields map[string]json.RawMessage
	raw    json.RawMessage
}

func (r record) path() string { return fmt.Sprintf("%s[%d]", contract.FieldRecords, r.at) }

// id is canonical, and "" when the record has none.
func (r record) id() string {
	id, _ := contract.CanonicalID(jsonText(r.fields[contract.FieldID]))
	return id
}

// list reads all pages as they are ranged over. Records whose id was there before are left out:
// a page shifts when somebody is hired while it is read.
func (v *Venue) list(ctx context.Context, call Call, path string, query url.Values) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		r := &reading{v: v, call: call, seen: map[hash]bool{}, place: v.c.o.CursorAt}
		query := maps.Clone(query)
		for more := true; more; {
			var p page
			err := v.get(ctx, call, path, query, func(a answer) (e *Error) {
				p, e = r.open(a)
				return e
			})
			before := r.got
			for i := 0; err == nil && i < len(p.records); i++ {
				var rec record
				if rec, err = r.take(p.records[i]); err == nil && rec.fields != nil && !yield(rec, nil) {
					return
				}
			}
			if err == nil {
				more, err = r.turn(p, r.got > before)
				query.Set(contract.ParamCursor, p.next)
			}
			if err != nil {
				yield(record{}, err)
				return
			}
		}
	}
}

// A reading is what must be remembered from page to page. Ids and cursors are remembered by
// their hashes: nobody else decides how long they are.
type reading struct {
	v     *Venue
	call  Call
	seen  map[hash]bool
	place string // where the next page is named; "": not known yet
	at    int    // records that came, with those left out
	got   int    // without
	stale int    // pages in a row that brought nobody new
	want  []int  // the counts that the pages said
}

type hash = [sha256.Size]byte

// known says whether this was there before.
func (r *reading) known(what, s string) bool {
	h := sha256.Sum256([]byte(what + s))
	was := r.seen[h]
	r.seen[h] = true
	return was
}

// odd is the error of JSON that is not what the contract says.
func (r *reading) odd(format string, args ...any) *Error {
	return r.v.fault(r.call, ErrMalformed, format, args...)
}

// take adds a record. It has no fields when its id was there before.
func (r *reading) take(raw json.RawMessage) (record, error) {
	rec := record{at: r.at, fields: jsonObject(raw), raw: raw}
	if rec.fields == nil {
		return rec, r.odd("%s: want an object, got %s", rec.path(), jsonKind(raw))
	}
	if r.at++; r.got == maxRecords {
		return rec, r.odd("the list has more than %d records", maxRecords)
	}
	if id := rec.id(); id != "" && r.known("id", id) {
		return record{}, nil
	}
	r.got++
	return rec, nil
}

// turn ends a page and says whether there is another. Its error is the last of the list.
func (r *reading) turn(p page, fresh bool) (more bool, err error) {
	if n := len(r.want); p.count >= 0 && n < maxWant && (n == 0 || r.want[n-1] != p.count) {
		r.want = append(r.want, p.count)
	}
	if p.next == "" || len(p.records) == 0 {
		return false, r.counted()
	}
	if r.stale++; fresh {
		r.stale = 0
	}
	if r.stale >= maxStale {
		return false, r.odd("the last %d pages brought nothing new, and still there is a next one", maxStale)
	}
	if r.known("cursor", p.next) {
		e := r.odd("the service names the same next page a second time; the list would never end")
		e.Advice = "check where it names the next page"
		return false, e
	}
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

// open reads an answer.
func (r *reading) open(a answer) (page, *Error) {
	obj := jsonObject(a.body)
	if obj == nil {
		return page{}, r.v.unreadable(r.call, a)
	}
	r.v.clock.note(obj, a)
	if status := obj[contract.FieldStatus]; !jsonNull(status) && jsonText(status) != contract.StatusSuccess {
		e := r.v.fault(r.call, ErrRefused, "the answer's status is %s", cmp.Or(r.v.secrets.plain(status), jsonKind(status)))
		e.Status, e.Says = a.status, r.v.says(r.call, a)
		return page{}, e
	}
	p := page{count: -1}
	raw, ok := obj[contract.FieldRecords], false
	// One more than a list may have is enough to see that it has too many.
	if p.records, ok = jsonArray(raw, maxRecords+1); !ok {
		e := r.odd("%s: want an array, got %s", contract.FieldRecords, jsonKind(raw))
		e.Status = a.status
		return page{}, e
	}
	if n, ok := jsonNumber(obj[contract.FieldCount]); ok && n >= 0 && n <= math.MaxInt32 && n == math.Trunc(n) {
		p.count = int(n)
	}
	var e *Error
	p.next, e = r.next(obj, a)
	return p, e
}

// next finds the next page's cursor. Where it was once it is on every page: on the last, which
// names none, a cursor elsewhere is the page's own. Until that is known, a place that says
// "next" is believed when it is there, even if it is empty: a plain cursor beside it may be the
// one that was asked with.
func (r *reading) next(obj map[string]json.RawMessage, a answer) (string, *Error) {
	places := append([]string{headerPlace + contract.HeaderNextCursor}, contract.NextCursorPlaces()...)
	if r.place != "" {
		places = []string{r.place}
	}
	said := false
	for _, at := range places {
		if next := strings.Contains(strings.ToLower(at), "next"); said && !next {
			break
		} else if cursor, there, e := r.cursorAt(at, obj, a); cursor != "" || e != nil {
			r.place = at
			return cursor, e
		} else {
			said = said || there && next
		}
	}
	return "", nil
}

func (r *reading) cursorAt(at string, obj map[string]json.RawMessage, a answer) (cursor string, there bool, e *Error) {
	if name, ok := strings.CutPrefix(at, headerPlace); ok {
		cursor, there = a.header.Get(name), len(a.header.Values(name)) > 0
	} else {
		raw := jsonAt(obj, at)
		if k := jsonKind(raw); !jsonNull(raw) && string(raw) != "false" && k != "a string" && k != "a number" {
			return "", true, r.odd("%s: want a cursor, got %s", at, k)
		}
		cursor, there = jsonText(raw), raw != nil
	}
	if len(cursor) > maxCursor {
		return "", true, r.odd("%s: a cursor of %d bytes", at, len(cursor))
	}
	if strings.TrimSpace(cursor) == "" {
		cursor = ""
	}
	return cursor, there, nil
}
