package queue

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

// Contents has the functions by which the package store knows the content of the file.
var Contents = store.Contents{Create: create, Check: checkRecords, Adopt: adopt}

// checkRecords reads every value: a page can be sound when the size of a value in it is not.
func checkRecords(tx *bolt.Tx) error {
	if _, err := load(tx); err != nil {
		return err
	}

	for n, name := range bucketNames {
		if err := checkBucket(tx.Bucket(name), n == bucketReqJobs || n == bucketFinished); err != nil {
			return fmt.Errorf("%w: bucket %s: %w", ErrDamaged, name, err)
		}
	}

	jobs, waiting := tx.Bucket(bucketNames[bucketJobs]), tx.Bucket(bucketNames[bucketWaiting])
	return tx.Bucket(bucketNames[bucketState]).ForEach(func(k, v []byte) error {
		state, err := decodeState(v)
		if err == nil && state.State.Open() && (jobs.Get(k) == nil || waiting.Get(key64(state.Pos)) == nil) {
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

// create writes the content of an empty file.
func create(tx *bolt.Tx) error {
	for _, name := range bucketNames {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketNames[bucketMeta]).Put(keyFormat, seal([]byte(strconv.Itoa(formatVersion))))
}

// adopt makes a file one of the folder of copies: the next start reads the logs since its own number that follow each
// other. If there are none before it, orders before from may be missing, and so they may if the logs end long before
// written. All its tickets are put in doubt.
func adopt(tx *bolt.Tx, files *store.Copies, written time.Time) (from time.Time, err error) {
	if err := checkFormat(tx); err != nil {
		return from, err
	}

	var record store.CopyRecord // none, if the file was made before there were copies
	if err := readMeta(tx, keyCopy, &record); err != nil {
		return from, err
	}

	record.Database = cmp.Or(files.Database(), record.Database)

	since := files.Since()
	if record.Number == 0 || record.Number < since {
		record.Number, from = since, time.Now()
		if header, err := files.Header(since); err == nil {
			from = header.Began
		}
	}

	if last, _ := files.Last(); len(files.Logs) == 0 || files.Logs[len(files.Logs)-1] < record.Number ||
		written.After(last.At.Add(copyLate)) {
		from = time.Now()
	}

	meta := tx.Bucket(bucketNames[bucketMeta])
	return from, errors.Join(putJSON(meta, keyCopy, record), putJSON(meta, keyNotice, noticeOf{from}), doubtAll(tx))
}

func putJSON(k *bolt.Bucket, key []byte, v any) error {
	raw, err := sealJSON(v)
	if err != nil {
		return err
	}
	return k.Put(key, raw)
}

// doubtAll marks every ticket of the file that had not come out as one that may have. Of a held or failed one
// a person must know that: somebody may have had it printed since.
func doubtAll(tx *bolt.Tx) error {
	states := tx.Bucket(bucketNames[bucketState])
	doubted := map[string]jobState{} // written afterwards: a cursor must not see changes

	err := states.ForEach(func(k, v []byte) error {
		state, err := decodeState(v)
		if err == nil && state.doubtIfOwed() {
			doubted[string(k)] = state
		}
		return err
	})

	for k, state := range doubted {
		err = errors.Join(err, putJSON(states, []byte(k), state))
	}
	return err
}

// doubtIfOwed marks a ticket that has not come out as one that may have.
func (s *jobState) doubtIfOwed() bool {
	owed := s.State.Open() || s.State == ticket.Failed
	if owed {
		s.Doubts = max(s.Doubts, 1)
	}
	return owed
}

var keyCopy = []byte("copy")

// readMeta reads a record of the meta bucket, if there is one.
func readMeta(tx *bolt.Tx, key []byte, v any) error {
	raw := tx.Bucket(bucketNames[bucketMeta]).Get(key)
	if raw == nil {
		return nil
	}
	if err := unsealJSON(raw, v); err != nil {
		return fmt.Errorf("%w: the record %s: %w", ErrDamaged, key, err)
	}
	return nil
}
