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
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// A list is read page by page, and the contract states neither where a page names the next one nor
// how the list behaves when it changes meanwhile. So nothing is believed: a record that comes twice
// is left out, a cursor that comes twice ends the list with an error, and the counts that pages
// name are compared at the end.

const (
	maxRecords  = 100_000   // of one list: ten times what a directory keeps, and 4 MB of hashes
	maxCursor   = 4 << 10   // bytes: it becomes part of the next request's address
	maxStale    = 100       // pages in a row without a new record
	headerPlace = "header:" // before the name of a header, where others are paths into the envelope
)

// A record is one element of a list.
type record struct {
	index  int // in the list, from 0
	fields map[string]json.RawMessage
	raw    json.RawMessage
}

func (r record) path() string { return fmt.Sprintf("%s[%d]", contract.FieldRecords, r.index) }

// id is canonical; "" when the record has none.
func (r record) id() string {
	id, _ := contract.CanonicalID(jsonText(r.fields[contract.FieldID]))
	return id
}

// list reads the pages as they are ranged over. A record whose id came before is left out: when
// an employee is hired while the list is read, the next page repeats a record.
func (v *Venue) list(ctx context.Context, call Call, path string, query url.Values) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		l := &listing{v: v, call: call, seen: map[hash]bool{}, cursorAt: v.c.o.CursorAt}
		if err := l.read(ctx, path, maps.Clone(query), yield); err != nil {
			yield(record{}, err)
		}
	}
}

// A listing is what must be remembered from page to page. Of ids and cursors that is a hash: the
// service decides how long they are. One goroutine uses it.
type listing struct {
	v        *Venue
	call     Call
	seen     map[hash]bool
	cursorAt string // where the pages name the next one; "": not known yet
	received int    // records, repeated ones included
	yielded  int    // without them
	stale    int    // pages in a row without a new record
	counts   []int  // what the pages named
}

type hash = [sha256.Size]byte

// A page is one answer.
type page struct {
	records []json.RawMessage
	next    string // see [listing.nextCursor]
}

// read ends without an error when yield returns false.
func (l *listing) read(ctx context.Context, path string, query url.Values, yield func(record, error) bool) error {
	for {
		var p page
		err := l.v.get(ctx, l.call, path, query, func(a *answer) (e *Error) {
			p, e = l.open(a)
			return e
		})
		if err != nil {
			return err
		}
		before := l.yielded
		for _, raw := range p.records {
			r := record{index: l.received, fields: jsonObject(raw), raw: raw}
			// One record that is no object makes the page untrustworthy: a shorter list could
			// remove an employee who is still there.
			if r.fields == nil {
				return l.malformed("%s: want an object, got %s", r.path(), jsonKind(raw))
			}
			if l.received++; l.received > maxRecords {
				return l.malformed("the list has more than %d records", maxRecords)
			}
			if id := r.id(); id != "" && l.known("id", id) {
				continue
			}
			l.yielded++
			if !yield(r, nil) {
				return nil
			}
		}
		if l.stale++; l.yielded > before {
			l.stale = 0
		}
		switch {
		case p.next == "" || len(p.records) == 0:
			return l.compareCounts()
		// A service that ignores the cursor, or whose pages name each other, never ends its list.
		case l.known("cursor", p.next):
			e := l.malformed("the service names the same next page twice; the list would never end")
			e.Advice = "check where it names the next page"
			return e
		// Cursors that are all new but lead nowhere would get past the case above. Some such pages
		// are normal: with paging by position, each employee who is hired meanwhile shifts the others
		// by one, and a page may hold only one.
		case l.stale >= maxStale:
			return l.malformed("%d pages in a row repeat earlier ones; the list would never end", maxStale)
		}
		query.Set(contract.ParamCursor, p.next)
	}
}

// known says whether this came before. what keeps ids and cursors apart.
func (l *listing) known(what, s string) bool {
	h := sha256.Sum256([]byte(what + s))
	was := l.seen[h]
	l.seen[h] = true
	return was
}

func (l *listing) malformed(format string, args ...any) *Error {
	return l.v.fault(l.call, ErrMalformed, format, args...)
}

// compareCounts compares with every count, not only the last: when the count changes between two
// pages, a record may have moved from one that is not read yet to one that is, and the last
// count agrees all the same.
func (l *listing) compareCounts() error {
	for _, n := range l.counts {
		if n != l.yielded {
			return &CountError{Call: l.call, Venue: l.v.id, Got: l.yielded, Want: n}
		}
	}
	return nil
}

// open reads an answer.
func (l *listing) open(a *answer) (page, *Error) {
	obj := jsonObject(a.body)
	if obj == nil {
		return page{}, l.v.unreadable(l.call, a)
	}
	l.v.noteDrift(obj, a)
	// The contract says SUCCESS for a success, so any other value is an error, with the HTTP status
	// 200.
	if s := obj[contract.FieldStatus]; !jsonNull(s) && jsonText(s) != contract.ValueSuccess {
		status := cmp.Or(plainText(string(s)), jsonKind(s))
		return page{}, l.v.quote(l.v.fault(l.call, ErrRefused, "the answer's status is %s", status), a)
	}
	// One record more than a list may have is enough to see that it has too many.
	records, ok := jsonArray(obj[contract.FieldRecords], maxRecords+1)
	if !ok {
		kind := jsonKind(obj[contract.FieldRecords])
		return page{}, l.malformed("%s: want an array, got %s", contract.FieldRecords, kind)
	}
	// A count that is no sensible number counts as not sent: it is only a cross-check.
	if n, ok := jsonNumber(obj[contract.FieldCount]); ok && n >= 0 && n <= math.MaxInt32 && n == math.Trunc(n) {
		l.counts = append(l.counts, int(n))
	}
	next, e := l.nextCursor(obj, a)
	if e != nil {
		return page{}, e
	}
	return page{records, next}, nil
}

// nextCursor finds the cursor of the next page; "": this is the last. Where one page names it, all
// do: the last page names none, and a cursor elsewhere in it is its own. Until that place is known,
// one whose name says "next" is believed even if it is empty: a plain "cursor" beside it may be the
// page's own. A cursor that cannot be used is an error: without it the first page would count as
// the whole list, and the employees on the others as gone.
func (l *listing) nextCursor(obj map[string]json.RawMessage, a *answer) (string, *Error) {
	places := append([]string{headerPlace + contract.HeaderNextCursor, headerPlace + contract.HeaderLink},
		contract.NextCursorPlaces()...)
	if l.cursorAt != "" {
		places = []string{l.cursorAt}
	}
	emptyNext := false
	for _, place := range places {
		next := strings.Contains(strings.ToLower(place), "next") || place == headerPlace+contract.HeaderLink
		if emptyNext && !next {
			break
		}
		raw := jsonAt(obj, place)
		k := jsonKind(raw)
		if k == "an object" || k == "an array" || string(raw) == "true" {
			return "", l.malformed("%s: want a cursor, got %s", place, k)
		}
		cursor, there, ok := jsonText(raw), raw != nil, true
		if name, header := strings.CutPrefix(place, headerPlace); header {
			cursor, there = a.Header.Get(name), len(a.Header.Values(name)) > 0
			if http.CanonicalHeaderKey(name) == contract.HeaderLink {
				// Other links, such as rel="first", say nothing about the next page.
				cursor = nextLink(a.Header.Values(name))
				there = cursor != ""
			}
		}
		if cursor, ok = cursorIn(cursor); !ok {
			return "", l.malformed("%s: an address without a cursor", place)
		}
		if cursor = strings.TrimSpace(cursor); len(cursor) > maxCursor {
			return "", l.malformed("%s: a cursor of %d bytes, more than %d", place, len(cursor), maxCursor)
		}
		if cursor != "" {
			l.cursorAt = place
			l.v.cursorAt.Store(&place)
			return cursor, nil
		}
		emptyNext = emptyNext || there && next
	}
	return "", nil
}

// nextLink is the address of the next page in Link headers (RFC 8288); "" if they name none.
func nextLink(headers []string) string {
	for _, h := range headers {
		for link := range strings.SplitSeq(h, ",") {
			address, params, _ := strings.Cut(strings.TrimSpace(link), ">")
			for p := range strings.SplitSeq(params, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
				if strings.EqualFold(name, "rel") &&
					slices.Contains(strings.Fields(strings.ToLower(strings.Trim(value, `"`))), "next") {
					return strings.TrimPrefix(address, "<")
				}
			}
		}
	}
	return ""
}

// cursorIn is the cursor in what names the next page. An address stands for its parameter; it is not
// requested, because a token must go nowhere else.
func cursorIn(s string) (cursor string, ok bool) {
	if !strings.Contains(s, "://") && !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "?") {
		return s, true
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.RawQuery == "" {
		// A cursor in base64 may begin with a slash.
		return s, err == nil && u.Host == ""
	}
	cursor = u.Query().Get(contract.ParamCursor)
	return cursor, cursor != ""
}

// A Reading is how this client reads what the contract leaves open: the paths on the service's host,
// and where a list names its next page.
type Reading struct {
	Token    string `json:"token"`
	Me       string `json:"me"`
	Labor    string `json:"labor"`     // before /employees and /payrollperiods
	NextPage string `json:"next_page"` // as [Options.CursorAt]; "": no list had one
}

// Reading is the one that is used for the venue.
func (v *Venue) Reading() Reading {
	o, at := &v.c.o, v.cursorAt.Load()
	r := Reading{
		Token: v.c.base.JoinPath(o.TokenPath).Path, Me: v.c.base.JoinPath(o.MePath).Path,
		Labor: path.Dir(v.c.base.JoinPath(o.LaborPrefix, contract.PathEmployees).Path),
	}
	if at != nil {
		r.NextPage = *at
	}
	return r
}
