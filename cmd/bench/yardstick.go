package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/receiver/plan"
)

// A yardstick is a bbolt file of its own in which a commit can be timed: one Update that
// puts what one Accept puts, with the options of the queue's file. Nothing else is done, so
// it is the least that a durable answer can cost.
type yardstick struct {
	db      *bolt.DB
	records []record
	next    map[string]uint64 // the last key of each bucket whose keys count
}

// A record is a key and a value as an Accept has put them.
type record struct {
	path  []string // of buckets
	key   []byte
	value []byte
}

// boltOptions are those of the queue.
func boltOptions() *bolt.Options {
	return &bolt.Options{Timeout: 3 * time.Second, FreelistType: bolt.FreelistMapType, NoFreelistSync: true, InitialMmapSize: 1 << 30}
}

// newYardstick has the queue accept one order, reads from its file which records that put,
// and makes an empty file with the same buckets.
func (b *bench) newYardstick(ctx context.Context, name string, rules plan.Config, l letter) (_ *yardstick, err error) {
	path := b.path(name + "-sample.db")
	k, err := b.kitchen(path, rules, nil)
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, k.addr)
	if err == nil {
		err = errors.Join(c.post(l, b.ids.Add(1)), c.conn.Close())
	}
	if err := errors.Join(err, k.close()); err != nil {
		return nil, err
	}
	y := &yardstick{next: map[string]uint64{}}
	if y.records, err = readRecords(path); err != nil {
		return nil, err
	}
	y.db, err = bolt.Open(b.path(name+"-yardstick.db"), 0o600, boltOptions())
	if err != nil {
		return nil, err
	}
	y.db.AllocSize = 4 << 20
	err = y.db.Update(func(tx *bolt.Tx) error {
		for _, r := range y.records {
			if _, err := r.bucket(tx, true); err != nil {
				return err
			}
		}
		return nil
	})
	return y, errors.Join(err, os.Remove(path))
}

// notPut are the buckets that an Accept does not touch; what is in them is of the first start.
var notPut = []string{"meta"}

func readRecords(path string) ([]record, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: 3 * time.Second})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var all []record
	err = db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, k *bolt.Bucket) error {
			if slices.Contains(notPut, string(name)) {
				return nil
			}
			return walk(k, []string{string(name)}, &all)
		})
	})
	if err == nil && len(all) < 6 {
		err = fmt.Errorf("an accepted order left %d records, want its body, ticket, state, place, key and books", len(all))
	}
	return all, err
}

func walk(k *bolt.Bucket, path []string, all *[]record) error {
	return k.ForEach(func(key, value []byte) error {
		if value == nil && k.Bucket(key) != nil {
			return walk(k.Bucket(key), append(slices.Clone(path), string(key)), all)
		}
		*all = append(*all, record{slices.Clone(path), slices.Clone(key), slices.Clone(value)})
		return nil
	})
}

func (r record) bucket(tx *bolt.Tx, create bool) (*bolt.Bucket, error) {
	k := tx.Bucket([]byte(r.path[0]))
	if k == nil && create {
		var err error
		if k, err = tx.CreateBucketIfNotExists([]byte(r.path[0])); err != nil {
			return nil, err
		}
	}
	for _, name := range r.path[1:] {
		child := k.Bucket([]byte(name))
		if child == nil && create {
			var err error
			if child, err = k.CreateBucketIfNotExists([]byte(name)); err != nil {
				return nil, err
			}
		}
		k = child
	}
	return k, nil
}

// commit puts the records once more under new keys and returns how long that took.
func (y *yardstick) commit() (time.Duration, error) {
	began := time.Now()
	err := y.db.Update(func(tx *bolt.Tx) error {
		for _, r := range y.records {
			k, err := r.bucket(tx, false)
			if err != nil {
				return err
			}
			if len(r.path) == 1 && r.path[0] != "stations" {
				k.FillPercent = 0.9
			}
			if err := k.Put(y.key(r), r.value); err != nil {
				return err
			}
		}
		return nil
	})
	return time.Since(began), err
}

// key is the one that the queue would choose next: counted, but for a station's name and for
// the hash that a dedup key is.
func (y *yardstick) key(r record) []byte {
	switch {
	case r.path[0] == "stations":
		return r.key
	case len(r.path) > 1 || len(r.key)%8 != 0:
		k := make([]byte, len(r.key))
		rand.Read(k)
		return k
	}
	y.next[r.path[0]]++
	var k []byte
	for range len(r.key) / 8 {
		k = binary.BigEndian.AppendUint64(k, y.next[r.path[0]])
	}
	return k
}

// commits times n commits.
func (y *yardstick) commits(n int) (samples, error) {
	var s samples
	for range n {
		d, err := y.commit()
		if err != nil {
			return nil, err
		}
		s = append(s, d)
	}
	return s, nil
}

// paced times n commits at fixed moments, rate a second. Between them the processor and the
// disk go to sleep as they do between orders, so each takes longer than one of many in a
// row; how long is counted from its moment, as it is for orders.
func (y *yardstick) paced(n, rate int) (samples, error) {
	var s samples
	began := time.Now()
	for i := range n {
		at := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		sleepUntil(at)
		if _, err := y.commit(); err != nil {
			return nil, err
		}
		s = append(s, time.Since(at))
	}
	return s, nil
}

func (y *yardstick) close() error {
	path := y.db.Path() // which it forgets
	return errors.Join(y.db.Close(), os.Remove(path))
}
