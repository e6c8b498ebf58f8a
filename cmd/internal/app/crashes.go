package app

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"ticketrail/queue"
)

// A page that the check does not find can still kill the process, at each start anew: the kernel sends SIGBUS, or
// bbolt panics in a goroutine of its own. So the process writes its last words beside the database for as long as it
// reads it first. Only a death within bbolt counts: after a kill or a power cut the file is as good as before, and to
// put it aside would have tickets print twice.

const (
	crashWithin = 10 * time.Second // of opening the database
	maxCrashes  = 2                // in a row, then the file is put aside
	startMark   = "== start ==\n"
)

// crashes is the file with the last words of the last starts. A nil one knows of none.
type crashes struct {
	path string
	set  func(*os.File) error // has the process write its end there; nil: nowhere
	once sync.Once
}

// newCrashes returns nil if the end of this process cannot be told.
func newCrashes(database string, set func(*os.File) error) *crashes {
	if set == nil {
		return nil
	}
	return &crashes{path: database + ".crash", set: set}
}

// suspect returns an error that wraps [queue.ErrDamaged] if the last starts died in reading the database. From then on
// the end of this one is written.
func (c *crashes) suspect() error {
	if c == nil {
		return nil
	}
	told, _ := os.ReadFile(c.path) // without one there was no crash
	starts := strings.Split(string(told), startMark)
	died := 0
	for n := len(starts) - 1; n > 0 && strings.Contains(starts[n], "go.etcd.io/bbolt"); n-- {
		died++
	}

	flags := os.O_APPEND
	if died >= maxCrashes {
		flags = os.O_TRUNC
	}

	file, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|flags, 0o600)
	if err == nil {
		_, _ = file.WriteString(startMark)
		_ = c.set(file) // it has a descriptor of its own
		_ = file.Close()
		time.AfterFunc(crashWithin, c.over)
	}

	if died >= maxCrashes {
		return fmt.Errorf("%w: the last %d starts died in reading it", queue.ErrDamaged, died)
	}
	return nil
}

// over ends it: the process has not died of the database.
func (c *crashes) over() {
	if c == nil {
		return
	}
	c.once.Do(func() {
		_ = c.set(nil)
		_ = os.Remove(c.path)
	})
}
