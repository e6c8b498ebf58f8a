package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/config"
	"ticketrail/queue"
)

// boxCollector exports at each scrape how the box is: its clock and the certificate of the screens. What
// `ticketrail status` says of them is in overview.go.
type boxCollector struct {
	clock  queue.Clock
	config func() *config.Config
}

var (
	descClock = prometheus.NewDesc("ticketrail_clock_synchronized",
		"Whether the box's clock is known to be synchronized (1) or not (0).", nil, nil)
	descDisplayCertificate = prometheus.NewDesc("ticketrail_display_certificate_not_after_timestamp_seconds",
		"When the TLS certificate of the kitchen screens expires; no series without one.", nil, nil)
)

func (boxCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descClock, descDisplayCertificate} {
		ch <- d
	}
}

func (c boxCollector) Collect(ch chan<- prometheus.Metric) {
	ch <- gauge(descClock, truth(c.clock.Synchronized()))
	if file := c.config().Display.TLS.CertFile; file != "" {
		// An unreadable one ends now, as far as anybody can tell.
		ends, err := doctor.CertificateEnd(file)
		if err != nil {
			ch <- gauge(descDisplayCertificate, 0)
			return
		}
		ch <- gauge(descDisplayCertificate, float64(ends.Unix()))
	}
}
