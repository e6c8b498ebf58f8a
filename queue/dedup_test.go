package queue

import (
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func TestABucketOfKeysIsDroppedWhenItsYoungestKeyIsOver(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill")) // the bucket of the first 24 hours
	drop := func(now time.Duration, want int) {
		t.Helper()
		q.must(q.do(bg, opOnce, 1, func(b *batch) error { b.dropGenerations(now, 30*time.Hour); return nil }))
		q.wantCount(bucketDedup, want)
	}
	drop(54*time.Hour-1, 1)
	drop(54*time.Hour, 0)
}

func TestARequestOfAnotherVenueIsAnotherRequest(t *testing.T) {
	q := start(t)
	for _, name := range [][2]string{{"venue", "id"}, {"other", "id"}, {"venuei", "d"}, {"venue", "i"}, {"", "id"}} {
		r := order("a", "grill")
		r.Venue, r.ID = name[0], name[1]
		q.wantNew(r)
		q.wantDuplicate(r)
	}
}

func TestTheFirstAndTheLatestContentsOfARequestAreKept(t *testing.T) {
	var list []content
	for n := range maxContents + 3 {
		list = remember(list, content{ticket.Digest{byte(n)}, ticket.Digest{1, byte(n)}})
	}
	if first, second, last := list[0].said[0], list[1].said[0], list[len(list)-1].said[0]; len(list) != maxContents ||
		first != 0 || second != 4 || last != maxContents+2 {
		t.Errorf("%d contents are kept: %d, %d … %d", len(list), first, second, last)
	}
}
