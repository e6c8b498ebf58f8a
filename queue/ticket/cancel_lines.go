package ticket

import (
	"math/big"
	"slices"
	"strings"
)

// A voider cancels lines of a ticket. It works on blocks, as [NewlyVoid] makes them: a line of depth 0
// with those below it. If that line is a modifier, Parent has the name of the line above it.
type voider struct {
	lines   []Line // of the ticket, as they are now
	ordered []Line // the lines of the ticket as it was
	seen    []*cancelled
	count   int // lines of the ticket and of seen, see maxCompared
	voided  int // lines of which something was cancelled
	// by is the job that is cancelling now, and marks say of each line what it was: see [Strike].
	by    uint64
	marks []origin
}

// An origin says where a line of a voider comes from.
type origin struct {
	ticket int // the index of its ticket, if the lines are of several
	from   int // its index in the ticket as it was
	split  bool
	by     uint64 // the job that cancelled it; 0 if none did
}

// maxCompared bounds the lines of a ticket and of its corrections that are compared, because a copy is made
// while the queue stores nothing else. The time grows with their number to the third power.
const maxCompared = 1000

// A cancelled is a block that a correction has listed.
type cancelled struct {
	block   []Line
	arrival uint64
	done    bool // it was clear
	exact   bool // it is a whole line of the ticket, equal to it in everything
}

func newVoider(lines []Line) *voider {
	v := &voider{lines: slices.Clone(lines), ordered: lines, count: len(lines), marks: make([]origin, len(lines))}
	for i := range v.marks {
		v.marks[i].from = i
	}
	if v.count > maxCompared {
		return v
	}
	for i, l := range lines {
		if l.Void {
			block := slices.Clone(lines[i:end(lines, i)])
			block[0].Parent = parent(lines, i)
			v.seen = append(v.seen, &cancelled{block: block, done: true, exact: true})
		}
	}
	return v
}

// parent is the name of the line that line i belongs to; "" for an item.
func parent(lines []Line, i int) string {
	for j := i - 1; j >= 0; j-- {
		if lines[j].Depth < lines[i].Depth {
			return lines[j].Name
		}
	}
	return ""
}

// end is the index behind line i and everything below it.
func end(lines []Line, i int) int {
	n := i + 1
	for n < len(lines) && lines[n].Depth > lines[i].Depth {
		n++
	}
	return n
}

// cancelAll cancels every line. A ticket without lines counts as one.
func (v *voider) cancelAll() {
	if len(v.lines) == 0 {
		v.voided = 1
	}
	for i := 0; i < len(v.lines); i = end(v.lines, i) {
		v.cancelLine(i)
	}
}

// cancel cancels what a correction lists. It returns false if some of that is not clear.
func (v *voider) cancel(correction []Line, arrival uint64) bool {
	if v.count += len(correction); v.count > maxCompared {
		return false
	}
	known := len(v.seen)
	for len(correction) > 0 {
		n := end(correction, 0)
		v.seen = append(v.seen, &cancelled{block: correction[:n], arrival: arrival})
		correction = correction[n:]
	}
	clear := true
	for _, c := range v.seen[known:] {
		v.cancelBlock(c)
		clear = clear && c.done
	}
	return clear
}

// cancelBlock cancels one line with those below it, or some of its quantity. It does nothing if it is not
// clear which line is meant, or how much of it is left.
func (v *voider) cancelBlock(c *cancelled) {
	quantity := c.block[0].Quantity
	meant, named := v.find(c)
	if len(meant) == 0 || !v.addsUp(c) {
		return
	}
	want, ok := amount(quantity)
	switch {
	case v.lines[meant[0]].Quantity == quantity:
		v.cancelLine(meant[0])
	case !ok || want.Sign() == 0: // 0 of a dish is a void in one service, and means all of it in another
		return
	default:
		have := v.total(meant)
		if have == nil || want.Cmp(have) > 0 && len(meant) < len(named) {
			return
		}
		v.cancelAmount(meant, c.block, want)
	}
	c.done = true
}

// find returns the lines that a block may mean: those that are not void and have its name, at an item of
// the same name. Of these, meant are those that are most like it: in everything, else in everything but
// the quantity, else in the name only. They are equal, so it does not matter which of them is cancelled;
// if they are not, or the block says what they do not have, meant is empty.
//
// A service that makes a new line for a part of another may send nothing of it but the name. So such a
// line does not mean the one without a seat, a note or modifiers more than the others.
func (v *voider) find(c *cancelled) (meant, named []int) {
	block, head := c.block, c.block[0]
	var equal, like []int
	for i, l := range v.lines {
		if l.Void || l.Name != head.Name || (l.Depth == 0) != (head.Parent == "") ||
			parent(v.lines, i) != head.Parent {
			continue
		}
		named = append(named, i)
		if alike(v.lines[i:end(v.lines, i)], block) {
			if like = append(like, i); l.Quantity == head.Quantity {
				equal = append(equal, i)
			}
		}
	}
	switch {
	case !v.complete(c):
		meant = named
	case len(equal) > 0:
		meant, c.exact = equal, true
	case len(like) > 0 && (head.Seat != "" || len(head.Notes) > 0 || len(block) > 1):
		meant = like
	default:
		meant = named
	}
	if slices.ContainsFunc(meant, func(i int) bool {
		return !v.interchangeable(meant[0], i) || !v.ofOne(i) || !mayBe(v.lines[i:end(v.lines, i)], block)
	}) {
		return nil, named
	}
	return meant, named
}

// mayBe says whether a line with those below it has all that a void block of its name says. The void may
// have a note where the line has none: the reason.
func mayBe(whole, block []Line) bool {
	l, void := whole[0], block[0]
	missing := func(s string) bool { return !slices.Contains(void.Notes, s) }
	return (void.Seat == "" || void.Seat == l.Seat) && (void.Course == "" || void.Course == l.Course) &&
		(len(void.Notes) == 0 || !slices.ContainsFunc(l.Notes, missing)) &&
		!slices.ContainsFunc(block[1:], func(x Line) bool {
			return !slices.ContainsFunc(whole[1:], func(y Line) bool {
				return x.Name == y.Name && x.Quantity == y.Quantity // it may be that of several items
			})
		})
}

// ofOne says whether what line i modifies is there once. If it is there twice, a void of the modifier may be of
// one of them.
func (v *voider) ofOne(i int) bool {
	for depth := v.lines[i].Depth; i > 0 && depth > 0; {
		if i--; v.lines[i].Depth < depth {
			if depth = v.lines[i].Depth; v.lines[i].Quantity != "1" {
				return false
			}
		}
	}
	return true
}

// complete says whether the lines below the first one of a block are those that the service has sent
// there. [NewlyVoid] leaves out what it knows: another equal line, or a modifier of another item of that
// name, may have taken their places.
func (v *voider) complete(c *cancelled) bool {
	head := c.block[0]
	return !slices.ContainsFunc(v.seen, func(was *cancelled) bool {
		first := was.block[0]
		return was.arrival != c.arrival &&
			(first.Parent == head.Name || first.Parent == head.Parent && first.Name == head.Name &&
				(len(was.block) > 1 || sameLine(first, head)))
	})
}

// alike says whether two blocks are equal, apart from the quantity of their first lines and from what is
// void.
func alike(a, b []Line) bool {
	first := b[0]
	first.Quantity = a[0].Quantity
	return sameLine(a[0], first) && slices.EqualFunc(a[1:], b[1:], func(x, y Line) bool {
		return x.Depth-a[0].Depth == y.Depth-b[0].Depth && sameLine(x, y)
	})
}

// sameLine compares what the service sends of a line.
func sameLine(a, b Line) bool {
	return a.Quantity == b.Quantity && a.Name == b.Name && a.Seat == b.Seat &&
		a.Course == b.Course && slices.Equal(a.Notes, b.Notes)
}

// interchangeable says whether it makes no difference which of two lines is cancelled: the items that
// they belong to are equal, and so are their places in them. Quantities of the items may differ.
func (v *voider) interchangeable(i, j int) bool {
	a, b := v.item(i), v.item(j)
	x, y := v.lines[a:end(v.lines, a)], v.lines[b:end(v.lines, b)]
	return i-a == j-b && (i == a || x[0].Quantity == y[0].Quantity) && alike(x, y) &&
		slices.EqualFunc(x, y, func(p, q Line) bool { return p.Void == q.Void })
}

// item is the index of the item that line i belongs to.
func (v *voider) item(i int) int {
	for v.lines[i].Depth > 0 && i > 0 {
		i--
	}
	return i
}

// addsUp says whether c comes on top of what was cancelled before. A service may also send an earlier void
// again, with another note, or with the quantity of both together. Equal voids of two arrivals are two,
// because [NewlyVoid] has counted them. So are voids of two lines that differ in more than the quantity.
func (v *voider) addsUp(c *cancelled) bool {
	head, clear := c.block[0], true
	for _, was := range v.seen {
		first := was.block[0]
		if head.Parent != "" && slices.ContainsFunc(was.block, func(l Line) bool { return l.Name == head.Parent }) {
			return false // the modifier may be the rest of that item, see complete
		}
		if was.done && was.arrival != c.arrival && first.Name == head.Name && first.Parent == head.Parent {
			clear = clear && (sameLine(first, head) || was.exact && c.exact && !alike(was.block, c.block))
		}
	}
	if clear {
		return true
	}
	ordered := new(big.Rat)
	for i, l := range v.ordered {
		if n, ok := amount(l.Quantity); ok && l.Name == head.Name && parent(v.ordered, i) == head.Parent {
			ordered.Add(ordered, n)
		}
	}
	want, ok := amount(head.Quantity)
	return ok && want.Cmp(ordered) >= 0 // nothing is left, whichever it is
}

// total is the quantity of several lines; nil if it is not known.
func (v *voider) total(lines []int) *big.Rat {
	sum := new(big.Rat)
	for _, i := range lines {
		n, ok := amount(v.lines[i].Quantity)
		if !ok {
			return nil
		}
		sum.Add(sum, n)
	}
	return sum
}

// cancelAmount cancels as much of the quantity of some lines, or all of it.
func (v *voider) cancelAmount(lines []int, block []Line, want *big.Rat) {
	for _, i := range lines {
		have, _ := amount(v.lines[i].Quantity)
		if have.Cmp(want) > 0 {
			v.splitLine(i, block, have.Sub(have, want), want)
			return
		}
		v.cancelLine(i)
		if want = new(big.Rat).Sub(want, have); want.Sign() == 0 {
			return
		}
	}
}

// cancelLine cancels a line with everything below it.
func (v *voider) cancelLine(i int) {
	if !v.lines[i].Void {
		v.voided++
	}
	for j := range v.lines[i:end(v.lines, i)] {
		if !v.lines[i+j].Void {
			v.lines[i+j].Void, v.marks[i+j].by = true, v.by
		}
	}
}

// splitLine leaves some of a line, and adds the block behind it with what is void of it.
func (v *voider) splitLine(i int, block []Line, left, void *big.Rat) {
	v.voided++
	l, at := &v.lines[i], end(v.lines, i)
	l.Quantity = amountText(left)
	block = slices.Clone(block)
	for j := range block {
		block[j].Depth += l.Depth
		block[j].Void, block[j].NoRoute = true, l.NoRoute
	}
	block[0].Quantity, block[0].Parent, block[0].Course = amountText(void), "", l.Course
	v.lines = slices.Insert(v.lines, at, block...)
	off := v.marks[i]
	off.split, off.by = true, v.by
	v.marks = slices.Insert(v.marks, at, slices.Repeat([]origin{off}, len(block))...)
}

// amount reads a quantity that can be calculated with. An exponent cannot: 1e999999999 would take a
// gigabyte.
func amount(quantity string) (*big.Rat, bool) {
	if len(quantity) > 32 || strings.Trim(quantity, "0123456789.") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(quantity)
}

// amountText writes a quantity as people do: 2, 0.5.
func amountText(r *big.Rat) string {
	s := r.FloatString(32)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
