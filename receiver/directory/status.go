package directory

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// A VenueStatus is what a person may want to know about a venue.
type VenueStatus struct {
	Venue     string        // id
	Employees int           // whose names are known
	Left      int           // how many of them have left
	Whole     bool          // the list has come whole, now or before a restart
	Age       time.Duration // since it last did; since the start if it never did
	Zone      string        // tz database name; empty: not known
	// What is wrong as of the last time it was tried, for people; nil: nothing, or not yet tried.
	EmployeesErr, ZoneErr, StoreErr error
}

// Status is how things are, in the order of the venues' ids.
func (d *Directory) Status() []VenueStatus {
	venues := d.sorted()
	out := make([]VenueStatus, len(venues))
	for i, v := range venues {
		r := v.known.Load()
		left := 0
		for _, p := range r.People {
			if p.Left > 0 {
				left++
			}
		}
		v.mu.Lock()
		out[i] = VenueStatus{
			Venue: v.id, Employees: len(r.People), Left: left, Whole: !r.AsOf.IsZero(), Age: r.age(), Zone: r.Zone,
			EmployeesErr: v.troubles[employees], ZoneErr: v.troubles[payroll], StoreErr: v.troubles[storing],
		}
		v.mu.Unlock()
	}
	return out
}

// A step is one thing that can go wrong on its own, as a label.
type step string

const (
	employees step = "employees"
	payroll   step = "payrollperiods"
	storing   step = "store"
)

// outcomes are the ways in which steps end, and what the log says of each.
var outcomes = map[outcome]string{
	{employees, ok}:         "the venue's employees are known",
	{payroll, ok}:           "the venue's time zone is known",
	{storing, ok}:           "what was learned about the venue is kept again",
	{employees, incomplete}: "some of the venue's employees may be missing: who is not known prints as the end of the id",
	{employees, failed}:     "the venue's employees cannot be learned: who is not known prints as the end of the id",
	{payroll, incomplete}:   noZone,
	{payroll, failed}:       noZone,
	{storing, failed}:       "what was learned about the venue is in use, but not kept over a restart",
}

const noZone = "the venue's time zone cannot be learned: where none is known tickets show UTC"

// A result is how a step ended, as a label.
type result string

const (
	ok         result = "ok"
	incomplete result = "incomplete" // what came is used, and something is missing
	failed     result = "failed"     // nothing has changed
)

// An outcome is a pair that can happen.
type outcome struct {
	step
	result
}

type metrics struct{ refreshes *prometheus.CounterVec }

func newMetrics(d *Directory, reg prometheus.Registerer) *metrics {
	m := &metrics{promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_directory_refreshes_total",
		Help: "Times a venue's employees or time zone were asked for, or kept on the disk, by how it ended.",
	}, []string{"venue", "step", "result"})}
	if reg != nil {
		reg.MustRegister(&gauges{
			d: d,
			employees: prometheus.NewDesc("ticketrail_directory_employees",
				"Employees of a venue whose names are known, those who left lately included.", []string{"venue"}, nil),
			age: prometheus.NewDesc("ticketrail_directory_age_seconds",
				"Time since the list of a venue's employees last came whole; since the start if it never did.", []string{"venue"}, nil),
		})
	}
	return m
}

func (m *metrics) count(venue string, o outcome) {
	m.refreshes.WithLabelValues(venue, string(o.step), string(o.result)).Inc()
}

// appear creates every series of a venue, so that a rate sees the first failure.
func (m *metrics) appear(venue string) {
	for o := range outcomes {
		m.refreshes.WithLabelValues(venue, string(o.step), string(o.result))
	}
}

func (m *metrics) vanish(venue string) {
	m.refreshes.DeletePartialMatch(prometheus.Labels{"venue": venue})
}

// gauges reads the venues, which are those of the configuration, when it is asked.
type gauges struct {
	d              *Directory
	employees, age *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- g.employees
	ch <- g.age
}

// Collect implements [prometheus.Collector].
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	for _, s := range g.d.Status() {
		ch <- prometheus.MustNewConstMetric(g.employees, prometheus.GaugeValue, float64(s.Employees), s.Venue)
		ch <- prometheus.MustNewConstMetric(g.age, prometheus.GaugeValue, s.Age.Seconds(), s.Venue)
	}
}
