package app

import (
	"errors"
	"slices"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/setup"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/receiver"
	"ticketrail/receiver/plan"
)

// A reload has two halves. build makes everything that the new configuration needs and may fail;
// the daemon keeps working with the old one. apply makes it active and cannot fail half way: only a
// screen of the pass may be missing afterwards, and listings say so. So a misspelt key at 19:30 changes
// nothing in the kitchen. The start of the daemon uses the same two functions.

// A snapshot is everything that is built from one configuration and replaced by a reload.
type snapshot struct {
	conf     *config.Config
	policy   *receiver.Policy
	stations *station.Built
}

// build builds a snapshot of conf. Every step that can find the configuration invalid happens here, before the active
// snapshot is touched. Parts whose configuration has not changed are taken over from the active snapshot.
func (a *App) build(conf *config.Config) (*snapshot, error) {
	routes, err := plan.Compile(conf.Plan())
	if err != nil {
		return nil, err
	}

	next := &snapshot{conf: conf, policy: daemon.Policy(conf, routes)}
	// This may open the port of the screens, which then stays open even if a later step fails.
	if next.stations, err = a.stations.Build(conf); err != nil {
		return nil, err
	}
	next.policy.Names = a.service.names
	return next, nil
}

// apply makes s active. Nothing in it fails. (Swap reports a screen of the pass that cannot be opened in the listings,
// and the kitchen works without it.) A request that is being planned at that moment uses the old routes. If they name a
// station that s does not have, its queue becomes an orphan: a queue with tickets whose station is not configured. The
// ticket is kept. The old tickets are not touched: each has its station and its text stored with it.
func (a *App) apply(s *snapshot) {
	a.receiver.SetPolicy(s.policy)
	a.active.Store(s.conf)
	a.forgetFields(s.conf)
	a.service.use(s.conf) // before Swap, because the clock of the screens asks for the venue's time zone
	a.level.Set(s.conf.Log.Slog())

	// Before Swap, so that no listing calls a station an orphan that already prints.
	a.queue.SetStations(s.conf.Stations())
	// Before Swap, which begins to print: outcomes of tickets before this are not kept.
	a.outcomes.Use(s.conf.Outcomes)
	a.stations.Swap(s.stations)
	a.notifier.Use(s.conf.Notify)
	a.metrics.Loaded(true)
}

// A ReloadResult is the result of a reload of the configuration. Tests and the demo read it; an operator reads the
// log.
type ReloadResult struct {
	Warnings []string
	// Restart lists changed keys that take effect only after a restart.
	Restart []string
}

// Reload reads the configuration file again and applies it completely or not at all. The result is logged and
// returned. It may be called at any time and by several goroutines; they take turns. Requests and tickets are not
// interrupted.
func (a *App) Reload() (ReloadResult, error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if a.o.ConfigPath == "" {
		return ReloadResult{}, errors.New("reload: this daemon was started without a configuration file")
	}

	// systemd shows the unit as reloading until READY. It is sent after a failed reload too: the
	// daemon runs on with the old configuration.
	a.tellSystemd(daemon.Reloading())
	defer func() { a.tellSystemd("READY=1\nSTATUS=" + a.statusLine()) }()
	return a.loaded(a.reload())
}

// loaded tells the log, the metrics and the findings how a reload went.
func (a *App) loaded(done ReloadResult, err error) (ReloadResult, error) {
	a.file.reloaded(err)
	a.metrics.Reloaded(a.log, done.Warnings, done.Restart, err)
	return done, err
}

func (a *App) reload() (done ReloadResult, err error) {
	conf, err := setup.Load(a.o.ConfigPath)
	if err != nil {
		return done, err
	}

	next, err := a.build(conf)
	if err != nil {
		return done, err
	}
	return a.activate(next), nil
}

// activate applies next, and returns the warnings.
func (a *App) activate(next *snapshot) ReloadResult {
	a.apply(next)
	return ReloadResult{Warnings: slices.Concat(next.conf.Warnings, next.stations.Warnings), Restart: a.needsRestart()}
}

// needsRestart lists keys of the active configuration that take effect only after a restart. The listener of the
// screens may have been opened at a reload: its keys are compared with that configuration.
func (a *App) needsRestart() []string {
	conf, start := a.active.Load(), *a.startConfig
	start.Display = a.stations.Display(conf.Display)
	return conf.NeedsRestart(&start)
}
