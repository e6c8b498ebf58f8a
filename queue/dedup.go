package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A requestKey stands for (venue, id of the request). Sixteen bytes of SHA-256 are
// enough that two requests of one restaurant never share one.
type requestKey [16]byte

func keyOf(venue, id string) requestKey {
	h := sha256.New()
	h.Write([]byte(venue))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return requestKey(h.Sum(nil)[:16])
}

// seen is what is kept of a request for as long as its key is known.
type seen struct {
	digests [][16]byte // of the contents that came under the key, oldest first
	voids   []uint64   // everything that was void in any of them, sorted
}

// maxDigests bounds a record whose sender changes its mind for ever. The first content and
// the latest are kept; what falls out would at worst be compared for voids again.
const maxDigests = 8

func digest16(d [32]byte) [16]byte { return [16]byte(d[:16]) }

func (s *seen) knows(d [16]byte) bool { return slices.Contains(s.digests, d) }

func (s *seen) add(d [16]byte, voids []uint64) {
	if len(s.digests) >= maxDigests {
		s.digests = slices.Delete(s.digests, 1, len(s.digests)-maxDigests+2)
	}
	s.digests = append(s.digests, d)
	s.voids = mergeVoids(s.voids, voids)
}

// mergeVoids returns the union of two sorted multisets: what is there twice in either
// is there twice.
func mergeVoids(a, b []uint64) []uint64 {
	out := make([]uint64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

const seenVersion = 1

func encodeSeen(s seen) []byte {
	b := make([]byte, 0, 2+16*len(s.digests)+8*len(s.voids))
	b = append(b, seenVersion, byte(len(s.digests)))
	for _, d := range s.digests {
		b = append(b, d[:]...)
	}
	for _, v := range s.voids {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return seal(b)
}

func decodeSeen(b []byte) (seen, error) {
	p, err := unseal(b)
	if err != nil {
		return seen{}, err
	}
	if len(p) < 2 || p[0] != seenVersion {
		return seen{}, errors.New("unknown format")
	}
	n, p := int(p[1]), p[2:]
	if n == 0 || n > maxDigests || len(p) < 16*n || (len(p)-16*n)%8 != 0 {
		return seen{}, errors.New("wrong length")
	}
	var s seen
	for range n {
		s.digests, p = append(s.digests, [16]byte(p)), p[16:]
	}
	for ; len(p) > 0; p = p[8:] {
		s.voids = append(s.voids, binary.BigEndian.Uint64(p))
	}
	if !slices.IsSorted(s.voids) {
		return seen{}, errors.New("voids out of order")
	}
	return s, nil
}

// generationOf is the hour of running time a key is filed under. A generation is dropped
// whole, when its youngest key is older than the retention. An hour, because keys come in
// no order: each one put into a large bucket rewrites a page of its own, while those of
// one hour share theirs.
func generationOf(running time.Duration) uint64 { return uint64(max(running, 0) / span) }

const span = time.Hour

// generation is one hour's bucket of keys, opened when it is needed.
type generation struct {
	number uint64
	b      *bolt.Bucket
}

// generations lists the buckets, newest first: a retry is usually a fresh one.
func (b *batch) generations() []generation {
	if b.gens != nil {
		return b.gens
	}
	b.filters = *b.q.filters.Load()
	c := b.bucket(bucketDedup).Cursor()
	for k, v := c.Last(); k != nil; k, v = c.Prev() {
		if v == nil && len(k) == 8 {
			b.gens = append(b.gens, generation{number: un64(k)})
		}
	}
	return b.gens
}

// keysOf is a generation's bucket; nil if it has none yet.
func (b *batch) keysOf(number uint64) *bolt.Bucket {
	gens := b.generations()
	for i := range gens {
		if g := &gens[i]; g.number == number {
			if g.b == nil {
				g.b = b.bucket(bucketDedup).Bucket(key64(number))
			}
			return g.b
		}
	}
	return nil
}

// lookup finds a key: among those this batch will write, then on disk. filed says which
// generation holds it. raw is nil if the key is not known.
func (b *batch) lookup(k requestKey) (filed uint64, raw []byte) {
	if p, ok := b.keys[k]; ok {
		return p.filed, p.raw
	}
	for _, g := range b.generations() {
		if f, closed := b.filters[g.number]; closed && !f.has(k) {
			continue
		}
		if raw := b.keysOf(g.number).Get(k[:]); raw != nil {
			return g.number, raw
		}
	}
	return 0, nil
}

type pendingKey struct {
	filed uint64
	raw   []byte
}

// remember files a key under a generation. It is put in the file when the whole batch
// has been applied, in key order: random keys one by one cost bbolt more.
func (b *batch) remember(k requestKey, filed uint64, s seen) {
	if b.keys == nil {
		b.keys = map[requestKey]pendingKey{}
	}
	b.keys[k] = pendingKey{filed, encodeSeen(s)}
	b.dirty = true
}

func (b *batch) writeKeys() {
	if len(b.keys) == 0 {
		return
	}
	sorted := make([]requestKey, 0, len(b.keys))
	for k := range b.keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, func(x, y requestKey) int { return bytes.Compare(x[:], y[:]) })
	made := map[uint64]*bolt.Bucket{}
	for _, k := range sorted {
		p := b.keys[k]
		g := b.keysOf(p.filed)
		if g == nil {
			g = made[p.filed]
		}
		if g == nil {
			var err error
			if g, err = b.bucket(bucketDedup).CreateBucketIfNotExists(key64(p.filed)); err != nil {
				b.fail(err)
				return
			}
			made[p.filed] = g
		}
		b.put(g, k[:], p.raw)
	}
}

// dropGenerations forgets the keys whose retention is over.
func (b *batch) dropGenerations(now, retention time.Duration) {
	for _, g := range b.generations() {
		if time.Duration(g.number+1)*span+retention > now {
			continue
		}
		if err := b.bucket(bucketDedup).DeleteBucket(key64(g.number)); err != nil {
			b.fail(err)
			return
		}
		b.dirty = true
	}
	b.gens = nil
}
