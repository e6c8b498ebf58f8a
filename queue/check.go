package queue

import (
	"errors"
	"fmt"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Check reads the whole file at path and verifies its structure. No other process may have it open
// for writing. A damaged page can crash bbolt, and with it the process: call Check in a child
// process.
func Check(path string) error {
	if err := check(path); err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	return nil
}

func check(path string) error {
	// Read it sequentially first: the check reads at random, which takes minutes on a cold SD card.
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := checkLength(path); err != nil {
		return err
	}
	o := boltOptions(false)
	o.ReadOnly = true
	db, err := bolt.Open(path, 0o600, o)
	if errors.Is(err, berrors.ErrTimeout) {
		return errInUse
	}
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		var first error // bbolt sends more, and waits until all are read
		for err := range tx.Check() {
			if first == nil {
				first = err
			}
		}
		if first != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, first)
		}
		return checkRecords(db, tx)
	})
}

// checkRecords reads every value: a page can be sound when the size of a value in it is not.
func checkRecords(db *bolt.DB, tx *bolt.Tx) error {
	if _, err := load(db); err != nil {
		return err
	}
	for n, name := range bucketNames {
		if err := checkBucket(tx.Bucket(name), n == bucketReqJobs || n == bucketFinished); err != nil {
			return fmt.Errorf("%w: bucket %s: %w", ErrDamaged, name, err)
		}
	}
	jobs, waiting := tx.Bucket(bucketNames[bucketJobs]), tx.Bucket(bucketNames[bucketWaiting])
	return tx.Bucket(bucketNames[bucketState]).ForEach(func(k, v []byte) error {
		s, err := decodeState(v)
		if err == nil && s.State.Open() && (jobs.Get(k) == nil || waiting.Get(key64(s.Pos)) == nil) {
			err = errors.New("it has no ticket or no position")
		}
		if err != nil {
			return fmt.Errorf("%w: job %d: %w", ErrDamaged, un64(k), err)
		}
		return nil
	})
}

// checkBucket reads a bucket and those in it. One that has only keys has pairs of numbers.
func checkBucket(b *bolt.Bucket, keysOnly bool) error {
	return b.ForEach(func(k, v []byte) error {
		switch {
		case keysOnly && (len(k) != 16 || len(v) != 0):
			return fmt.Errorf("key %.32x", k)
		case keysOnly:
			return nil
		case v == nil:
			return checkBucket(b.Bucket(k), false)
		}
		if _, err := unseal(v); err != nil {
			return fmt.Errorf("key %.32x: %w", k, err)
		}
		return nil
	})
}
