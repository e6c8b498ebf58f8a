package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/httpserver"
)

// NewRegistry has the collectors of the Go runtime and of the process too: a small box runs out of memory and of open
// files.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := admin.ThisBuild()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ticketrail_build_info", Help: "Always 1; the labels say which program this is.",
			ConstLabels: prometheus.Labels{"version": build.Version, "revision": build.Commit, "goversion": build.Go},
		}, func() float64 { return 1 }),
	)

	return registry
}

// Monitor opens the listener of metrics and health checks, and returns their server; nil: the configuration wants none.
// They have a listener of their own, so that a slow scraper does not delay an order. notReady says why no orders are
// accepted, or nothing.
func Monitor(given net.Listener, address string, reg *prometheus.Registry, log *slog.Logger, notReady func() string) (
	l net.Listener, serve func(context.Context) error, err error,
) {
	if given == nil && address == "" {
		return nil, nil, nil
	}
	if l, err = Listen(given, "metrics.listen", address); err != nil {
		return nil, nil, err
	}

	mux := http.NewServeMux()
	// Four scrapes at a time: each one walks all stations, and a scraper with a short interval must
	// not slow the printing.
	mux.Handle("GET /metrics", promhttp.InstrumentMetricHandler(reg, promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), Registry: nil,
		EnableOpenMetrics: true, MaxRequestsInFlight: 4,
	})))

	// 200 as long as the process answers. It does not look at the disk: a supervisor that restarted
	// the daemon because of a full disk would only stop the printing too.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { // 200 while orders are accepted
		if why := notReady(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ready\n")
	})

	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return l, func(ctx context.Context) error {
		return httpserver.Serve(ctx, l, srv, httpserver.Options{MaxConnections: maxScrapers, Grace: 2 * time.Second})
	}, nil
}

// maxScrapers is how many connections monitoring may have. The number of open files is limited, and
// printers need some of them.
const maxScrapers = 32

// Gauge is one value of a collector.
func Gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// Truth is 1 for true.
func Truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// UnixSeconds is 0 for the zero time.
func UnixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
