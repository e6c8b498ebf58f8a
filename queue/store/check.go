package store

import (
	"errors"
	"fmt"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
)

// Check reads the whole file at path and verifies its structure and its content. No other process may have it open
// for writing. A damaged page can crash bbolt, and with it the process: call Check in a child
// process.
func Check(path string, c Contents) error {
	if err := check(path, c); err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	return nil
}

func check(path string, c Contents) error {
	// Read it sequentially first: the check reads at random, which takes minutes on a cold SD card.
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}

	if err := checkLength(path); err != nil {
		return err
	}

	options := BoltOptions(false)
	options.ReadOnly = true
	db, err := openBolt(path, options)
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

		return c.Check(tx)
	})
}
