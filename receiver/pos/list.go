package pos

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"ticketrail/receiver/contract"
)

// A list is read page by page, and the contract states neither where a page names the next one nor how the list behaves
// when it changes meanwhile. So a record that comes twice is left out, a cursor that comes twice ends the list with an
// error, and the counts that pages name are compared at the end.

const (
	maxRecords  = 100_000   // of one list
	maxStale    = 100       // pages without a new record: with paging by position, who is hired shifts the others
	headerPlace = "header:" // before the name of a header, where other places are paths into the envelope
)

// A listing is what is remembered from page to page. Of ids and cursors that is a hash: the service decides how long
// they are.
type listing struct {
	v        *Venue
	call     string
	seen     map[[sha256.Size]byte]bool
	cursorAt string // where the pages name the next one; "": not known yet
	paged    bool   // a page has named the next
	pages    int    // read
	received int    // records, repeated ones included
	yielded  int    // without them
	counts   []int  // what the pages named
	keys     string // of the latest page
}

// list yields the records of a list, each id once; read returns a record and its id. An error is the last element;
// see [Error.Incomplete]. Pages are requested as the sequence gets to them.
func list[T any](
	ctx context.Context, v *Venue, call, path string, query url.Values, read func(json.RawMessage) (T, string, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		l := &listing{v: v, call: call, seen: map[[sha256.Size]byte]bool{}, cursorAt: v.c.o.CursorAt}
		query := maps.Clone(query)
		var none T
		for {
			page, next, err := l.page(ctx, path, query)
			for _, raw := range page {
				one, id, problem := read(raw)
				if problem != nil {
					yield(none, l.malformed("%s[%d]: %v", contract.FieldRecords, l.received, problem))
					return
				}
				// When somebody is hired while the list is read, the next page repeats a record.
				if l.received++; id != "" && l.known("id", id) {
					continue
				}
				if l.yielded++; !yield(one, nil) {
					return
				}
			}
			if err == nil && (next == "" || len(page) == 0) {
				if err = l.compareCounts(); err == nil {
					return
				}
			}
			if err != nil {
				yield(none, err)
				return
			}
			query.Set(contract.ParamCursor, next)
		}
	}
}

// page requests a page and returns the cursor of the next; "": it is the last.
func (l *listing) page(ctx context.Context, path string, query url.Values) ([]json.RawMessage, string, error) {
	answered, err := l.v.get(ctx, l.call, path, query)
	if err != nil {
		return nil, "", err
	}
	l.keys = answered.keys()
	if cmp.Or(answered.texts[contract.FieldStatus], contract.ValueSuccess) != contract.ValueSuccess {
		return nil, "", l.malformed("the answer's %s is not %s", contract.FieldStatus, contract.ValueSuccess)
	}
	page, err := elements(answered.records, maxRecords-l.received+1)
	switch {
	case err != nil:
		return nil, "", l.malformed("%s: %v", contract.FieldRecords, err)
	case l.received+len(page) > maxRecords:
		return nil, "", l.malformed("the list has more than %d records", maxRecords)
	case l.pages >= l.yielded+maxStale:
		return nil, "", l.malformed("more than %d pages repeat earlier ones; the list would never end", maxStale)
	}
	l.pages++

	// A count that is no number counts as not sent: it is only a cross-check.
	if n, err := strconv.Atoi(answered.texts[contract.FieldCount]); err == nil && n >= 0 {
		l.counts = append(l.counts, n)
	}
	next := l.nextCursor(answered)
	if next != "" && l.known("cursor", next) {
		err = l.malformed("the service names the same next page twice; the list would never end")
	}
	return page, next, err
}

// known says whether this came before. what keeps ids and cursors apart.
func (l *listing) known(what, s string) bool {
	hash := sha256.Sum256([]byte(what + s))
	was := l.seen[hash]
	l.seen[hash] = true
	return was
}

func (l *listing) malformed(format string, args ...any) error {
	return l.v.fault(l.call, fmt.Sprintf(format, args...), adviceTell)
}

// compareCounts compares with every count: when the count changes between two pages, a record may have moved from a
// page that is not read yet to one that is, and the last count agrees all the same.
func (l *listing) compareCounts() error {
	for _, n := range l.counts {
		if n == l.yielded {
			continue
		}
		e := l.v.fault(l.call, fmt.Sprintf("received %d, but the service counts %d", l.yielded, n),
			"the list changed while it was read: try again; if it persists check service.employees.cursor")
		if l.yielded < n && !l.paged {
			e.Problem += "; no cursor of a next page was found in the answer: " + l.keys
			e.Advice = "name its place with service.employees.cursor"
		}
		e.Incomplete = true
		return e
	}
	return nil
}

// nextCursor finds the cursor of the next page; "": this is the last. Where one page names it, all do: the last page
// names none, and a cursor elsewhere in it is its own. Until that place is known, one whose name says "next" is
// believed even if it is empty: a plain "cursor" beside it may be the page's own.
func (l *listing) nextCursor(answered answer) string {
	places := append([]string{headerPlace + contract.HeaderNextCursor}, contract.NextCursorPlaces()...)
	if l.cursorAt != "" {
		places = []string{l.cursorAt}
	}

	emptyNext := false
	for _, place := range places {
		value, there := answered.texts[place]
		if name, isHeader := strings.CutPrefix(place, headerPlace); isHeader {
			value, there = strings.TrimSpace(answered.header.Get(name)), answered.header.Values(name) != nil
		}
		// An address stands for its parameter; it is not requested, because a token must go nowhere else.
		if u, err := url.Parse(value); err == nil && u.Query().Has(contract.ParamCursor) {
			value = u.Query().Get(contract.ParamCursor)
		}
		next := strings.Contains(strings.ToLower(place), "next")
		switch {
		case value != "" && (next || !emptyNext):
			l.cursorAt, l.paged = place, true
			return value
		case next && there:
			emptyNext = true
		}
	}
	return ""
}
