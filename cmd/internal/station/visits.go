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

// visits remembers which screens there were, and since when somebody has looked at each, so
// that one that nobody ever set up is told from one that has gone dark.
type visits struct {
	shelf kv.Store
	log   *slog.Logger

	writing sync.WaitGroup
	mu      sync.Mutex // guards known
	known   map[string]visit
}

// A visit is a screen as it is on the shelf.
type visit struct {
	V     int       `json:"v"`
	First time.Time `json:"first,omitzero"` // when its first page was open; zero: none was
}

const visitVersion = 1

func openVisits(shelf kv.Store, log *slog.Logger) (*visits, error) {
	v := &visits{shelf: shelf, log: log.With("component", "display"), known: map[string]visit{}}
	err := shelf.All(func(station string, value []byte) bool {
		var one visit
		if err := json.Unmarshal(value, &one); err != nil || one.V != visitVersion {
			v.log.Warn("whether a screen was ever open cannot be read", "station", station, "err", err)
		}
		v.known[station] = one
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("open screens: %w", err)
	}
	return v, nil
}

// stations is every screen that there ever was, in order.
func (v *visits) stations() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.known))
}

// first is when the first page of a screen was open; zero for none.
func (v *visits) first(station string) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known[station].First
}

// configured notes that there is such a screen.
func (v *visits) configured(station string) {
	v.note(station, func(was visit, known bool) (visit, bool) { return was, !known })
}

// opened notes that a page of a screen is open. It does not block.
func (v *visits) opened(station string) {
	v.note(station, func(was visit, _ bool) (visit, bool) {
		if !was.First.IsZero() {
			return was, false
		}
		was.First = time.Now().UTC()
		return was, true
	})
}

// note stores what change makes of what is known, behind the caller's back. Nothing hangs on
// it: if it is not stored, the next time is as good.
func (v *visits) note(station string, change func(was visit, known bool) (now visit, news bool)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	was, known := v.known[station]
	now, news := change(was, known)
	if !news {
		return
	}
	now.V = visitVersion
	v.known[station] = now
	value, err := json.Marshal(now)
	if err != nil {
		return // a number and a time
	}
	v.writing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), openWithin)
		defer cancel()
		if err := v.shelf.Put(ctx, station, value); err != nil {
			v.log.Debug("that a screen was open could not be stored", "station", station, "err", err)
		}
	})
}

// wait returns when all is stored.
func (v *visits) wait() { v.writing.Wait() }

// visitCollector says at scrape time which screens nobody ever set up.
type visitCollector struct{ d *screens }

var displayEverOpen = prometheus.NewDesc("ticketrail_display_ever_open",
	"Whether a page of the screen station was ever open or paired (1); 0 means that nobody has set the screen up.", []string{"station"}, nil)

func (visitCollector) Describe(ch chan<- *prometheus.Desc) { ch <- displayEverOpen }

func (c visitCollector) Collect(ch chan<- prometheus.Metric) {
	live := c.d.s.live.Load()
	for _, s := range live.conf.Screens {
		if c.d.screen(live, s.Name) != nil {
			ch <- prometheus.MustNewConstMetric(displayEverOpen, prometheus.GaugeValue, gauge(c.d.everSetUp(s.Name)), s.Name)
		}
	}
}

// everSetUp says whether a page of a screen was ever open, or a browser was paired with it.
func (d *screens) everSetUp(station string) bool {
	return !d.visits.first(station).IsZero() ||
		slices.ContainsFunc(d.pairings.List(), func(p kds.Pairing) bool { return p.Station == station })
}
