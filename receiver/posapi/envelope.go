package posapi

import (
	"context"
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
	maxCursor  = 4 << 10   // bytes: it must fit into an address
	maxRecords = 1_000_000 // of one list
	maxStale   = 100       // pages in a row that bring nobody new
)

// An envelope is a page of a list, as far as it matters here.
type envelope struct {
	records []json.RawMessage
	count   int // -1: not said
	next    string
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
		r := reading{v: v, call: call, ids: map[string]bool{}, asked: map[string]bool{}}
		q := maps.Clone(query)
		for {
			page, err := v.page(ctx, call, path, q)
			if err != nil {
				yield(record{}, err)
				return
			}
			fresh, err := r.take(page)
			for _, rec := range fresh {
				if !yield(rec, nil) {
					return
				}
			}
			if err == nil && page.next != "" && len(page.records) > 0 {
				q.Set(contract.ParamCursor, page.next)
				continue
			}
			if err == nil {
				err = r.counted()
			}
			if err != nil {
				yield(record{}, err)
			}
			return
		}
	}
}

// A reading is what must be remembered from page to page.
type reading struct {
	v     *Venue
	call  Call
	ids   map[string]bool
	asked map[string]bool // cursors
	at    int             // records that came, with those left out
	got   int             // without
	stale int
	want  []int
}

// take adds a page. The records are good even beside an error.
func (r *reading) take(p envelope) ([]record, error) {
	fresh := make([]record, 0, len(p.records))
	for _, raw := range p.records {
		rec := record{at: r.at, fields: jsonObject(raw), raw: raw}
		if rec.fields == nil {
			return fresh, r.v.odd(r.call, fmt.Sprintf("%s: want an object, got %s", rec.path(), jsonKind(raw)))
		}
		r.at++
		if id := rec.id(); id != "" {
			if r.ids[id] {
				continue
			}
			r.ids[id] = true
		}
		fresh = append(fresh, rec)
	}
	r.got += len(fresh)
	if r.stale++; len(fresh) > 0 {
		r.stale = 0
	}
	if n := len(r.want); p.count >= 0 && (n == 0 || r.want[n-1] != p.count) {
		r.want = append(r.want, p.count)
	}
	switch {
	case r.got > maxRecords:
		return fresh, r.v.odd(r.call, fmt.Sprintf("the list has more than %d records", maxRecords))
	case r.stale >= maxStale:
		return fresh, r.v.odd(r.call, fmt.Sprintf("the last %d pages brought nothing new, and still there is a next one", maxStale))
	case p.next != "" && len(p.records) > 0 && r.asked[p.next]:
		e := r.v.odd(r.call, "the service names the same next page a second time; the list would never end")
		e.Advice = "check where it names the next page"
		return fresh, e
	}
	r.asked[p.next] = true
	return fresh, nil
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

func (v *Venue) page(ctx context.Context, call Call, path string, query url.Values) (envelope, error) {
	var page envelope
	err := v.get(ctx, call, path, query, func(a answer) (e *Error) {
		page, e = v.open(call, a)
		return e
	})
	return page, err
}

// odd is the error of JSON that is not what the contract says.
func (v *Venue) odd(call Call, problem string) *Error {
	return v.fault(call, ErrMalformed, resultMalformed, problem)
}

func (v *Venue) open(call Call, a answer) (envelope, *Error) {
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
	raw := obj[contract.FieldRecords]
	if jsonNull(raw) || json.Unmarshal(raw, &p.records) != nil {
		e := v.odd(call, fmt.Sprintf("%s: want an array, got %s", contract.FieldRecords, jsonKind(raw)))
		e.Status = a.status
		return envelope{}, e
	}
	if n, ok := jsonNumber(obj[contract.FieldCount]); ok && n >= 0 && n <= math.MaxInt32 && n == math.Trunc(n) {
		p.count = int(n)
	}
	var e *Error
	p.next, e = v.next(call, obj, a)
	return p, e
}

// next finds the next page's cursor. A place that says "next" is believed when it is there, even
// if it is empty: a plain cursor beside it may be the one that was asked with.
func (v *Venue) next(call Call, obj map[string]json.RawMessage, a answer) (string, *Error) {
	if at := v.c.o.CursorAt; at != "" {
		if name, ok := strings.CutPrefix(at, headerPlace); ok {
			return v.cursor(call, at, a.header.Get(name))
		}
		return v.cursorAt(call, obj, at)
	}
	for _, wantNext := range []bool{true, false} {
		there := false
		for _, at := range contract.NextCursorPlaces() {
			if saysNext(at) != wantNext || jsonAt(obj, at) == nil {
				continue
			}
			there = true
			if c, e := v.cursorAt(call, obj, at); c != "" || e != nil {
				return c, e
			}
		}
		if h := a.header.Values(contract.HeaderNextCursor); wantNext && len(h) > 0 {
			return v.cursor(call, headerPlace+contract.HeaderNextCursor, h[0])
		}
		if there {
			return "", nil
		}
	}
	return "", nil
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
