package queue

import (
	"path/filepath"
	"testing"
	"time"
)

func TestOptionsThatAreNotGivenHaveTheirDefaults(t *testing.T) {
	o, err := Options{Path: "queue.db"}.complete()
	must(t, err)
	wantTrue(t, o.DedupRetention == 168*time.Hour && o.HistoryRetention == 72*time.Hour && o.MaxBacklog == 100_000, o)
}

func TestANegativeLimitIsRefused(t *testing.T) {
	for _, o := range []Options{{DedupRetention: -1}, {HistoryRetention: -1}, {MaxBacklog: -1}} {
		o.Path = filepath.Join(t.TempDir(), "queue.db")
		_, err := Open(o)
		wantTrue(t, err != nil, o)
	}
}
