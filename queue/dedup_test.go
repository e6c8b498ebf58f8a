package queue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// TestKeysInHourlyBucketsOfEarlierVersionsAreKnownUntilTheyExpire: earlier versions stored keys in a bucket for each
// hour of running time, named by the number of that hour. Such a file is read as it is: its keys are known until they
// expire, each bucket in its own hour. The bucket of the last hour of a day has the same name as that of the day.
func TestKeysInHourlyBucketsOfEarlierVersionsAreKnownUntilTheyExpire(t *testing.T) {
	const hours, retention = 47, 30 // the hours 0 to 47 have a bucket
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.edit(func(tx *bolt.Tx) error {
			for hour := range uint64(hours + 1) {
				g, err := tx.Bucket(bucketNames[bucketDedup]).CreateBucket(key64(hour))
				if err != nil {
					return err
				}
				r := order(fmt.Sprint("old ", hour), "grill")
				key := keyOf(r.Venue, r.ID)
				record := dedupRecord{accepted: []content{{body: ticket.BodyDigest(r.Body)}}}
				if err := g.Put(key[:], encodeDedup(record)); err != nil {
					return err
				}
			}
			v, err := sealJSON(clockRecord{Running: hours*time.Hour + time.Minute})
			if err != nil {
				return err
			}
			return tx.Bucket(bucketNames[bucketMeta]).Put(keyClock, v)
		})
		q.accept(order("new", "grill"))
		got := q.accept(cancelled(order("old 40", "grill")))
		wantTrue(t, got.Conflict, got)
		for now := hours; now < hours+retention; now++ {
			synctest.Wait()
			for hour := now - retention; hour <= hours; hour++ {
				q.wantDuplicate(order(fmt.Sprint("old ", hour), "grill"))
			}
			q.wantDuplicate(order("new", "grill"))
			n, want := q.count(bucketDedup), hours-now+retention+1
			wantTrue(t, n == want, now, n, want)
			time.Sleep(time.Hour)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		q.wantCount(bucketDedup, 0)
	}, func(o *Options) { o.DedupRetention = retention * time.Hour })
}

func TestABucketOfKeysIsDroppedWhenItsYoungestKeyIsOver(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill")) // the bucket is that of the first 24 hours
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
