package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/station"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	b := admin.ThisBuild()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ticketrail_build_info", Help: "Always 1; the labels say which program this is.",
			ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Commit, "goversion": b.Go},
		}, func() float64 { return 1 }),
	)
	return r
}

// health is how the daemon is: for monitoring, for the init system, for people.
type health struct {
	queue    *queue.Queue
	store    *store
	stations *station.Set
}

// handler is what monitoring asks. It has a listener of its own, so a slow scraper delays no order.
func (h health) handler(reg *prometheus.Registry, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.InstrumentMetricHandler(reg, promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), Registry: nil, EnableOpenMetrics: true, MaxRequestsInFlight: 4,
	})))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { // 200 while orders can be taken
		if err := h.queue.Ready(); err != nil {
			http.Error(w, h.store.refusing(err), http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ready\n")
	})
	return mux
}

// maxScrapers is how many connections monitoring may have. Open files are what printers need too.
const maxScrapers = 32

func metricsServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// stuckAfter is how long something may wait in the committer before the daemon counts as
// hung. An idle daemon is healthy, and so is one whose disk takes seconds.
const stuckAfter = 20 * time.Second

// beat tells the init system that the daemon lives, as long as the committer does.
// A committer that hangs (a disk that never answers) is the one thing only a restart can help.
func (h health) beat(ctx context.Context, every time.Duration, notify func(string), log *slog.Logger) {
	if every <= 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if w := h.queue.Waiting(); w > stuckAfter {
			log.Error("the disk has not answered: the watchdog will restart the daemon", "waiting", w.Round(time.Second))
			continue
		}
		notify(daemon.SdNotifyWatchdog + "\nSTATUS=" + h.status())
	}
}

// status is what `systemctl status` shows.
func (h health) status() string {
	var pending, held int
	var stopped []string
	for _, s := range h.queue.Stations() {
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
	for _, l := range h.stations.List() {
		if l.Device != nil && !l.Device.Fine {
			line += fmt.Sprintf(", %s: %s", l.Name, strings.ReplaceAll(l.Device.State, "_", " "))
		}
	}
	if len(h.store.quarantined()) > 0 {
		line += ", a damaged database was set aside: see ticketrail printers list"
	}
	if err := h.queue.Ready(); err != nil {
		line = "taking no orders: " + err.Error() + "; " + line
	}
	return strings.ReplaceAll(line, "\n", " ")
}

// notices is what a person must know whatever they asked about.
func (h health) notices() (out []string) {
	for _, f := range h.store.quarantined() {
		out = append(out, fmt.Sprintf("a damaged database was set aside as %s: tickets that waited in it did not print; move the file away when you have dealt with it", f))
	}
	if err := h.queue.Ready(); err != nil {
		out = append(out, h.store.refusing(err))
	}
	if n := h.queue.Damaged(); n > 0 {
		out = append(out, fmt.Sprintf("%s in the database could not be read since the start: see the log", ticket.Plural(n, "record")))
	}
	if n := h.queue.Unaccounted(); n != 0 {
		out = append(out, fmt.Sprintf("the books do not balance by %d: please report this", n))
	}
	out = append(out, h.stations.Notices()...)
	for _, s := range h.queue.Stations() {
		if !s.Configured {
			out = append(out, fmt.Sprintf("station %q is not in the configuration and has %s: ticketrail jobs move --from %q --to STATION", s.Name, ticket.Plural(s.Pending+s.Held+s.Printing, "ticket"), s.Name))
		}
	}
	return out
}
