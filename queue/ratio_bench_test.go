package queue_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// BenchmarkAcceptOverCommit accepts one order after the other, and between them commits a bbolt
// transaction of as many bytes. The difference is what the queue adds to the time of the disk.
func BenchmarkAcceptOverCommit(b *testing.B) {
	path := filepath.Join(b.TempDir(), "queue.db")
	q, err := queue.Open(queue.Options{Path: path, MaxBacklog: 10_000_000, Reserve: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	db, err := bolt.Open(filepath.Join(b.TempDir(), "commit.db"), 0o600,
		&bolt.Options{FreelistType: bolt.FreelistMapType, NoFreelistSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var accepting, committing time.Duration
	body := make([]byte, 2900)
	for n := uint64(1); b.Loop(); n++ {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012x", n)
		began := time.Now()
		_, err1 := q.Accept(b.Context(), ticket.Request{
			Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", ID: id,
			Received: began.UTC(), Body: body,
			Drafts: []ticket.Draft{{Station: "grill", Ticket: ticket.Ticket{
				Request: id, Received: began.UTC(), Lines: []ticket.Line{{Quantity: "1", Name: "soup"}},
			}}},
		})
		accepted := time.Now()
		err2 := db.Update(func(tx *bolt.Tx) error {
			// The sizes of key, body, ticket, its request, state, position and books.
			for i, size := range []int{22, len(body), 300, 0, 90, 15, 78} {
				k, err := tx.CreateBucketIfNotExists([]byte{byte(i)})
				if err != nil {
					return err
				}
				if err := k.Put(binary.BigEndian.AppendUint64(nil, n), make([]byte, size)); err != nil {
					return err
				}
			}
			return nil
		})
		accepting, committing = accepting+accepted.Sub(began), committing+time.Since(accepted)
		if err1 != nil || err2 != nil {
			b.Fatal(err1, err2)
		}
	}
	b.ReportMetric(accepting.Seconds()/committing.Seconds(), "accept/commit")
}
