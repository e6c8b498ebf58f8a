package main

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A yardstick is a bbolt file of its own in which a commit can be timed: one Update that puts
// what accepting one order puts. Nothing else is done, so it is the least that a durable answer
// can cost on this disk.
type yardstick struct {
	db *bolt.DB
	n  uint64
}

// records are what an accepted order leaves, by bucket: sizes in bytes, as the queue leaves
// them of the order that this program posts. A test compares the sum.
var records = []struct {
	bucket     string
	key, value int
	each       bool // once for each ticket, and not for the order
}{
	{"dedup", 16, 22, false},
	{"requests", 8, 2920, false},
	{"jobs", 8, 600, true},
	{"reqjobs", 16, 0, true},
	{"state", 8, 90, true},
	{"waiting", 8, 15, true},
	{"books", 8, 78, true},
}

func newYardstick(path string) (*yardstick, error) {
	// The options of the queue's file.
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, NoFreelistSync: true, InitialMmapSize: 1 << 30})
	if err != nil {
		return nil, err
	}
	db.AllocSize = 4 << 20
	return &yardstick{db: db}, nil
}

// commit puts the records of one more order and returns how long that took.
func (y *yardstick) commit(tickets int) (time.Duration, error) {
	began := time.Now()
	err := y.db.Update(func(tx *bolt.Tx) error {
		for i := range tickets {
			y.n++
			for _, r := range records {
				if !r.each && i > 0 {
					continue
				}
				k, err := tx.CreateBucketIfNotExists([]byte(r.bucket))
				if err != nil {
					return err
				}
				k.FillPercent = 0.9
				key := make([]byte, r.key)
				switch r.bucket {
				case "dedup":
					rand.Read(key)
				case "books":
					key[0] = byte(i)
				default:
					binary.BigEndian.PutUint64(key, y.n)
				}
				if err := k.Put(key, make([]byte, r.value)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return time.Since(began), err
}

// paced times n commits at fixed moments, rate a second. In the pauses the processor and the
// disk go to sleep as they do between orders, so each takes longer than one of many in a row;
// how long is counted from its moment, as it is for orders.
func (y *yardstick) paced(tickets, n, rate int) (s samples, err error) {
	p := paced{began: time.Now(), rate: rate}
	for i := range n {
		sleepUntil(p.due(i))
		if _, err := y.commit(tickets); err != nil {
			return nil, err
		}
		s = append(s, time.Since(p.due(i)))
	}
	return s, nil
}

// timed calls f once for nothing and then n times.
func timed(n int, f func() error) (s samples, err error) {
	for range n + 1 {
		began := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		s = append(s, time.Since(began))
	}
	return s[1:], nil
}
