package station

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/printer/kds"
	"ticketrail/queue/kv"
)

// screenRecords stores which screens were ever configured, and when the first page of each was
// opened. So a screen that was never set up is told from one that is dark, and a board that still
// has tickets is found after its screen was removed from the configuration.
type screenRecords struct {
	kv  kv.Store
	log *slog.Logger

	writing sync.WaitGroup       // writes in progress
	turn    chan struct{}        // has an element during a write, so that the last one stores the latest state
	mu      sync.Mutex           // guards known
	known   map[string]time.Time // when the first page was opened; zero: none was
}

// A screenRecord is a screen as it is stored, under its station's name.
type screenRecord struct {
	V     int       `json:"v"` // screenRecordVersion when it was written
	First time.Time `json:"first,omitzero"`
}

const screenRecordVersion = 1

// openScreenRecords reads all records. An unreadable one counts as a screen that was never opened:
// the worst that follows is a wrong advice, so the daemon starts.
func openScreenRecords(store kv.Store, log *slog.Logger) (*screenRecords, error) {
	records := &screenRecords{kv: store, log: log.With("component", "display"), turn: make(chan struct{}, 1),
		known: map[string]time.Time{}}
	err := store.All(func(station string, value []byte) bool {
		var one screenRecord
		if err := json.Unmarshal(value, &one); err != nil || one.V != screenRecordVersion {
			records.log.Warn("cannot read whether a screen was ever open", "station", station, "err", err)
		}
		records.known[station] = one.First
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("open screens: %w", err)
	}
	return records, nil
}

// stations is every screen that was ever configured, sorted. It includes removed ones, whose boards
// may still have tickets.
func (v *screenRecords) stations() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.known))
}

// firstOpened is when the first page of a screen was opened; zero for none.
func (v *screenRecords) firstOpened(station string) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known[station]
}

// note records that there is such a screen, and with at that a page of it is open. It is stored in the background: a
// cook whose page connects must not wait for the disk. A crash before that, or an error, loses nothing that matters:
// the next page that opens stores it.
func (v *screenRecords) note(station string, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if first, known := v.known[station]; known && (at.IsZero() || !first.IsZero()) {
		return
	}

	v.known[station] = at
	v.writing.Go(func() {
		v.turn <- struct{}{}
		defer func() { <-v.turn }()
		value, err := json.Marshal(screenRecord{screenRecordVersion, v.firstOpened(station)})
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
			defer cancel()
			err = v.kv.Put(ctx, station, value)
		}
		if err != nil {
			v.log.Debug("cannot store that a screen was open", "station", station, "err", err)
		}
	})
}

// screenRecordCollector reports at scrape time which screens were never set up. An alert on it
// finds the tablet that was mounted and never set up, before the first busy evening.
type screenRecordCollector struct{ d *screens }

var displayEverOpen = prometheus.NewDesc("ticketrail_display_ever_open",
	"Whether a page of the screen was ever opened, or a browser paired (1); 0 means the screen was never set up.",
	[]string{"station"}, nil)

func (screenRecordCollector) Describe(ch chan<- *prometheus.Desc) { ch <- displayEverOpen }

func (c screenRecordCollector) Collect(ch chan<- prometheus.Metric) {
	active := c.d.s.active.Load()
	for _, s := range active.conf.Screens {
		// A pass that could not be opened has no pages to report.
		if c.d.screen(active, s.Name) != nil {
			ch <- boolGauge(displayEverOpen, c.d.everSetUp(s.Name), s.Name)
		}
	}
}

// everSetUp reports whether a page of a screen was ever opened, or a browser paired with it.
func (d *screens) everSetUp(station string) bool {
	return !d.screenRecords.firstOpened(station).IsZero() ||
		slices.ContainsFunc(d.pairings.List(), func(p kds.Pairing) bool { return p.Station == station })
}
