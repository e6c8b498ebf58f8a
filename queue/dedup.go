package queue

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A retry must find its key for a week, at a cost that does not grow with the traffic: keys are
// stored by day and a whole day is dropped at once. What is stored of a request is enough to answer
// three questions: was it here, was it the same, and what in it was void already.

// A requestKey stands for a venue and the id of a request. SHA-256 is truncated to 16
// bytes to save space; two requests with the same 16 bytes are not to be expected.
type requestKey [16]byte

// keyOf separates venue and id by a zero byte, so that no two pairs give the same input.
func keyOf(venue, id string) requestKey {
	h := sha256.New()
	h.Write([]byte(venue))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return requestKey(h.Sum(nil)[:16])
}

// A dedupRecord is what is stored of a request for as long as its key is known.
type dedupRecord struct {
	digests [][16]byte // of the contents that came under this key, oldest first
	voids   []uint64   // what was void in any of them, see [ticket.Voids]; sorted
}

// maxDigests bounds the record of a sender that sends new content under one key again and again.
// The first and the latest contents are kept. If one that was dropped comes again, it is treated as
// new content: it orders nothing either, and its voids are known.
const maxDigests = 8

// digest16 shortens a digest: it is only compared with the few other contents under the same key.
func digest16(d [32]byte) [16]byte { return [16]byte(d[:16]) }

func (s *dedupRecord) knows(d [16]byte) bool { return slices.Contains(s.digests, d) }

// add records a content under the key, and what is void in it. The first content stays, because it is the
// one that was printed.
func (s *dedupRecord) add(d [16]byte, voids []uint64) {
	s.voids = mergeVoids(s.voids, voids)
	if s.knows(d) {
		return
	}
	if len(s.digests) >= maxDigests {
		s.digests = slices.Delete(s.digests, 1, len(s.digests)-maxDigests+2)
	}
	s.digests = append(s.digests, d)
}

// mergeVoids returns the union of two sorted multisets: a void that is in either of them twice is
// in the result twice, because two equal lines can be cancelled. A union and not a sum: the same
// void that comes in two contents is one cancellation.
func mergeVoids(a, b []uint64) []uint64 {
	var out []uint64
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

// dedupVersion is the first byte of a stored dedupRecord.
const dedupVersion = 1

// encodeDedup is binary, not JSON, because a file may have a million keys.
func encodeDedup(s dedupRecord) []byte {
	b := []byte{dedupVersion, byte(len(s.digests))}
	for _, d := range s.digests {
		b = append(b, d[:]...)
	}
	for _, v := range s.voids {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return seal(b)
}

// decodeDedup rejects everything that encodeDedup does not write: with wrong voids a cancellation
// would not print.
func decodeDedup(b []byte) (dedupRecord, error) {
	p, err := unseal(b)
	if err != nil {
		return dedupRecord{}, err
	}
	if len(p) < 2+16 || p[0] != dedupVersion { // there is at least one content
		return dedupRecord{}, errors.New("unknown format")
	}
	n, p := int(p[1]), p[2:]
	if n == 0 || n > maxDigests || len(p) < 16*n || len(p)%8 != 0 {
		return dedupRecord{}, errors.New("wrong length")
	}
	var s dedupRecord
	for range n {
		s.digests, p = append(s.digests, [16]byte(p)), p[16:]
	}
	for ; len(p) > 0; p = p[8:] {
		s.voids = append(s.voids, binary.BigEndian.Uint64(p))
	}
	if !slices.IsSorted(s.voids) {
		return dedupRecord{}, errors.New("voids out of order")
	}
	return s, nil
}

// generationHours is how many hours of running time share a bucket of keys. A whole bucket is
// dropped when its youngest key is older than the retention: to delete keys one by one would
// rewrite a page for each.
const generationHours = 24

// generationOf is the number of the bucket that a key is stored in: the last hour of running time
// that the bucket covers. It says how old the youngest key in the bucket can be.
func generationOf(running time.Duration) uint64 {
	hour := uint64(running / time.Hour)
	return hour - hour%generationHours + generationHours - 1
}

// A generation is one bucket of keys.
type generation struct {
	number uint64
	keys   *bolt.Bucket
}

// generations lists the buckets of keys, newest first, because a retry mostly comes within seconds.
func (b *batch) generations() []generation {
	if b.gens != nil {
		return b.gens
	}
	dedup := b.bucket(bucketDedup)
	c := dedup.Cursor()
	for k, v := c.Last(); k != nil; k, v = c.Prev() {
		if v == nil && len(k) == 8 {
			b.gens = append(b.gens, generation{un64(k), dedup.Bucket(k)})
		}
	}
	return b.gens
}

// findDedup finds the record of a key, and the generation in which it is stored. raw is nil if the key
// is not known. There are about eight generations, and most requests are new, so each is asked
// once.
func (b *batch) findDedup(k requestKey) (gen uint64, raw []byte) {
	for _, g := range b.generations() {
		if raw = g.keys.Get(k[:]); raw != nil {
			return g.number, raw
		}
	}
	return
}

// putDedup stores the record of a key in a generation. A known key stays in its own, so that its
// retention counts from the first time it came.
func (b *batch) putDedup(k requestKey, gen uint64, s dedupRecord) {
	gens := b.generations()
	i := slices.IndexFunc(gens, func(g generation) bool { return g.number == gen })
	if i < 0 {
		keys, err := b.bucket(bucketDedup).CreateBucket(key64(gen))
		if err != nil {
			b.fail(err)
			return
		}
		b.gens = slices.Insert(gens, 0, generation{gen, keys})
		i = 0
	}
	b.put(b.gens[i].keys, k[:], encodeDedup(s))
}

// dropGenerations forgets the keys that are older than retention. A retry that comes later than
// that prints again. It must be the last in its batch to use the generations.
func (b *batch) dropGenerations(now, retention time.Duration) {
	for _, g := range b.generations() {
		if time.Duration(g.number+1)*time.Hour+retention > now {
			continue
		}
		b.fail(b.bucket(bucketDedup).DeleteBucket(key64(g.number)))
		b.dirty = true
	}
}
