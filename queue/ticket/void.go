package ticket

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
)

// Voids names every cancellation in the drafts by a short hash, sorted, a line that
// is there twice twice. It is what the queue keeps of a request for as long as its
// key is known, so that a later arrival under the same key can be asked what is void
// now and was not then.
//
// A line is the same when station, record, the names it hangs under, its name,
// quantity, seat and notes are. Anything less would take two different cancellations for one and
// lose the second; the price of being this strict is at worst a cancellation printed again.
func Voids(drafts []Draft) []uint64 {
	var out []uint64
	for i := range drafts {
		eachVoid(&drafts[i], func(key uint64, _ int, _ []string) { out = append(out, key) })
	}
	slices.Sort(out)
	return out
}

// NewlyVoid returns the drafts reduced to the cancellations that known (from [Voids],
// of an earlier arrival) does not have, and nothing else: what was an order stays out, so
// that it is not cooked twice. A modifier cancelled below an item that is not gets the
// item's name in Of. A draft without a new cancellation is left out. An unreadable
// record may be a cancellation: if its JSON is new it stays as it is, for a person to read.
func NewlyVoid(known []uint64, drafts []Draft) []Draft {
	left := map[uint64]int{}
	for _, k := range known {
		left[k]++
	}
	var out []Draft
	for i := range drafts {
		d := &drafts[i]
		var lines []Line
		whole := false
		base := -1 // source depth of the last kept line that stands at depth 0
		last := -2 // index of the last kept line
		eachVoid(d, func(key uint64, at int, above []string) {
			if left[key] > 0 {
				left[key]--
				return
			}
			if at < 0 { // the record itself
				whole = true
				return
			}
			l := d.Ticket.Lines[at]
			// A line keeps its place below a kept parent only if everything between is kept too.
			if below := base >= 0 && l.Depth > base && last == at-1; below {
				l.Depth -= base
			} else {
				base = l.Depth
				if len(above) > 0 {
					l.Of = above[len(above)-1]
				}
				l.Depth = 0
			}
			last = at
			lines = append(lines, l)
		})
		if len(lines) == 0 && !whole {
			continue
		}
		t := d.Ticket
		if d.Unreadable {
			out = append(out, *d)
			continue
		}
		t.Kind = Correction
		t.Lines = lines
		t.Void = true
		out = append(out, Draft{Station: d.Station, Ticket: t})
	}
	return out
}

// eachVoid calls f for every cancellation of a draft: at is the line's index, or -1 for a
// void or unreadable record without lines; above holds the names the line hangs under.
func eachVoid(d *Draft, f func(key uint64, at int, above []string)) {
	t := &d.Ticket
	if (t.Void || d.Unreadable) && len(t.Lines) == 0 {
		h := sha256.New()
		words(h, d.Station, t.Record, "the record")
		if d.Unreadable {
			words(h, t.Raw)
		}
		f(sum(h), -1, nil)
		return
	}
	var path []string
	for i, l := range t.Lines {
		path = path[:min(l.Depth, len(path))]
		if l.Void {
			h := sha256.New()
			words(h, d.Station, t.Record)
			words(h, path...)
			words(h, l.Name, l.Quantity, l.Seat)
			words(h, l.Notes...)
			f(sum(h), i, path)
		}
		path = append(path, l.Name)
	}
}

// words writes strings so that no two lists look alike.
func words(h hash.Hash, ss ...string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(ss)))
	h.Write(n[:])
	for _, s := range ss {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
}

func sum(h hash.Hash) uint64 { return binary.BigEndian.Uint64(h.Sum(nil)) }
