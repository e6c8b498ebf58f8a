package queue

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A salvage is what can be read of a damaged file. The rule of what is believed:
//
//  1. The tree of the newest valid meta page decides wherever it can be read: what it has is the present, and what
//     it has not does not exist any more. A page is read only if its structure is whole, and a value only with its
//     checksum; the range of keys of anything else is lost.
//  2. Only of lost keys the tree of the other meta page is asked: it is one commit older, and none of its pages has
//     been reused.
//  3. Only of keys that are lost there too, all other pages of the file are searched. They may be part of the
//     present, behind a page that cannot be read, or years old: pages have no number of their transaction. Of several
//     versions of a job the one that is furthest in its life counts: jobs never go back. And a job that is open there
//     is over if its position is known to be empty, if it is among the finished ones, or if another one was made
//     from it.
//  4. A job, request or ticket with a higher number than the tree has given out belongs to a transaction that the
//     tree has lost. It counts as lost.
//
// So a page that was freed long ago brings back a ticket only if nothing that can be read says what became of it.
// Whatever comes back is in doubt, the tickets of the present too, and no job comes back twice. The keys of
// requests are kept more generously: if any of them may be lost, every request of which a key, a ticket or a body is
// found is known, so that a retry does not print it.
type salvage struct {
	pages
	lost      []keyRanges       // of each tree that was read
	sequences map[string]uint64 // by path of bucket: the highest number it has given out; missing: it is not known
	highest   map[string]uint64 // the highest number that was found
	records   int               // that were read with their checksum
	large     int64             // bytes of long values that were read outside of the trees
	format    error             // not nil: a newer program wrote the file

	states   map[uint64]stateVersion // by job
	tickets  map[uint64][]ref        // by job; several only if pages contradict each other
	bodies   map[uint64]ref          // by request
	waiting  map[uint64]waitingJob   // by position
	requests map[uint64]uint64       // by job
	finished map[uint64]uint64       // by job: the running time
	holds    map[string]*StationHold
	keys     map[requestKey]keyRef
	seen     map[requestKey]bool // the requests of tickets and bodies
	kv       map[string]map[string]ref
	aside    map[uint64]ref
	clock    clockRecord
}

type stateVersion struct {
	jobState
	tree bool // of the newest tree
}

type waitingJob struct {
	job     uint64
	station string
}

type keyRef struct {
	generation uint64 // 0: not known
	ref
}

func isBucket(name []byte) bool {
	return slices.ContainsFunc(bucketNames[:], func(b []byte) bool { return bytes.Equal(b, name) })
}

// contents is the path of what a bucket contains.
func contents(bucket int) string { return string(bucketNames[bucket]) + "\x00" }

// lostIn says whether a tree cannot say what a key is, because of its page or one above it.
func (k keyRanges) lostIn(path string, key []byte) bool {
	if k.has(path, key) {
		return true
	}
	top, nested, inside := strings.Cut(path, "\x00")
	return inside && (k.has("", []byte(top)) ||
		nested != "" && k.has(top+"\x00", []byte(strings.TrimSuffix(nested, "\x00"))))
}

// isLost says that of each tree that was read.
func (s *salvage) isLost(path string, key []byte) bool {
	for _, l := range s.lost {
		if !l.lostIn(path, key) {
			return false
		}
	}
	return true
}

// lostAny says whether the newest tree has lost anything in a bucket.
func (s *salvage) lostAny(bucket int) bool {
	if len(s.lost) == 0 || s.lost[0].has("", bucketNames[bucket]) {
		return true
	}
	for path, lost := range s.lost[0] {
		if strings.HasPrefix(path, contents(bucket)) && len(lost) > 0 {
			return true
		}
	}
	return false
}

// newer says whether a number is above those that the tree has given out.
func (s *salvage) newer(bucket int, number uint64) bool {
	given, known := s.sequences[string(bucketNames[bucket])]
	return known && number > given
}

// readSalvage reads a file. It only fails if nothing can be read at all.
func readSalvage(f *os.File) (*salvage, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s := &salvage{
		sequences: map[string]uint64{}, highest: map[string]uint64{}, states: map[uint64]stateVersion{},
		tickets: map[uint64][]ref{}, bodies: map[uint64]ref{}, waiting: map[uint64]waitingJob{},
		requests: map[uint64]uint64{}, finished: map[uint64]uint64{}, holds: map[string]*StationHold{},
		keys: map[requestKey]keyRef{}, seen: map[requestKey]bool{}, kv: map[string]map[string]ref{},
		aside: map[uint64]ref{},
	}
	roots := s.layout(f, info.Size())
	for i, root := range roots {
		if i == 0 || len(s.lost[0]) > 0 {
			s.readTree(root)
		}
	}
	for name, given := range s.sequences { // keys and sequences have no checksum
		if s.sequences[name] = max(given, s.highest[name]); given >= maxNumber {
			delete(s.sequences, name)
		}
	}
	if len(s.lost) == 0 || len(s.lost[0]) > 0 || s.records == 0 {
		s.readOthers()
	}
	if s.format == nil && s.records == 0 {
		return nil, fmt.Errorf("%w: no record of ticketrail can be read in it", ErrDamaged)
	}
	return s, s.format
}

// layout finds the size of a page and the roots of the trees, the newest first.
func (s *salvage) layout(f *os.File, length int64) (roots []uint64) {
	s.f, s.size = f, int64(os.Getpagesize())
	newest, ok := newestMeta(f)
	sizes := []int64{newest.pageSize}
	if !ok || newest.pageSize < 1<<10 || newest.pageSize > 64<<10 || newest.pageSize&(newest.pageSize-1) != 0 {
		sizes = []int64{s.size, 4 << 10, 16 << 10, 64 << 10}
	}
	best := -1
	for _, size := range sizes {
		try := pages{f: f, size: size, count: uint64((length + size - 1) / size)}
		try.live = make([]bool, try.count)
		fit := 0
		for id := uint64(2); len(sizes) > 1 && id < try.count; id++ {
			if _, ok := try.read(id); ok {
				fit++
			}
		}
		if fit > best {
			best, s.pages = fit, try
		}
	}
	if len(sizes) > 1 {
		return nil
	}
	root := func(at int64) uint64 {
		if b := readAt(f, at+pageHeader+offRoot, 8); b != nil {
			return binary.NativeEndian.Uint64(b)
		}
		return 0
	}
	roots = []uint64{root(newest.at)}
	other := s.size - newest.at // there are two pages
	if m, ok := readMeta(f, other); ok && m.pageSize == s.size && m.txid+1 == newest.txid {
		roots = append(roots, root(other))
	}
	return roots
}

// readTree reads what the trees before it have lost.
func (s *salvage) readTree(root uint64) {
	newest := len(s.lost) == 0
	w := treeWalk{
		pages: &s.pages, seen: make([]bool, s.count), lost: keyRanges{},
		entry: func(path string, e element) bool {
			return !newest && !s.isLost(path, e.key) || s.entry(path, e, newest)
		},
		tree: func(path string, key []byte, sequence uint64) bool {
			if path != "" && path != contents(bucketDedup) && path != contents(bucketKV) {
				return false
			}
			if _, known := s.sequences[path+string(key)]; !known {
				s.sequences[path+string(key)] = sequence
			}
			return path != "" || isBucket(key)
		},
	}
	w.bucket("", root)
	w.lost.sort()
	s.lost = append(s.lost, w.lost)
}
