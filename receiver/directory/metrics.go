package directory

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// A step is one thing that can fail on its own, as a label value. They fail for different reasons:
// each needs another scope, or the disk.
type step string

const (
	employees step = "employees"
	payroll   step = "payrollperiods"
	storing   step = "store"
)

// A result is how a step ended, as a label value.
type result string

const (
	ok         result = "ok"
	incomplete result = "incomplete" // a part was missing; what was received is used
	failed     result = "failed"     // nothing has changed
)

// problems is what the log says of a step that did not end [ok].
var problems = map[step]string{
	employees: "some or all of the venue's employees could not be read: an unknown one prints as the end of the id",
	payroll:   "the venue's time zone could not be read: if it is unknown, tickets show UTC",
	storing:   "the venue's names and time zone are in use, but not stored: a restart loses them",
}

var (
	employeesDesc = prometheus.NewDesc("ticketrail_directory_employees",
		"Employees of a venue whose names are known, those who left lately included.", []string{"venue"}, nil)
	ageDesc = prometheus.NewDesc("ticketrail_directory_age_seconds",
		"Time since the list of a venue's employees last came whole; since the start if it never did.",
		[]string{"venue"}, nil)
)

// register makes the metrics. Two directories cannot share a registry.
func (d *Directory) register(reg prometheus.Registerer) {
	d.metrics = promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_directory_refreshes_total",
		Help: "Times a venue's employees or time zone were requested, or stored, by how it ended.",
	}, []string{"venue", "step", "result"})
	if reg != nil {
		reg.MustRegister(gauges{d})
	}
}

// gauges are read from the venues, which a reload replaces. They are read at the scrape, so they never show a
// venue that was removed.
type gauges struct{ d *Directory }

// Describe implements [prometheus.Collector].
func (g gauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- employeesDesc
	ch <- ageDesc
}

// Collect implements [prometheus.Collector].
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	for _, s := range g.d.Status() {
		ch <- prometheus.MustNewConstMetric(employeesDesc, prometheus.GaugeValue, float64(s.Employees), s.Venue)
		ch <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, s.Age.Seconds(), s.Venue)
	}
}
