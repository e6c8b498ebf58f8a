package station

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/printer"
)

// collector reports at scrape time which stations are held, printed for by a backup, or up, and their conditions.
// It is computed at each scrape, so no series of a removed station stays. Every condition has a series from the start,
// so that an alert rule can tell "no" from "unknown printer".
type collector struct{ s *Set }

var (
	stationHeld = prometheus.NewDesc("ticketrail_station_held",
		"Whether the operator holds the station's queue (1) or it runs (0).", []string{"station"}, nil)
	stationUsesBackup = prometheus.NewDesc("ticketrail_station_uses_backup",
		"Whether a backup prints the station's tickets now (1) or the station itself (0).", []string{"station"}, nil)
	stationCondition = prometheus.NewDesc("ticketrail_station_condition",
		"Whether the station's printer or display reports this condition, or was seen to be in it (1), or not (0).",
		[]string{"station", "condition"}, nil)
	stationUp = prometheus.NewDesc("ticketrail_station_up",
		"Whether the station works (1) or not (0), by its last attempt and by what it says of itself. "+
			"A station of which nothing is known yet has no series.", []string{"station"}, nil)
)

// Describe tells nothing: which series there are depends on the stations.
func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	for _, st := range c.s.o.Queue.Stations() {
		ch <- daemon.Gauge(stationHeld, daemon.Truth(st.Hold != nil), st.Name)
	}

	active := c.s.active.Load()
	for _, l := range c.s.List() {
		ch <- daemon.Gauge(stationUsesBackup, daemon.Truth(l.ActiveBackup != ""), l.Name)
		var conditions []string
		if st := active.stations[l.Name]; st != nil {
			conditions = st.Conditions()
		}

		for _, c := range conditions {
			is := l.Device != nil && (l.Device.State == c || slices.Contains(l.Device.Conditions, c))
			ch <- daemon.Gauge(stationCondition, daemon.Truth(is), l.Name, c)
		}

		// As finding.Join judges, but a hold does not count: it has a metric of its own.
		up, known := l.Up, l.Known
		if d := l.Device; d != nil && d.State != printer.Unknown {
			up, known = d.Fine && (l.Up || !l.Known), true
		}
		if known {
			ch <- daemon.Gauge(stationUp, daemon.Truth(up), l.Name)
		}
	}
}
