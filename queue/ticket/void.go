package ticket

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
)

// Voids returns a short hash of every cancellation in the drafts, sorted; a line that is there
// twice is in it twice. The queue stores it with the key of a request, so that a later arrival
// under the same key can be compared: what is void now and was not then?
//
// Two lines are the same if station, record, the names above them, name, quantity, seat and notes
// are. With less, two different cancellations could count as one, and the second would be lost. The
// price of being strict is at worst that a cancellation prints again.
//
// A line that was cancelled and is wanted again since then is another one: see [Added].
func (p Paper) Voids(drafts []Draft) []uint64 {
	var out []uint64
	hash := p.voidHashes(drafts)
	for i := range drafts {
		eachVoid(&drafts[i], func(key uint64, at int, _ []string) { out = append(out, hash(i, at, key)) })
	}
	slices.Sort(out)
	return out
}

// voidHashes returns a function that changes the hash of a void, line at of draft i, if it was wanted again.
func (p Paper) voidHashes(drafts []Draft) func(i, at int, hash uint64) uint64 {
	again := map[uint64]int64{}
	for _, l := range p.Lines {
		if l.Again > 0 {
			again[l.Key] = l.Again
		}
	}
	if len(again) == 0 { // nearly always
		return func(_, _ int, hash uint64) uint64 { return hash }
	}
	c := contentOf(drafts)
	return func(i, at int, hash uint64) uint64 {
		d := c.drafts[i]
		if d == nil {
			return hash
		}
		key := d.order
		if at >= 0 {
			key = d.lines[at].key
		}
		if n := again[key]; n > 0 {
			return hashOf(hash, "wanted again", microText(n))
		}
		return hash
	}
}

// NewlyVoid returns the drafts reduced to the cancellations that are not in known, which is the
// result of [Paper.Voids] for earlier arrivals. Orders are left out, so that nothing is cooked twice; a
// draft without a new cancellation is left out too. A modifier that is cancelled while its item is
// not gets the item's name in Of.
//
// An unreadable record may be a cancellation: if its JSON is new the draft stays as it is, for a
// person to read, but for its head: it may also be the order that has printed.
func (p Paper) NewlyVoid(known []uint64, drafts []Draft) []Draft {
	left := map[uint64]int{}
	for _, k := range known {
		left[k]++
	}
	hash := p.voidHashes(drafts)
	var out []Draft
	for i := range drafts {
		d := &drafts[i]
		var lines []Line
		whole := false
		base := -1 // the depth, in the draft, of the last kept line that got depth 0
		last := -2 // the index of the last kept line
		eachVoid(d, func(key uint64, at int, above []string) {
			if key = hash(i, at, key); left[key] > 0 {
				left[key]--
				return
			}
			if at < 0 { // the record itself
				whole = true
				return
			}
			l := d.Ticket.Lines[at]
			// Lines that follow each other and are all kept stay one block: the first gets depth 0, those
			// below it keep their distance to it. Any other line starts a block of its own, with the name
			// of the item above it in Parent.
			if below := base >= 0 && l.Depth > base && last == at-1; below {
				l.Depth -= base
			} else {
				base = l.Depth
				if len(above) > 0 {
					l.Parent = above[len(above)-1]
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
			t.Added = true
			out = append(out, Draft{Station: d.Station, Ticket: t, Unreadable: true})
			continue
		}
		t.Kind = Correction
		t.Lines = lines
		t.AlsoAt = nil
		t.Void = true
		out = append(out, Draft{Station: d.Station, Ticket: t})
	}
	return out
}

// wholeRecord takes the place of a line's name in the hash of a record without lines. Hashes are
// stored, so it never changes.
const wholeRecord = "the record"

// eachVoid calls f for every cancellation of a draft. at is the index of the line, or -1 for a void
// or unreadable record without lines. above are the names of the items above the line.
func eachVoid(d *Draft, f func(key uint64, at int, above []string)) {
	t := &d.Ticket
	if (t.Void || d.Unreadable) && len(t.Lines) == 0 {
		h := sha256.New()
		words(h, d.Station, t.Record, wholeRecord)
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
			f(voidHash(d, path, &l), i, path)
		}
		path = append(path, l.Name)
	}
}

// voidHash is the hash of a line of a draft as void, below items of the given names.
func voidHash(d *Draft, above []string, l *Line) uint64 {
	h := sha256.New()
	words(h, d.Station, d.Ticket.Record)
	words(h, above...)
	words(h, l.Name, l.Quantity, l.Seat)
	words(h, l.Notes...)
	return sum(h)
}

// words hashes strings with their number and lengths, so that no two lists have the same bytes.
func words(h hash.Hash, ss ...string) {
	length(h, len(ss))
	for _, s := range ss {
		length(h, len(s))
		h.Write([]byte(s))
	}
}

func length(h hash.Hash, n int) { h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }

// Hash is a short name for a list of words. Each is hashed with its length, so that no two lists of as many
// words have the same bytes. Displays compare it with what they were sent by earlier versions.
func Hash(words ...string) string {
	h := sha256.New()
	for _, s := range words {
		length(h, len(s))
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func sum(h hash.Hash) uint64 { return binary.BigEndian.Uint64(h.Sum(nil)) }
