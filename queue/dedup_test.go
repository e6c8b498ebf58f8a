package queue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"
)

func TestAKeyIsKnownForItsRetentionAtEveryHour(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for hour := range 60 {
			q.accept(order(id(hour), "grill"))
			time.Sleep(time.Hour)
			synctest.Wait()
			for old := max(0, hour-29); old <= hour; old++ {
				if got := q.accept(order(id(old), "grill")); !got.Duplicate {
					t.Fatalf("in hour %d the key of hour %d is forgotten", hour+1, old)
				}
			}
			if hour%7 == 3 {
				if got := q.accept(cancelled(order(id(hour), "grill"))); !got.Conflict {
					t.Fatalf("in hour %d a conflict with hour %d is not seen", hour+1, hour)
				}
				q.restart()
			}
		}
		if n := q.count(bucketDedup); n != 2 {
			t.Errorf("%d buckets of keys, want 2: the first is over", n)
		}
	}, func(o *Options) { o.DedupRetention = 30 * time.Hour })
}

// Earlier versions stored keys in a bucket for each hour of running time, named by the number of
// that hour. Such a file is read as it is: its keys are known until they expire, each bucket in its
// own hour. The bucket of the last hour of a day has the same name as that of the day.
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
				if err := g.Put(key[:], encodeDedup(dedupRecord{digests: [][16]byte{digest16(r.Digest)}})); err != nil {
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
		if got := q.accept(cancelled(order("old 40", "grill"))); !got.Conflict {
			t.Errorf("receipt %+v", got)
		}
		for now := hours; now < hours+retention; now++ {
			synctest.Wait()
			for hour := now - retention; hour <= hours; hour++ {
				if got := q.accept(order(fmt.Sprint("old ", hour), "grill")); !got.Duplicate {
					t.Fatalf("in hour %d the key of hour %d is forgotten", now, hour)
				}
			}
			if got := q.accept(order("new", "grill")); !got.Duplicate {
				t.Fatalf("in hour %d the new key is forgotten", now)
			}
			if n, want := q.count(bucketDedup), hours-now+retention+1; n != want {
				t.Fatalf("in hour %d %d buckets are left, want %d", now, n, want)
			}
			time.Sleep(time.Hour)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := q.count(bucketDedup); n != 0 {
			t.Errorf("%d buckets are left", n)
		}
	}, func(o *Options) { o.DedupRetention = retention * time.Hour })
}

func TestABucketOfKeysIsDroppedWhenItsYoungestKeyIsOver(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill")) // the bucket is that of the first 24 hours
	drop := func(now time.Duration, want int) {
		t.Helper()
		q.must(q.do(bg, opOnce, 1, func(b *batch) error { b.dropGenerations(now, 30*time.Hour); return nil }))
		if n := q.count(bucketDedup); n != want {
			t.Errorf("at %s %d buckets are left, want %d", now, n, want)
		}
	}
	drop(54*time.Hour-1, 1)
	drop(54*time.Hour, 0)
}

func TestTheBucketsOfKeysAreListedOnceInATransaction(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.must(q.do(bg, opOnce, 1, func(b *batch) error {
		b.generations()
		if n := len(b.generations()); n != 1 {
			t.Errorf("%d buckets, want 1", n)
		}
		return nil
	}))
}

func TestARequestWithAsManyContentsAsAreKeptIsRead(t *testing.T) {
	q := start(t)
	r := order("a", "grill")
	for n := range 9 {
		r.Digest[0] = byte(n)
		q.accept(r)
	}
	q.wantDuplicate(r)
	if n := q.Damaged(); n != 0 {
		t.Errorf("%d damaged records", n)
	}
}

func TestARequestOfAnotherVenueIsAnotherRequest(t *testing.T) {
	q := start(t)
	for _, name := range [][2]string{{"venue", "id"}, {"other", "id"}, {"venuei", "d"}, {"venue", "i"}, {"", "id"}} {
		r := order("a", "grill")
		r.Venue, r.ID = name[0], name[1]
		if got := q.accept(r); got.Duplicate {
			t.Errorf("%q is known", name)
		}
		q.wantDuplicate(r)
	}
}

func TestTheFirstAndTheLatestContentsOfARequestAreKept(t *testing.T) {
	var s dedupRecord
	for n := range 11 {
		s.add([16]byte{byte(n)}, nil)
	}
	if first, last := s.digests[0][0], s.digests[7][0]; len(s.digests) != 8 || first != 0 || last != 10 {
		t.Errorf("%d contents are kept, from %d to %d", len(s.digests), first, last)
	}
}
