package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

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
		must(t, os.WriteFile(path+".crash", []byte(told), 0o600))
		var set *os.File
		c := newCrashes(path, func(f *os.File) error { set = f; return nil })
		if err := c.suspect(); errors.Is(err, queue.ErrDamaged) != want || set == nil {
			t.Errorf("%q: %v", told, err)
		}
		left := told + startMark
		if want { // the next file has nothing to do with it
			left = startMark
		}
		if got, err := os.ReadFile(path + ".crash"); err != nil || string(got) != left {
			t.Errorf("%q becomes %q, %v", told, got, err)
		}
		c.over()
		if _, err := os.Stat(path + ".crash"); err == nil || set != nil {
			t.Errorf("%q: it is not over", told)
		}
	}
}
