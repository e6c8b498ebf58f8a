package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/queue"
)

func TestOnlyTwoStartsInARowThatDiedInTheDatabaseMakeItSuspect(t *testing.T) {
	died, killed := startMark+"fatal error: fault\ngo.etcd.io/bbolt.(*Cursor).search\n", startMark
	other := startMark + "panic: nil\nticketrail/config.Load\n"
	for told, want := range map[string]bool{
		"": false, died: false, died + died: true, died + killed: false, died + killed + died: false,
		other + other: false, killed + died + died: true,
	} {
		path := filepath.Join(t.TempDir(), "t.db")
		assert.NoError(t, os.WriteFile(path+".crash", []byte(told), 0o600))
		var set *os.File
		c := newCrashes(path, func(f *os.File) error { set = f; return nil })
		err := c.suspect()
		assert.True(t, errors.Is(err, queue.ErrDamaged) == want && set != nil, told, err)
		left := told + startMark
		if want { // the next file has nothing to do with it
			left = startMark
		}
		got, err := os.ReadFile(path + ".crash")
		assert.True(t, err == nil && string(got) == left, told, string(got), err)
		c.over()
		_, err = os.Stat(path + ".crash")
		assert.True(t, err != nil && set == nil, told)
	}
}
