package ticket

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// Added returns the drafts reduced to what is wanted now and is not in known, marked Added, and what is on
// paper with that. Of an item, more of it can be new (3x Fish after 2x), or only a modifier or a note, which
// is then a line of its own with the item's name in Parent. What has vanished is named in Later: it may have
// been cancelled, or forgotten.
//
// Items are the same if their ids are, or neither has one, and name, seat, order and station are. Of equal
// ones the sum counts, so that neither another sequence nor 2x Fish as two lines is new.
//
// A void that is not stated any more may be taken back. So what it cancelled prints again if it is still
// wanted, and Later says so: the content may also be older than the void.
func Added(known Paper, drafts []Draft) (added []Draft, now Paper) {
	c := contentOf(drafts)
	a := adder{left: map[uint64]int64{}, back: map[uint64]int64{}, printed: map[uint64]int64{}}
	stated := c.voided(known)
	for _, l := range known.Lines {
		a.back[l.Key] = max(l.Voided-stated[l.Key], 0)
		a.left[l.Key] = max(l.Amount-a.back[l.Key]-min(l.Off, stated[l.Key]), 0)
	}
	for i := range drafts {
		if d := c.drafts[i]; d != nil {
			if t, ok := a.draft(d); ok {
				if known.Partial {
					t.Banners = append(slices.Clone(t.Banners), mayRepeat)
				}
				added = append(added, Draft{Station: d.Station, Ticket: t})
			}
		}
	}
	now.Partial = known.Partial
	again := a.again(known.Partial, c)
	for _, l := range known.Lines {
		restored := a.restored(l.Key)
		l.Amount += a.printed[l.Key] - restored
		l.Voided, l.Off = l.Voided-restored, max(l.Off-restored, 0)
		l.Again = plus(l.Again, again[l.Key])
		now.add(l.voided(stated[l.Key], c))
	}
	isKnown := map[uint64]bool{}
	for _, l := range known.Lines {
		isKnown[l.Key] = true
	}
	for _, l := range c.lines {
		if !isKnown[l.Key] {
			n := *l
			if n.Above != 0 {
				n.Amount = a.printed[n.Key]
			}
			n.Again = again[n.Key]
			now.add(n)
		}
	}
	var later []string
	if s := a.againText(known); s != "" {
		later = append(later, s)
	}
	if s := goneText(known, now, c); s != "" {
		later = append(later, s)
	}
	for i := range added {
		added[i].Ticket.Later = later
	}
	return added, now
}

// mayRepeat heads what is new, or not: kitchens know it, so it never changes.
const mayRepeat = "POSSIBLE DUPLICATE – nobody knows what has printed before"

// maxNamed is how many lines are named in one sentence.
const maxNamed = 12

// goneText names what is on paper, is not void, and is not in the content. What belongs to something that
// has vanished is not named.
func goneText(known, now Paper, c *content) string {
	var gone []string
	for i, l := range known.Lines {
		live := int64(0)
		if stated := c.by[l.Key]; stated != nil {
			live = stated.Amount
		}
		above := c.by[l.Above]
		missing := l.Amount - now.Lines[i].Voided - live
		if missing <= 0 || l.Above != 0 && (above == nil || above.Amount == 0) {
			continue
		}
		gone = append(gone, l.text(missing))
	}
	return sentence("Missing now, but not cancelled: ", gone)
}

// againText names what prints again although it was cancelled.
func (a *adder) againText(known Paper) string {
	var names []string
	for _, l := range known.Lines {
		if n := a.restored(l.Key); n > 0 && a.restored(l.Above) == 0 {
			names = append(names, l.text(n))
		}
	}
	return sentence("Cancelled before, wanted again: ", names)
}

// restored is how much of a line prints after it was cancelled.
func (a *adder) restored(key uint64) int64 { return min(a.back[key], a.printed[key]) }

func sentence(begin string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], "and more")
	}
	return begin + strings.Join(names, ", ") + ". Ask."
}

// content is what drafts want and cancel, by key.
type content struct {
	lines  []*PaperLine // Amount and Voided are those of the drafts
	by     map[uint64]*PaperLine
	whole  map[uint64]bool // the orders that are void and name no line
	drafts []*keyedDraft   // by draft; nil for one that prints as it was received
}

// voided is how much of each known line the content cancels.
func (c *content) voided(known Paper) map[uint64]int64 {
	out := map[uint64]int64{}
	order := map[uint64]uint64{} // what is above a line stands before it
	for _, l := range known.Lines {
		if order[l.Key] = l.Key; l.Above != 0 {
			order[l.Key] = order[l.Above]
		}
		if stated := c.by[l.Key]; stated != nil {
			out[l.Key] = stated.Voided
		}
		if l.Above != 0 && c.whole[order[l.Key]] {
			out[l.Key] = max(out[l.Key], l.Amount)
		}
	}
	return out
}

// A keyedDraft is a draft with the keys of its lines.
type keyedDraft struct {
	*Draft
	order uint64
	lines []keyedLine
	notes []uint64 // keys of the notes of the whole record
	empty uint64   // the key of a record without lines; 0: it has some
}

type keyedLine struct {
	key    uint64
	parent int   // index of the line above; -1: it is an item
	end    int   // index behind the line and everything below it
	own    int64 // its quantity
	amount int64 // its quantity times those above it
	notes  []uint64
}

// contentOf computes the keys of all lines. Keys are stored: what they are made of never changes. An
// unreadable record is compared by [Voids].
func contentOf(drafts []Draft) *content {
	c := &content{by: map[uint64]*PaperLine{}, whole: map[uint64]bool{}, drafts: make([]*keyedDraft, len(drafts))}
	for i := range drafts {
		if !drafts[i].Unreadable {
			c.drafts[i] = c.key(&drafts[i])
		}
	}
	return c
}

func (c *content) key(d *Draft) *keyedDraft {
	t, k := &d.Ticket, &keyedDraft{Draft: d, lines: make([]keyedLine, len(d.Ticket.Lines))}
	order := hashOf(0, "order", t.Record, t.OrderInRequest())
	k.order = order
	at := hashOf(order, "at", d.Station)
	c.add(order, 0, 0, false, cmp.Or(NumberLabel(t.Number), TableLabel(t.Table, t.Type)))
	c.by[order].Amount = unit
	if len(t.Lines) == 0 {
		k.empty = hashOf(at, "record", t.Raw)
		c.whole[order] = c.whole[order] || t.Void
		c.add(k.empty, order, unit, t.Void, "a message without items")
	}
	if !t.Void {
		for _, n := range t.Notes {
			key := hashOf(at, "note", n)
			k.notes = append(k.notes, key)
			c.add(key, order, unit, false, "note "+n)
		}
	}
	var path []int
	for i := range t.Lines {
		l, line := &t.Lines[i], &k.lines[i]
		path = path[:min(max(l.Depth, 0), len(path))]
		own, odd := micro(l.Quantity)
		line.parent, line.own, line.amount, line.end = -1, own, own, end(t.Lines, i)
		above, base, name := order, at, l.Name
		if len(path) > 0 {
			line.parent = path[len(path)-1]
			up := &k.lines[line.parent]
			above, base, line.amount = up.key, up.key, times(up.amount, own)
			name = ofItem(name, t.Lines[line.parent].Name)
		}
		refire := ""
		if l.Refire {
			refire = "refire"
		}
		line.key = hashOf(base, "line", l.ID, l.Name, l.Seat, refire, odd)
		c.add(line.key, above, line.amount, l.Void, name)
		if !l.Void {
			for _, n := range l.Notes {
				key := hashOf(line.key, "note", n)
				line.notes = append(line.notes, key)
				c.add(key, line.key, line.amount, false, ofItem(n, l.Name))
			}
		}
		path = append(path, i)
	}
	return k
}

func (c *content) add(key, above uint64, amount int64, void bool, name string) {
	l := c.by[key]
	if l == nil {
		l = &PaperLine{Key: key, Above: above, Name: shortName(name)}
		c.by[key] = l
		c.lines = append(c.lines, l)
	}
	if void {
		l.Voided = plus(l.Voided, amount)
	} else {
		l.Amount = plus(l.Amount, amount)
	}
}

// An adder finds what of a content has not printed.
type adder struct {
	left    map[uint64]int64 // by key: what has printed and was not yet found in the content
	back    map[uint64]int64 // by key: what was void and is not any more
	printed map[uint64]int64 // by key: what prints now
	out     []Line
}

// draft returns the ticket for what is new in a draft. ok is false if nothing is.
func (a *adder) draft(d *keyedDraft) (t Ticket, ok bool) {
	t = d.Ticket
	a.out = nil
	// Two items of one name may differ in what modifies them. Those that have printed as they are come
	// first, or their modifiers would be taken for those of others.
	var items []int
	for i := range d.lines {
		if d.lines[i].parent < 0 && !t.Lines[i].Void {
			items = append(items, i)
		}
	}
	bySize := slices.Clone(items)
	slices.SortStableFunc(bySize, func(i, j int) int { return d.lines[j].end - j - (d.lines[i].end - i) })
	same := map[int]bool{}
	for _, i := range bySize {
		same[i] = a.same(d, i)
	}
	for _, i := range items {
		if !same[i] {
			a.line(d, i, d.lines[i].amount)
		}
	}
	t.Lines = a.out
	var notes []string
	for i, key := range d.notes {
		if a.miss(key, unit) > 0 {
			notes = append(notes, t.Notes[i])
		}
	}
	blank := d.empty != 0 && !t.Void && a.miss(d.empty, unit) > 0
	if len(t.Lines) == 0 && !blank {
		t.Notes = notes
	}
	t.Added, t.AlsoAt = true, nil
	return t, len(t.Lines) > 0 || len(notes) > 0 || blank
}

// same says whether an item has printed with all that belongs to it, and takes it from what is left if so.
func (a *adder) same(d *keyedDraft, i int) bool {
	need := map[uint64]int64{}
	for j := i; j < d.lines[i].end; j++ {
		if d.Ticket.Lines[j].Void {
			continue
		}
		for _, key := range append(d.lines[j].notes, d.lines[j].key) {
			need[key] = plus(need[key], d.lines[j].amount)
		}
	}
	for key, n := range need {
		if n > a.left[key] {
			return false
		}
	}
	for key, n := range need {
		a.left[key] -= n
	}
	return true
}

// line prints what is new of line i, of which the order wants an amount, and of what belongs to it.
func (a *adder) line(d *keyedDraft, i int, amount int64) {
	l := &d.lines[i]
	have := min(amount, a.left[l.key])
	a.left[l.key] -= have
	if amount > have {
		a.block(d, i, amount-have)
	}
	if have == 0 {
		return
	}
	line := &d.Ticket.Lines[i]
	for n, key := range l.notes {
		if miss := a.miss(key, have); miss > 0 {
			a.out = append(a.out, Line{Quantity: microText(miss), Name: line.Notes[n], Parent: line.Name,
				Seat: line.Seat, Course: line.Course, NoRoute: line.NoRoute})
		}
	}
	for j := i + 1; j < l.end; j = d.lines[j].end {
		if !d.Ticket.Lines[j].Void {
			a.line(d, j, times(have, d.lines[j].own))
		}
	}
}

// miss takes an amount from what is left, and prints the rest, which it returns.
func (a *adder) miss(key uint64, amount int64) int64 {
	have := min(amount, a.left[key])
	a.left[key] -= have
	a.print(key, amount-have)
	return amount - have
}

func (a *adder) print(key uint64, amount int64) { a.printed[key] = plus(a.printed[key], amount) }

// block prints an amount of line i with all that belongs to it.
func (a *adder) block(d *keyedDraft, i int, amount int64) {
	lines := d.Ticket.Lines
	amounts := map[int]int64{i: amount}
	for j := i; j < d.lines[i].end; j++ {
		if lines[j].Void { // a correction has it
			continue
		}
		k := &d.lines[j]
		if j > i {
			amounts[j] = times(amounts[k.parent], k.own)
		}
		for _, key := range append(k.notes, k.key) {
			a.print(key, amounts[j])
		}
		l := lines[j]
		if l.Depth -= lines[i].Depth; j == i {
			if up := d.lines[i].parent; up >= 0 {
				l.Parent = lines[up].Name
			}
			if _, odd := micro(l.Quantity); odd == "" && amount != k.own {
				l.Quantity = microText(amount)
			}
		}
		a.out = append(a.out, l)
	}
}

// unit is the amount 1. Amounts are whole numbers, because a sum of fractions must be exact.
const unit = 1_000_000

// maxAmount bounds sums and products.
const maxAmount = 1 << 53

// micro reads a quantity. One that cannot be calculated with counts as one line, and odd is its text, which
// makes the line another one.
func micro(quantity string) (n int64, odd string) {
	if quantity == "1" { // nearly all
		return unit, ""
	}
	if r, ok := amount(quantity); ok {
		millionths := new(big.Int).Mul(r.Num(), big.NewInt(unit))
		if millionths.Quo(millionths, r.Denom()); millionths.IsInt64() {
			n = millionths.Int64()
		}
	}
	if n <= 0 || n > maxAmount {
		return unit, quantity
	}
	return n, ""
}

func plus(a, b int64) int64 { return min(a+b, maxAmount) }

// times multiplies amounts. It is never 0: a line of which nothing is wanted would not be missed.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= unit {
		return maxAmount
	}
	n, _ := bits.Div64(hi, lo, unit)
	return int64(min(max(n, 1), maxAmount))
}

func microText(n int64) string {
	s := fmt.Sprintf("%d.%06d", n/unit, n%unit)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// hashOf is a hash of words below another hash.
func hashOf(above uint64, w ...string) uint64 {
	h := sha256.New()
	length(h, int(above))
	words(h, w...)
	return sum(h)
}

// ofItem is shortened first: a long name may have thousands of modifiers.
func ofItem(name, item string) string { return shortName(name) + " of " + shortName(item) }

// again is how much of each line prints that may be cancelled once more: what was restored, or all of it if
// nobody knows what was cancelled. Of an order it is all that prints.
func (a *adder) again(partial bool, c *content) map[uint64]int64 {
	again := map[uint64]int64{}
	for _, l := range c.lines {
		n := a.printed[l.Key]
		if n == 0 {
			continue
		}
		order := l.Above
		for c.by[order].Above != 0 {
			order = c.by[order].Above
		}
		again[order] = plus(again[order], n)
		if !partial {
			n = a.restored(l.Key)
		}
		again[l.Key] = n
	}
	return again
}
