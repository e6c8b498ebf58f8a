package queue

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"sort"
)

// A file that bbolt cannot open is read here, page by page. Nothing in it is believed: bbolt's own reader panics
// on a wrong page, and maps the file, so that a short one kills the process. The layout is that of file.go;
// pages_test.go checks it against the bbolt of go.mod.

const (
	offRoot     = 16 // of a meta page: the page of the bucket that holds all others
	branchFlag  = 1
	leafFlag    = 2
	elementSize = 16
	bucketSize  = 16 // what precedes an inline bucket, or is all of another one: root page, sequence
	maxKeySize  = 32 << 10
	// maxValueSize bounds what is read into memory at once: no body is larger.
	maxValueSize = 72 << 20
	// maxDepth is more than a tree of any size has.
	maxDepth = 32
)

// pages are the pages of a file.
type pages struct {
	f     io.ReaderAt
	size  int64  // of a page
	count uint64 // in the file, the last one may be cut off
	live  []bool // pages that belong to a tree
}

// A page is a page with its overflow, or the page of an inline bucket.
type page struct {
	f        io.ReaderAt
	at       int64 // offset of its header in the file
	length   int64
	start    []byte // its first bytes
	flags    uint16
	elements int
	overflow uint64
}

// read reads the start of a page. ok is false if it is no branch or leaf, or has the number of another one.
func (p *pages) read(id uint64) (*page, bool) {
	if id < 2 || id >= p.count {
		return nil, false
	}
	g := &page{f: p.f, at: int64(id) * p.size, length: p.size}
	if g.start = readAt(p.f, g.at, p.size); g.start == nil || binary.NativeEndian.Uint64(g.start) != id {
		return nil, false
	}
	g.overflow = uint64(binary.NativeEndian.Uint32(g.start[12:]))
	if g.overflow >= p.count-id {
		return nil, false
	}
	g.length *= int64(g.overflow + 1)
	return g, g.header()
}

// inlinePage is the page within the value of a small bucket. It has no number.
func inlinePage(value []byte, at int64) (*page, bool) {
	if len(value) < bucketSize+pageHeader || binary.NativeEndian.Uint64(value) != 0 {
		return nil, false
	}
	g := &page{at: at + bucketSize, length: int64(len(value) - bucketSize), start: value[bucketSize:]}
	return g, g.header() && g.flags == leafFlag
}

// header reads the header of a page.
func (g *page) header() bool {
	g.flags = binary.NativeEndian.Uint16(g.start[8:])
	g.elements = int(binary.NativeEndian.Uint16(g.start[10:]))
	return (g.flags == branchFlag || g.flags == leafFlag) &&
		pageHeader+int64(g.elements)*elementSize <= g.length
}

// bytes returns a part of a page; nil if it is not in it, or cannot be read.
func (g *page) bytes(at, n int64) []byte {
	switch {
	case at+n <= int64(len(g.start)):
		return g.start[at : at+n]
	case at+n > g.length || g.f == nil:
		return nil
	}
	return readAt(g.f, g.at+at, n)
}

// readAt reads n bytes; nil if they cannot be read, for example because the disk has a bad sector there.
func readAt(f io.ReaderAt, at, n int64) []byte {
	b := make([]byte, n)
	if got, err := f.ReadAt(b, at); got < len(b) || err != nil && err != io.EOF {
		return nil
	}
	return b
}

// A ref is where a value is in the file.
type ref struct {
	at int64
	n  int64
}

// An element is one key of a page.
type element struct {
	key      []byte
	child    uint64 // of a branch
	bucket   bool   // of a leaf: the value is a bucket
	value    ref    // of a leaf
	from, to int64  // its key and value in the page
}

// element reads one key.
func (g *page) element(i int) (e element, ok bool) {
	at := pageHeader + int64(i)*elementSize
	raw := g.bytes(at, elementSize)
	if raw == nil {
		return e, false
	}
	word := func(n int) int64 { return int64(binary.NativeEndian.Uint32(raw[n:])) }
	pos, keySize := word(4), word(8)
	if g.flags == branchFlag {
		pos, keySize, e.child = word(0), word(4), binary.NativeEndian.Uint64(raw[8:])
	} else {
		e.bucket = word(0)&1 != 0
		e.value = ref{g.at + at + pos + keySize, word(12)}
		if word(0) > 1 || e.value.n > maxValueSize || at+pos+keySize+e.value.n > g.length {
			return e, false
		}
	}
	e.from, e.to = at+pos, at+pos+keySize+e.value.n
	if keySize > maxKeySize || keySize == 0 && g.flags == leafFlag {
		return e, false
	}
	e.key = g.bytes(at+pos, keySize)
	return e, e.key != nil
}

// all returns the elements that can be read. whole is false if one cannot, or if their keys are not in order or
// outside of the range: then a key may be another one than was written. bbolt writes keys and values without gaps,
// which shows a wrong number of elements.
func (g *page) all(r keyRange) (found []element, whole bool) {
	next := pageHeader + int64(g.elements)*elementSize
	whole = g.elements > 0 || g.length == pageHeader || slices.Max(g.start[pageHeader:]) == 0
	for i := range g.elements {
		e, ok := g.element(i)
		if !ok || e.from < next { // what overlaps could be read over and over
			whole = false
			continue
		}
		whole = whole && e.from == next
		next = e.to
		if n := len(found); n > 0 && bytes.Compare(found[n-1].key, e.key) >= 0 || !r.has(e.key) {
			whole = false
		}
		found = append(found, e)
	}
	return found, whole
}

// A keyRange has the keys from lo up to hi, which is not in it; nil is the end.
type keyRange struct{ lo, hi []byte }

func (r keyRange) has(key []byte) bool {
	return bytes.Compare(key, r.lo) >= 0 && (r.hi == nil || bytes.Compare(key, r.hi) < 0)
}

// keyRanges are ranges by the path of their bucket.
type keyRanges map[string][]keyRange

// sort prepares them for has.
func (k keyRanges) sort() {
	for path, all := range k {
		slices.SortFunc(all, func(a, b keyRange) int { return bytes.Compare(a.lo, b.lo) })
		merged := all[:0]
		for _, r := range all {
			last := len(merged) - 1
			if last < 0 || merged[last].hi != nil && bytes.Compare(merged[last].hi, r.lo) < 0 {
				merged = append(merged, r)
			} else if merged[last].hi != nil && (r.hi == nil || bytes.Compare(r.hi, merged[last].hi) > 0) {
				merged[last].hi = r.hi
			}
		}
		k[path] = merged
	}
}

func (k keyRanges) has(path string, key []byte) bool {
	all := k[path]
	i := sort.Search(len(all), func(i int) bool { return bytes.Compare(all[i].lo, key) > 0 })
	return i > 0 && all[i-1].has(key)
}

// A treeWalk reads a tree from its root.
type treeWalk struct {
	*pages
	seen  []bool // pages of this tree: a second reference is damage
	lost  keyRanges
	entry func(path string, e element) bool // false: its value cannot be read
	// tree is told of each bucket. False: there is none of this name; the flag of its element is damaged.
	tree func(path string, key []byte, sequence uint64) bool
}

// bucket reads a bucket. What cannot be read of it is lost.
func (w *treeWalk) bucket(path string, root uint64) { w.page(path, root, keyRange{}, 0) }

func (w *treeWalk) page(path string, id uint64, r keyRange, depth int) {
	g, ok := w.read(id)
	if !ok || depth > maxDepth || slices.Contains(w.seen[id:id+g.overflow+1], true) {
		w.lost[path] = append(w.lost[path], r)
		return
	}
	found, whole := g.all(r)
	// A branch has the first key of each page below it. Another page there is one that was freed.
	if depth > 0 && (len(found) == 0 || !bytes.Equal(found[0].key, r.lo)) {
		whole = false
	}
	if g.flags == leafFlag && !whole {
		// It is left to the search of pages that belong to no tree.
		w.lost[path] = append(w.lost[path], r)
		return
	}
	for n := id; n <= id+g.overflow; n++ {
		w.seen[n], w.live[n] = true, true
	}
	if g.flags == leafFlag {
		w.leaf(path, found)
		return
	}
	if !whole || len(found) == 0 {
		w.lost[path] = append(w.lost[path], r)
	}
	for i, e := range found {
		child := keyRange{e.key, r.hi}
		if i+1 < len(found) {
			child.hi = found[i+1].key
		}
		w.page(path, e.child, child, depth+1)
	}
}

func (w *treeWalk) leaf(path string, found []element) {
	for _, e := range found {
		ok := false
		if !e.bucket {
			ok = w.entry(path, e)
		} else if value := readAt(w.f, e.value.at, e.value.n); len(value) >= bucketSize {
			ok = w.tree(path, e.key, binary.NativeEndian.Uint64(value[8:])) &&
				w.nested(path+string(e.key)+"\x00", value, e.value.at)
		}
		if !ok {
			w.lost[path] = append(w.lost[path], keyRange{e.key, append(slices.Clone(e.key), 0)})
		}
	}
}

// nested reads a bucket within another.
func (w *treeWalk) nested(path string, value []byte, at int64) bool {
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		w.bucket(path, root)
		return true
	}
	g, ok := inlinePage(value, at)
	if !ok {
		return false
	}
	found, whole := g.all(keyRange{})
	w.leaf(path, found)
	if !whole {
		w.lost[path] = append(w.lost[path], keyRange{})
	}
	return true
}
