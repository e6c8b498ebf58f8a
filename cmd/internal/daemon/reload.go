package daemon

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sys/unix"
)

// Reloading is the notification at the start of a reload. The monotonic time lets
// systemd tell this reload from an earlier one: see MONOTONIC_USEC in sd_notify(3).
func Reloading() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return "RELOADING=1"
	}
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", t.Nano()/1000)
}

// ConfigMetrics say whether the configuration on the disk is the active one.
type ConfigMetrics struct{ reloadOK, reloadAt prometheus.Gauge }

// NewConfigMetrics registers them.
func NewConfigMetrics(reg prometheus.Registerer) *ConfigMetrics {
	factory := promauto.With(reg)
	return &ConfigMetrics{
		reloadOK: factory.NewGauge(prometheus.GaugeOpts{Name: "ticketrail_config_last_reload_successful",
			Help: "Whether the last reload of the configuration file was applied (1) or refused (0)."}),
		reloadAt: factory.NewGauge(prometheus.GaugeOpts{Name: "ticketrail_config_last_reload_success_timestamp_seconds",
			Help: "When the active configuration was applied."}),
	}
}

// Reloaded tells the log and the metrics how a reload went: the warnings of the file, and the keys that were changed
// and take effect only after a restart.
func (m *ConfigMetrics) Reloaded(log *slog.Logger, warnings, restart []string, err error) {
	m.Loaded(err == nil)
	if err != nil {
		log.Error("configuration not loaded; the previous one stays active",
			"err", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}

	for _, w := range warnings {
		log.Warn("configuration warning", "warning", w)
	}
	log.Info("configuration loaded", "not_before_a_restart", strings.Join(restart, " "))
}

// Loaded keeps the time of the last success after a failed reload: an alert can say since when the
// file is wrong.
func (m *ConfigMetrics) Loaded(ok bool) {
	if !ok {
		m.reloadOK.Set(0)
		return
	}
	m.reloadOK.Set(1)
	m.reloadAt.SetToCurrentTime()
}
