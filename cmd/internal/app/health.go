package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/queue"
)

func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(),
	)
	return r
}

func buildInfo() prometheus.Collector {
	b := admin.ThisBuild()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ticketrail_build_info", Help: "Always 1; the labels say which program this is.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Commit, "goversion": b.Go},
	}, func() float64 { return 1 })
}

// collect registers what is looked at when somebody asks.
func (a *App) collect() {
	a.registry.MustRegister(heldCollector{a.queue}, conditionCollector{a}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ticketrail_queue_quarantined_files",
		Help: "Damaged databases that were set aside and that nobody has taken away yet.",
	}, func() float64 { return float64(len(a.quarantined())) }))
}

type metrics struct{ reloadOK, reloadAt prometheus.Gauge }

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		reloadOK: f.NewGauge(prometheus.GaugeOpts{Name: "ticketrail_config_last_reload_successful",
			Help: "Whether the configuration file, when it was last read, was put in force (1) or refused (0)."}),
		reloadAt: f.NewGauge(prometheus.GaugeOpts{Name: "ticketrail_config_last_reload_success_timestamp_seconds",
			Help: "When the configuration in force was put in force."}),
	}
}

func (m *metrics) loaded(ok bool) {
	if !ok {
		m.reloadOK.Set(0)
		return
	}
	m.reloadOK.Set(1)
	m.reloadAt.SetToCurrentTime()
}

// heldCollector says at scrape time which stations a person has stopped.
type heldCollector struct{ queue *queue.Queue }

var stationHeld = prometheus.NewDesc("ticketrail_station_held",
	"Whether a person holds the station's line (1) or it runs (0).", []string{"station"}, nil)

func (heldCollector) Describe(ch chan<- *prometheus.Desc) { ch <- stationHeld }

func (c heldCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.queue.Stations() {
		ch <- prometheus.MustNewConstMetric(stationHeld, prometheus.GaugeValue, yes(s.Hold != nil), s.Name)
	}
}

// yes is how a metric says it.
func yes(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

// conditionCollector says at scrape time how the printers are.
type conditionCollector struct{ a *App }

var stationCondition = prometheus.NewDesc("ticketrail_station_condition",
	"Whether the station's printer says this of itself, or is seen to be so (1), or not (0).", []string{"station", "condition"}, nil)

var stationStandingIn = prometheus.NewDesc("ticketrail_station_stood_in_for",
	"Whether the station's tickets come out of another one now (1) or of its own (0).", []string{"station"}, nil)

func (conditionCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- stationCondition
	ch <- stationStandingIn
}

func (c conditionCollector) Collect(ch chan<- prometheus.Metric) {
	r := c.a.live.Load()
	if r == nil {
		return // not begun
	}
	helped := map[string]bool{}
	for _, s := range c.a.dispatch.Status() {
		helped[s.Name] = s.StandIn.Name != ""
	}
	for _, name := range r.conf.Stations() {
		ch <- prometheus.MustNewConstMetric(stationStandingIn, prometheus.GaugeValue, yes(helped[name]), name)
	}
	for name, s := range r.stations {
		now := s.device.Status()
		is := func(condition string, so bool) {
			ch <- prometheus.MustNewConstMetric(stationCondition, prometheus.GaugeValue, yes(so), name, condition)
		}
		for _, one := range escpos.Conditions() {
			is(one.Name(), now.Conditions.Has(one))
		}
		// These a printer cannot say of itself.
		for _, state := range []string{printer.Silent, printer.Busy, printer.Unreachable} {
			is(state, now.State == state)
		}
	}
}

// listenMetrics opens the listener that monitoring asks. It is not the one that orders
// come in on, so a slow scraper delays nobody.
func (a *App) listenMetrics(conf *config.Config) error {
	l := a.o.Metrics
	if l == nil && conf.Metrics.Listen == "" {
		return nil
	}
	if l == nil {
		var err error
		if l, err = listenOn("metrics.listen", conf.Metrics.Listen); err != nil {
			return err
		}
	}
	a.down.push("metrics listener", closeOnce(l))
	a.metricsAt = l.Addr()

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.InstrumentMetricHandler(a.registry, promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelWarn), Registry: nil, EnableOpenMetrics: true, MaxRequestsInFlight: 4,
	})))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", a.readyz)
	a.serve = append(a.serve, server{"metrics", func(ctx context.Context) error { return serveHTTP(ctx, l, mux, a.log) }})
	return nil
}

// readyz is 200 while orders can be taken.
func (a *App) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := a.queue.Ready(); err != nil {
		http.Error(w, a.refusing(err), http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, "ready\n")
}

// maxScrapers is how many connections monitoring may have. Open files are what printers need too.
const maxScrapers = 32

func serveHTTP(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(stopped)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			srv.Close()
		}
	})
	err := srv.Serve(netutil.LimitListener(l, maxScrapers))
	if !unwatch() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stuckAfter is how long something may wait in the committer before the daemon counts as
// hung. An idle daemon is healthy, and so is one whose disk takes seconds.
const stuckAfter = 20 * time.Second

// beat tells the init system that the daemon lives, as long as the committer does.
// A committer that hangs (a disk that never answers) is the one thing only a restart can help.
func (a *App) beat(ctx context.Context) {
	if a.o.WatchdogEvery <= 0 {
		return
	}
	tick := time.NewTicker(a.o.WatchdogEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if w := a.queue.Waiting(); w > stuckAfter {
			a.log.Error("the disk has not answered: the watchdog will restart the daemon", "waiting", w.Round(time.Second))
			continue
		}
		a.notify(daemon.SdNotifyWatchdog + "\nSTATUS=" + a.statusLine())
	}
}

// statusLine is what `systemctl status` shows.
func (a *App) statusLine() string {
	var pending, held int
	var stopped []string
	for _, s := range a.queue.Stations() {
		pending += s.Pending + s.Printing
		held += s.Held
		if s.Hold != nil {
			stopped = append(stopped, s.Name)
		}
	}
	line := fmt.Sprintf("%d waiting, %d held for a person", pending, held)
	if len(stopped) > 0 {
		line += ", on hold: " + strings.Join(stopped, " ")
	}
	for _, l := range a.lines() {
		if l.Device != nil && !l.Device.Fine {
			line += fmt.Sprintf(", %s: %s", l.Name, inWords(l.Device.State))
		}
	}
	if len(a.quarantined()) > 0 {
		line += ", a damaged database was set aside: see ticketrail printers list"
	}
	if err := a.queue.Ready(); err != nil {
		line = "taking no orders: " + err.Error() + "; " + line
	}
	return strings.ReplaceAll(line, "\n", " ")
}

// reloading is what the init system wants to hear when a reload begins: with the
// monotonic clock, so that it can tell this reload from the one before.
func reloading() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return "RELOADING=1"
	}
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", t.Nano()/1000)
}
