package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/receiver"
	"ticketrail/receiver/posapi"
)

// A snapshot is everything one configuration is made into and a reload replaces.
type snapshot struct {
	conf     *config.Config
	policy   *receiver.Policy
	stations *station.Built
	client   *posapi.Client // nil without a service
}

// build makes a snapshot of conf. All that can fail happens here, before anything in force is
// touched.
func (a *App) build(conf *config.Config) (*snapshot, error) {
	p, err := doctor.CompilePlan(conf)
	if err != nil {
		return nil, err
	}
	s := &snapshot{conf: conf, policy: newPolicy(conf, p)}
	if s.stations, err = a.stations.Build(conf); err != nil {
		return nil, err
	}
	if s.client, err = a.service.clientFor(conf.Service); err != nil {
		return nil, config.Problems{{Path: "service", Msg: err.Error()}}
	}
	s.policy.Names = a.service.directory
	return s, nil
}

// apply puts s in force, or changes nothing: only the first step can fail. A request that is
// being planned keeps the rules it began with; if those name a station that is just going, its
// queue is an orphan and is kept.
func (a *App) apply(s *snapshot) (orphans []string, err error) {
	if err := a.receiver.SetPolicy(s.policy); err != nil {
		a.service.drop(s.client)
		return nil, err
	}
	a.service.use(s.client, s.conf)
	a.level.Set(s.conf.Log.Slog())
	a.queue.SetStations(s.conf.Stations())
	a.stations.Swap(s.stations)
	a.metrics.loaded(true)
	for _, st := range a.queue.Stations() {
		if !st.Configured && st.Pending+st.Held+st.Printing > 0 {
			orphans = append(orphans, st.Name)
			a.log.Error("a station with tickets is not in the configuration: they are kept; ticketrail jobs move --from STATION --to ANOTHER",
				"printer", st.Name, "tickets", st.Pending+st.Held+st.Printing)
		}
	}
	return orphans, nil
}

// ReloadResult says what a reload of the configuration did.
type ReloadResult struct {
	Warnings []string
	// Restart names changed keys that only a restart brings in.
	Restart []string
	// Orphans names stations that are gone from the configuration and still have tickets.
	Orphans []string
}

// Reload reads the configuration file again and applies it completely or not at all. What it
// says is logged; the error is for whoever asked.
func (a *App) Reload() (ReloadResult, error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if a.o.ConfigPath == "" {
		return ReloadResult{}, errors.New("reload: this daemon was started without a configuration file")
	}
	a.notify(reloading())
	defer func() { a.notify("READY=1\nSTATUS=" + a.health.status()) }()
	done, err := a.reload()
	if err != nil {
		a.metrics.loaded(false)
		a.log.Error("configuration not loaded: everything stays as it was", "err", strings.ReplaceAll(err.Error(), "\n", "; "))
		return ReloadResult{}, err
	}
	for _, w := range done.Warnings {
		a.log.Warn("configuration", "hint", w)
	}
	if len(done.Restart) > 0 {
		a.log.Warn("configuration loaded, but some of it needs a restart", "keys", strings.Join(done.Restart, " "))
	} else {
		a.log.Info("configuration loaded")
	}
	return done, nil
}

func (a *App) reload() (done ReloadResult, err error) {
	conf, err := doctor.Load(a.o.ConfigPath)
	if err != nil {
		return done, err
	}
	next, err := a.build(conf)
	if err != nil {
		return done, err
	}
	if done.Orphans, err = a.apply(next); err != nil {
		return done, err
	}
	done.Warnings = append(conf.Warnings, next.stations.Warnings...)
	// The keys of the display are read when its listener is opened, which a reload may have done.
	boot := *a.boot
	boot.Display = a.stations.Display(conf.Display)
	done.Restart = conf.NeedsRestart(&boot)
	return done, nil
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
