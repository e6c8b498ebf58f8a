package queue

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// realistic is a request as a restaurant sends it: 3 KB, two stations, modifiers.
func realistic(n uint64) ticket.Request {
	r := order(fmt.Sprintf("%08x-52ad-4a0b-9e9b-2f7b7b7f3a11", n), "grill", "bar")
	r.Body = make([]byte, 3000)
	for i := range r.Drafts {
		for range 8 {
			r.Drafts[i].Ticket.Lines = append(r.Drafts[i].Ticket.Lines, ticket.Line{Depth: 1, Quantity: "1", Name: "extra mozzarella, no onions"})
		}
	}
	return r
}

func synced(o *Options) { o.NoSync = false; o.MaxBacklog = 10_000_000 }

func BenchmarkAccept(b *testing.B) {
	k := start(b, synced)
	n := uint64(0)
	for b.Loop() {
		n++
		k.accept(realistic(n))
	}
}

func BenchmarkAcceptFrom256(b *testing.B) {
	k := start(b, synced)
	accept256(b, k)
}

func accept256(b *testing.B, k *kitchen) {
	var n atomic.Uint64
	b.SetParallelism(max(1, 256/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			k.accept(realistic(n.Add(1)))
		}
	})
	b.StopTimer()
}

// BenchmarkCommit is the yardstick: one Update of the same records.
func BenchmarkCommit(b *testing.B) {
	k := start(b, synced)
	k.stop()
	db, err := bolt.Open(k.o.Path, 0o600, boltOptions(false))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	n := uint64(0)
	for b.Loop() {
		n++
		r := realistic(n)
		cargo, _ := encodeCargo(r.Drafts)
		body, _ := encodeBody(&r)
		key := keyOf(r.Venue, r.ID)
		err := db.Update(func(tx *bolt.Tx) error {
			d, _ := tx.Bucket(bucketNames[bucketDedup]).CreateBucketIfNotExists(key64(generationOf(0)))
			_ = d.Put(key[:], make([]byte, 22))
			_ = tx.Bucket(bucketNames[bucketRequests]).Put(key64(n), body)
			for i := range cargo {
				_ = tx.Bucket(bucketNames[bucketJobs]).Put(key64(2*n+uint64(i)), cargo[i])
				_ = tx.Bucket(bucketNames[bucketState]).Put(key64(2*n+uint64(i)), make([]byte, 100))
				_ = tx.Bucket(bucketNames[bucketWaiting]).Put(key64(2*n+uint64(i)), make([]byte, 20))
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTakeBeginAck(b *testing.B) {
	k := start(b, synced)
	for n := range uint64(2000) {
		k.accept(realistic(n))
	}
	b.ResetTimer()
	for n := 0; n < b.N; n++ {
		if n%2000 == 1999 {
			b.StopTimer()
			for m := range uint64(2000) {
				k.accept(realistic(uint64(n)*10000 + m))
			}
			b.StartTimer()
		}
		k.print("grill")
	}
}

// crowded is a queue with a million keys in a week of generations and fifty thousand jobs.
func crowded(b testing.TB) *kitchen {
	k := start(b, func(o *Options) { o.MaxBacklog = 10_000_000 })
	var wg sync.WaitGroup
	for w := range 250 {
		wg.Go(func() {
			for n := range 100 {
				k.accept(order(fmt.Sprint("old-", w, "-", n), "grill", "bar"))
			}
		})
	}
	wg.Wait()
	k.stop()
	k.edit(func(tx *bolt.Tx) error {
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
			// In order: unsorted, one huge transaction is quadratic in bbolt.
			slices.SortFunc(keys, func(a, b requestKey) int { return bytes.Compare(a[:], b[:]) })
			for _, key := range keys {
				if err := g.Put(key[:], encodeSeen(seen{digests: [][16]byte{{1}}})); err != nil {
					return err
				}
			}
		}
		v, _ := sealJSON(clockRecord{Running: 168*time.Hour - time.Minute})
		return tx.Bucket(bucketNames[bucketMeta]).Put(keyClock, v)
	})
	k.o.NoSync = false
	return k
}

func BenchmarkAcceptFrom256Crowded(b *testing.B) {
	k := crowded(b)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	k.open()
	b.Logf("opened in %s", time.Since(started))
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB-open")
	accept256(b, k)
}
