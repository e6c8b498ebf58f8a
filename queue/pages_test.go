package queue

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func TestATreeIsReadAsBboltReadsIt(t *testing.T) {
	for seed := range rounds(2, 10) {
		r := rand.New(rand.NewPCG(seed, 1))
		path := randomTree(t, r, 1<<(10+r.IntN(4)))
		want, wantSequences := boltTree(t, path)
		got, sequences, lost := readPages(t, path)
		if len(lost) > 0 || fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(sequences) != fmt.Sprint(wantSequences) {
			t.Errorf("seed %d: %d values, want %d; sequences %v, want %v; lost %q",
				seed, len(got), len(want), sequences, wantSequences, lost)
		}
	}
}

// TestWhatADamagedPageHidesIsKnownAsLost: whatever is damaged in a page: what is read is what was written, and what
// is not read is known as lost.
func TestWhatADamagedPageHidesIsKnownAsLost(t *testing.T) {
	for seed := range rounds(10, 50) {
		r := rand.New(rand.NewPCG(seed, 2))
		path := randomTree(t, r, 1<<10)
		want, _ := boltTree(t, path)
		content, err := os.ReadFile(path)
		must(t, err)
		page := randomStart(r, content)
		switch r.IntN(4) {
		case 0:
			clear(page)
		case 1: // of the header: its number, kind, elements and overflow
			page[r.IntN(pageHeader)] ^= 1 << r.IntN(8)
		case 2: // of the place and size of a key or value; the flags of an element must fit its bucket
			page[pageHeader+r.IntN(int(page[10]))*elementSize+4+r.IntN(12)] ^= 1 << r.IntN(8)
		case 3:
			copy(page, randomStart(r, content))
		}
		must(t, os.WriteFile(path, content, 0o600))
		got, _, lost := readPages(t, path)
		for k, v := range want {
			at := 1 + bytes.LastIndexByte([]byte(k), 0)
			if _, found := got[k]; !found && !lost.lostIn(k[:at], []byte(k[at:])) && !lostAbove(lost, k) {
				t.Fatalf("seed %d: %q is not there, and not known as lost: %q", seed, k, lost)
			} else if found && got[k] != v && len(got[k]) != len(v) {
				t.Errorf("seed %d: %q has another length", seed, k)
			}
		}
	}
}

func TestAPageWithAnotherNumberOfElementsIsNotWhole(t *testing.T) {
	content, err := os.ReadFile(randomTree(t, rand.New(rand.NewPCG(1, 3)), 1<<10))
	must(t, err)
	leaf, _ := leafAndBranch(t, content)
	for _, change := range []byte{0, 1, 255} {
		b := bytes.Clone(content)
		b[leaf+10] += change
		p := pages{f: bytes.NewReader(b), size: 1 << 10, count: uint64(len(b) >> 10)}
		g, ok := p.read(uint64(leaf >> 10))
		if !ok {
			t.Fatal("it is no leaf")
		}
		if _, whole := g.all(keyRange{}); whole != (change == 0) {
			t.Errorf("with %d elements it is whole: %v", g.elements, whole)
		}
	}
}

// TestATreeThatContainsItselfIsReadOnce: without an end it would take longer than the universe exists.
func TestATreeThatContainsItselfIsReadOnce(t *testing.T) {
	content, err := os.ReadFile(randomTree(t, rand.New(rand.NewPCG(1, 3)), 1<<10))
	must(t, err)
	_, branch := leafAndBranch(t, content)
	for i := range int(content[branch+10]) {
		binary.NativeEndian.PutUint64(content[branch+pageHeader+i*elementSize+8:], uint64(branch>>10))
	}
	p := pages{f: bytes.NewReader(content), size: 1 << 10, count: uint64(len(content) >> 10)}
	p.live = make([]bool, p.count)
	w := treeWalk{pages: &p, seen: make([]bool, p.count), lost: keyRanges{}}
	w.bucket("x", uint64(branch>>10))
	if w.lost.sort(); len(w.lost["x"]) == 0 {
		t.Error("nothing is lost")
	}
}

func TestARangeOfKeysHasItsFirstAndNotItsEnd(t *testing.T) {
	lost := keyRanges{"x": {
		{[]byte("m"), []byte("p")}, {[]byte("b"), []byte("d")}, {[]byte("c"), []byte("f")}, {[]byte("x"), nil},
		{[]byte("y"), []byte("z")}, {[]byte("n"), []byte("o")},
	}}
	lost.sort()
	got := ""
	for c := byte('a'); c <= 'z'; c++ {
		if lost.has("x", []byte{c}) {
			got += string(c)
		}
	}
	if got != "bcdemnoxyz" || lost.has("y", []byte("c")) {
		t.Errorf("it has %s", got)
	}
}

// boltTree reads a tree as bbolt does: the values by path and key, and the sequences of the buckets by path.
func boltTree(t *testing.T, path string) (values map[string]string, sequences map[string]uint64) {
	t.Helper()
	values, sequences = map[string]string{}, map[string]uint64{}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	var read func(path string, b *bolt.Bucket) error
	read = func(path string, b *bolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			if v != nil {
				values[path+string(k)] = string(v)
				return nil
			}
			inner := b.Bucket(k)
			sequences[path+string(k)] = inner.Sequence()
			return read(path+string(k)+"\x00", inner)
		})
	}
	must(t, db.View(func(tx *bolt.Tx) error { return read("", tx.Cursor().Bucket()) }))
	return values, sequences
}

// readPages is the same by this package, and the ranges that it could not read.
func readPages(t *testing.T, path string) (values map[string]string, sequences map[string]uint64, lost keyRanges) {
	t.Helper()
	values, sequences = map[string]string{}, map[string]uint64{}
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	m, ok := newestMeta(f)
	if !ok {
		t.Fatal("no meta page")
	}
	p := pages{f: f, size: m.pageSize, count: uint64(info.Size() / m.pageSize)}
	p.live = make([]bool, p.count)
	w := treeWalk{
		pages: &p, seen: make([]bool, p.count), lost: keyRanges{},
		entry: func(path string, e element) bool {
			values[path+string(e.key)] = string(readAt(f, e.value.at, e.value.n))
			return true
		},
		tree: func(path string, key []byte, sequence uint64) bool {
			sequences[path+string(key)] = sequence
			return true
		},
	}
	w.bucket("", binary.NativeEndian.Uint64(readAt(f, m.at+pageHeader+offRoot, 8)))
	w.lost.sort()
	return values, sequences, w.lost
}

// randomTree is a file with buckets of all sizes: inline ones, nested ones, trees of several levels and values that
// are longer than a page.
func randomTree(t *testing.T, r *rand.Rand, pageSize int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tree.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: pageSize, NoSync: true, NoFreelistSync: true})
	must(t, err)
	for range 12 {
		must(t, db.Update(func(tx *bolt.Tx) error {
			for range 3 {
				b, err := tx.CreateBucketIfNotExists(fmt.Append(nil, "bucket", r.IntN(5)))
				must(t, err)
				if r.IntN(3) == 0 {
					b, err = b.CreateBucketIfNotExists(fmt.Append(nil, "inner", r.IntN(3)))
					must(t, err)
				}
				for range r.IntN(400) {
					k := fmt.Append(nil, "key", r.IntN(3000), bytes.Repeat([]byte("-"), r.IntN(40)))
					size := r.IntN(60)
					if r.IntN(60) == 0 {
						size = r.IntN(5 * pageSize)
					}
					if r.IntN(4) == 0 {
						must(t, b.Delete(k))
					} else {
						must(t, b.Put(k, bytes.Repeat([]byte{byte(r.Int())}, size)))
					}
				}
				must(t, errOf(b.NextSequence()))
			}
			return nil
		}))
	}
	must(t, db.Close())
	return path
}

// randomStart is a page with a header and elements. A flipped bit in a key itself cannot be seen: it has no checksum.
func randomStart(r *rand.Rand, content []byte) []byte {
	for {
		n := 2 + r.IntN(len(content)>>10-2)
		page := content[n<<10:][:1<<10]
		if binary.NativeEndian.Uint64(page) == uint64(n) && page[10] > 0 && page[10] < 60 && page[11] == 0 {
			return page
		}
	}
}

// leafAndBranch are the offsets of a leaf and a branch of a tree, with more than two elements.
func leafAndBranch(t *testing.T, content []byte) (leaf, branch int) {
	t.Helper()
	for at := 2 << 10; at < len(content); at += 1 << 10 {
		if binary.NativeEndian.Uint64(content[at:]) != uint64(at>>10) || content[at+10] < 3 {
			continue
		}
		switch content[at+8] {
		case leafFlag:
			leaf = at
		case branchFlag:
			branch = at
		}
	}
	if leaf == 0 || branch == 0 {
		t.Fatal("no leaf or no branch")
	}
	return leaf, branch
}

// lostAbove says whether a bucket above a key is lost.
func lostAbove(lost keyRanges, k string) bool {
	for i := range len(k) {
		if k[i] == 0 {
			at := 1 + bytes.LastIndexByte([]byte(k[:i]), 0)
			if lost.has(k[:at], []byte(k[at:i])) {
				return true
			}
		}
	}
	return false
}
