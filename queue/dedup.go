package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A retry must find its key for a week, at a cost that does not grow with the traffic: keys are
// stored by day and a whole day is dropped at once. The record of a request is enough to answer
// three questions: was it here, was it the same, and which tickets does its new content replace.

// A requestKey stands for a venue and the id of a request. SHA-256 is truncated to 16
// bytes to save space; two requests with the same 16 bytes are not to be expected.
type requestKey [16]byte

// keyOf separates venue and id by a zero byte, so that no two pairs give the same input.
func keyOf(venue, id string) requestKey {
	hash := sha256.Sum256([]byte(venue + "\x00" + id))
	return requestKey(hash[:16])
}

// A dedupRecord is stored of a request for as long as its key is known.
type dedupRecord struct {
	accepted []content // that came under this key, oldest first
	reported []content // that came and did not print, see ticket.Request.OnlyReportConflict
	shares   []share   // the latest of every station and order
}

// A content is known by the words of its tickets, or by its body.
type content struct{ said, body ticket.Digest }

// A share is the stored form of a [ticket.Share].
type share struct {
	station, order string
	said           ticket.Digest // zero: the newest content has nothing of it, see nothingListedTicket
	received       int64         // wall clock, ms
	jobs           []uint64
}

const (
	// maxContents bounds the record of a sender that sends new content under one key again and again.
	// The first and the latest contents are kept. One that was dropped is new content if it comes again.
	maxContents = 16
	// maxGone bounds the shares of which the newest content has nothing. If an order whose share was
	// dropped comes again, it is new to the station.
	maxGone = 256
)

func knows(list []content, c content) bool {
	return slices.ContainsFunc(list, func(x content) bool { return x.said == c.said || x.body == c.body })
}

func remember(list []content, c content) []content {
	if knows(list, c) {
		return list
	}

	if len(list) >= maxContents {
		list = slices.Delete(list, 1, len(list)-maxContents+2)
	}
	return append(list, c)
}

// match returns for each share of a content the index of the stored one that it replaces, -1 for none. That is the one
// with its station and order. An order can get another number, so the shares of a station that are left replace its
// stored ones that are left, in turn.
func (r *dedupRecord) match(shares []ticket.Share) []int {
	out := make([]int, len(shares))
	byName := make(map[[2]string]int, len(r.shares))
	for i, s := range r.shares {
		byName[[2]string{s.station, s.order}] = i
	}

	for i, s := range shares {
		out[i] = -1
		if at, ok := byName[[2]string{s.Station, s.Order}]; ok {
			out[i] = at
		}
	}

	left := map[string][]int{} // by station
	for _, i := range r.wantedExcept(out) {
		left[r.shares[i].station] = append(left[r.shares[i].station], i)
	}

	for i, s := range shares {
		if list := left[s.Station]; out[i] < 0 && len(list) > 0 {
			out[i], left[s.Station] = list[0], list[1:]
		}
	}
	return out
}

// wantedExcept returns the indexes of the shares that are not gone, but for the given ones.
func (r *dedupRecord) wantedExcept(indexes []int) (rest []int) {
	given := make([]bool, len(r.shares))
	for _, i := range indexes {
		if i >= 0 {
			given[i] = true
		}
	}

	for i, s := range r.shares {
		if !given[i] && s.said != (ticket.Digest{}) {
			rest = append(rest, i)
		}
	}
	return rest
}

// dropGone keeps the latest maxGone shares that are gone.
func (r *dedupRecord) dropGone() {
	gone := 0
	for _, s := range r.shares {
		if s.said == (ticket.Digest{}) {
			gone++
		}
	}

	r.shares = slices.DeleteFunc(r.shares, func(s share) bool {
		if s.said != (ticket.Digest{}) || gone <= maxGone {
			return false
		}
		gone--
		return true
	})
}

// change is the head of one of the tickets that replace the share.
func (s *share) change(part, parts int) *ticket.Change {
	c := &ticket.Change{Order: s.order, Tickets: len(s.jobs)}

	if s.received != 0 {
		c.Received = time.UnixMilli(s.received).UTC()
	}
	if parts > 1 {
		c.Part, c.Parts = part, parts
	}
	return c
}

// jobsOf returns the jobs that ticket n of several replaces. The last one replaces all that are left.
func (s *share) jobsOf(n, tickets int) []uint64 {
	switch {
	case n >= len(s.jobs):
		return nil
	case n == tickets-1:
		return s.jobs[n:]
	}
	return s.jobs[n : n+1]
}

// dedupVersion is the first byte of a stored dedupRecord.
const dedupVersion = 2

// encodeDedup is binary, not JSON, because a file may have a million keys.
func encodeDedup(r dedupRecord) []byte {
	out := []byte{dedupVersion}
	number := func(n int) { out = binary.AppendUvarint(out, uint64(n)) }
	for _, list := range [][]content{r.accepted, r.reported} {
		number(len(list))
		for _, c := range list {
			out = append(append(out, c.said[:]...), c.body[:]...)
		}
	}

	number(len(r.shares))
	for _, s := range r.shares {
		for _, text := range []string{s.station, s.order} {
			number(len(text))
			out = append(out, text...)
		}

		out = append(out, s.said[:]...)
		out = binary.AppendVarint(out, s.received)
		number(len(s.jobs))
		for _, job := range s.jobs {
			out = binary.AppendUvarint(out, job)
		}
	}

	return seal(out)
}

// decodeDedup rejects everything that encodeDedup does not write. With a wrong record a cancellation would not
// print.
func decodeDedup(raw []byte) (dedupRecord, error) {
	payload, err := unseal(raw)
	if err != nil {
		return dedupRecord{}, err
	}

	reader := dedupReader{rest: payload}
	reader.take(1) // dedupVersion; of another one the encoding differs
	decoded := dedupRecord{accepted: reader.contents(), reported: reader.contents(), shares: reader.shares()}
	if reader.short || len(decoded.accepted)+len(decoded.reported) == 0 || !bytes.Equal(encodeDedup(decoded), raw) {
		return dedupRecord{}, errors.New("it is not as this version writes it")
	}
	return decoded, nil
}

// A dedupReader reads the parts of a stored dedupRecord. At its end everything that it reads is empty.
type dedupReader struct {
	rest  []byte
	short bool // it has come to its end too early
}

func (r *dedupReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.short, r.rest, n = true, nil, 0
	}

	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *dedupReader) number() uint64 {
	value, size := binary.Uvarint(r.rest)
	r.take(uint64(size)) // a size below 0 is too much as well
	if size == 0 {
		r.short = true
	}
	return value
}

func (r *dedupReader) contents() (out []content) {
	for left := r.number(); left > 0 && !r.short; left-- {
		var c content
		copy(c.said[:], r.take(16))
		copy(c.body[:], r.take(16))
		out = append(out, c)
	}
	return out
}

func (r *dedupReader) shares() (out []share) {
	for left := r.number(); left > 0 && !r.short; left-- {
		s := share{station: string(r.take(r.number())), order: string(r.take(r.number()))}
		copy(s.said[:], r.take(16))

		received, size := binary.Varint(r.rest)
		r.take(uint64(size))
		s.received = received

		for jobs := r.number(); jobs > 0 && !r.short; jobs-- {
			s.jobs = append(s.jobs, r.number())
		}
		out = append(out, s)
	}
	return out
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

// generations are the buckets of keys by their numbers, newest first, because a retry mostly comes within seconds.
func (b *batch) generations() iter.Seq2[uint64, *bolt.Bucket] {
	return func(yield func(uint64, *bolt.Bucket) bool) {
		dedup := b.bucket(bucketDedup)
		cursor := dedup.Cursor()
		for key, value := cursor.Last(); key != nil; key, value = cursor.Prev() {
			if value == nil && len(key) == 8 && !yield(un64(key), dedup.Bucket(key)) {
				return
			}
		}
	}
}

// findDedup finds the record of a key, and the generation in which it is stored. raw is nil if the key is not known: of
// most requests, which are new, all generations are searched, about eight.
func (b *batch) findDedup(k requestKey) (gen uint64, raw []byte) {
	for number, keys := range b.generations() {
		if raw = keys.Get(k[:]); raw != nil {
			return number, raw
		}
	}
	return 0, nil
}

// putDedup stores the record of a key in a generation. A known key stays in its own, so that its
// retention counts from the first time it came.
func (b *batch) putDedup(k requestKey, gen uint64, s dedupRecord) {
	keys, err := b.bucket(bucketDedup).CreateBucketIfNotExists(key64(gen))
	if err != nil {
		b.fail(err)
		return
	}
	b.put(keys, k[:], encodeDedup(s))
}

// dropGenerations forgets the keys that are older than retention. A retry that comes later than
// that prints again.
func (b *batch) dropGenerations(now, retention time.Duration) {
	for number := range maps.Collect(b.generations()) { // all of them first: a cursor must not see changes
		if time.Duration(number+1)*time.Hour+retention <= now {
			b.fail(b.bucket(bucketDedup).DeleteBucket(key64(number)))
			b.dirty = true
		}
	}
}
