package queue

import (
	"encoding/binary"
	"maps"

	bolt "go.etcd.io/bbolt"
)

// A filter knows which keys a generation cannot hold, in two bytes a key: nearly every
// request is new, and must not be looked for in a week of buckets to find that out. It is
// a Bloom filter; the keys are hashes already.
//
// A filter that lacks a key would print an order twice. So one is made only of a generation
// that is closed: nothing is filed under it any more. The committer says which those are
// (see closeGenerations), after its commit; running time never goes back while it runs.
type filter []uint64

const (
	filterBits   = 16 // a key
	filterProbes = 8  // one key in two thousand is looked for in vain
	scanAtOnce   = 4096
)

func newFilter(keys int) filter { return make(filter, (keys*filterBits+63)/64+1) }

// probes calls f with each bit that stands for a key, until it says no.
func (f filter) probes(k requestKey, do func(word int, bit uint64) bool) bool {
	h, step := binary.BigEndian.Uint64(k[:8]), binary.BigEndian.Uint64(k[8:])|1
	n := uint64(len(f)) * 64
	for range filterProbes {
		at := h % n
		if !do(int(at/64), 1<<(at%64)) {
			return false
		}
		h += step
	}
	return true
}

func (f filter) add(k requestKey) {
	f.probes(k, func(word int, bit uint64) bool { f[word] |= bit; return true })
}

// has is false only if k was never added.
func (f filter) has(k requestKey) bool {
	return f.probes(k, func(word int, bit uint64) bool { return f[word]&bit != 0 })
}

// closeGenerations notes, after a commit, that nothing will be filed before generation n
// any more. Only the committer calls it.
func (q *Queue) closeGenerations(n uint64) {
	if q.openGeneration.Swap(n) != n {
		q.sift()
	}
}

// sift asks for filters to be made.
func (q *Queue) sift() {
	select {
	case q.closing <- struct{}{}:
	default:
	}
}

// makeFilters makes filters of closed generations, beside the committer, until it is gone. Without
// a filter a generation is searched: slower, and just as right.
func (q *Queue) makeFilters() {
	for {
		select {
		case <-q.closing:
		case <-q.ended:
			return
		}
		for q.makeFilter() {
		}
	}
}

// makeFilter makes the newest filter that is missing, and forgets those whose generation is
// gone. It says whether there may be more to do.
func (q *Queue) makeFilter() bool {
	have, missing := map[uint64]filter{}, uint64(0)
	found := false
	open := q.openGeneration.Load()
	err := q.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketNames[bucketDedup]).Cursor()
		for k, v := c.Last(); k != nil; k, v = c.Prev() {
			if v != nil || len(k) != 8 {
				continue
			}
			n := un64(k)
			if f, ok := (*q.filters.Load())[n]; ok {
				have[n] = f
			} else if n < open && !found {
				missing, found = n, true
			}
		}
		return nil
	})
	if err != nil {
		return false // the committer asks again when the file is open
	}
	if found {
		f, ok := q.siftGeneration(missing)
		if !ok {
			return false
		}
		have[missing] = f
	}
	if found || !maps.EqualFunc(have, *q.filters.Load(), func(filter, filter) bool { return true }) {
		q.filters.Store(&have)
	}
	return found
}

// siftGeneration reads all keys of a generation, twice: to count and to add them. Each look
// at the file is short, for while one lasts the file cannot reuse a page.
func (q *Queue) siftGeneration(n uint64) (filter, bool) {
	count := 0
	if !q.eachKey(n, func(requestKey) { count++ }) {
		return nil, false
	}
	f := newFilter(count)
	return f, q.eachKey(n, f.add)
}

func (q *Queue) eachKey(n uint64, f func(requestKey)) bool {
	var last []byte
	for more := true; more; {
		err := q.view(func(tx *bolt.Tx) error {
			more = false
			g := tx.Bucket(bucketNames[bucketDedup]).Bucket(key64(n))
			if g == nil {
				return nil // dropped meanwhile
			}
			c := g.Cursor()
			k, _ := c.Seek(last)
			for i := 0; k != nil; k, _ = c.Next() {
				if i++; i > scanAtOnce {
					last, more = append(last[:0], k...), true
					return nil
				}
				if len(k) == len(requestKey{}) {
					f(requestKey(k))
				}
			}
			return nil
		})
		if err != nil {
			return false
		}
	}
	return true
}
