package queue

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

func BenchmarkTakeBeginAck(b *testing.B) {
	q := start(b, synced)
	for n := range uint64(2000) {
		q.accept(realRequest(n))
	}
	b.ResetTimer()
	for n := 0; n < b.N; n++ {
		if n%2000 == 1999 {
			b.StopTimer()
			for m := range uint64(2000) {
				q.accept(realRequest(uint64(n)*10000 + m))
			}
			b.StartTimer()
		}
		q.print("grill")
	}
}

// BenchmarkAcceptCrowded compares a full queue with one that was empty at the start. It alternates
// between them, so that other load on the machine affects both.
func BenchmarkAcceptCrowded(b *testing.B) {
	const round = 5000
	full, empty := fullQueue(b), start(b, synced)
	full.open()
	var ratios []float64
	for n := uint64(0); b.Loop(); n += round {
		e := acceptFrom256(empty, n, round)
		ratios = append(ratios, e.Seconds()/acceptFrom256(full, n, round).Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "full/empty")
}

// realRequest is a request as a restaurant sends it: 3 KB, two stations, modifiers.
func realRequest(n uint64) ticket.Request {
	r := order(fmt.Sprintf("%08x-52ad-4a0b-9e9b-2f7b7b7f3a11", n), "grill", "bar")
	r.Body = make([]byte, 3000)
	for i := range r.Drafts {
		for range 8 {
			r.Drafts[i].Ticket.Lines = append(r.Drafts[i].Ticket.Lines,
				ticket.Line{Depth: 1, Quantity: "1", Name: "extra mozzarella, no onions"})
		}
	}
	return r
}

func synced(o *Options) { o.NoSync = false; o.MaxBacklog = 10_000_000 }

// acceptFrom256 accepts count requests from 256 goroutines and returns how long that took.
func acceptFrom256(q *testQueue, first uint64, count int) time.Duration {
	var n atomic.Uint64
	var wg sync.WaitGroup
	began := time.Now()
	for range 256 {
		wg.Go(func() {
			for i := n.Add(1); i <= uint64(count); i = n.Add(1) {
				if _, err := q.Accept(bg, realRequest(first+i)); err != nil {
					q.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// fullQueue is a queue with a million keys, spread over a week, and fifty thousand open jobs.
func fullQueue(b testing.TB) *testQueue {
	q := start(b, func(o *Options) { o.MaxBacklog = 10_000_000 })
	var wg sync.WaitGroup
	for w := range 250 {
		wg.Go(func() {
			for n := range 100 {
				q.accept(order(fmt.Sprint("old-", w, "-", n), "grill", "bar"))
			}
		})
	}
	wg.Wait()
	q.change(func(tx *bolt.Tx) error {
		for day := range 7 {
			running := time.Duration(day) * 24 * time.Hour
			g, err := tx.Bucket(bucketNames[bucketDedup]).CreateBucketIfNotExists(key64(generationOf(running)))
			if err != nil {
				return err
			}
			keys := make([]requestKey, 1_000_000/7)
			for n := range keys {
				keys[n] = keyOf(venue, fmt.Sprint(day, n))
			}
			// Sorted: with unsorted keys, one huge transaction is quadratic in bbolt.
			slices.SortFunc(keys, func(a, b requestKey) int { return bytes.Compare(a[:], b[:]) })
			for _, key := range keys {
				if err := g.Put(key[:], encodeDedup(dedupRecord{accepted: []content{{}}})); err != nil {
					return err
				}
			}
		}
		v, _ := sealJSON(clockRecord{Running: 168*time.Hour - time.Minute})
		return tx.Bucket(bucketNames[bucketMeta]).Put(keyClock, v)
	})
	q.o.NoSync = false
	return q
}
