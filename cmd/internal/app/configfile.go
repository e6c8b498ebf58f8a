package app

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/setup"
)

// A configFile knows whether the daemon would start with the configuration that is on the disk now. The
// running daemon does not notice a broken file, and the next boot, perhaps weeks later, would end without a
// kitchen. So a file that was changed is judged within a minute, also without a reload.
type configFile struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex // guards the fields below
	judged fileStamp
	reason string // why it is refused; empty: it is not
}

// A fileStamp changes when a file is written or replaced. Of a missing file it is zero.
type fileStamp struct {
	modified time.Time
	bytes    int64
}

// lookEvery is the interval at which the file's stamp is read. An editor that is writing just then is
// judged again a minute later.
const lookEvery = time.Minute

// newConfigFile is for a file that the daemon has started with. An empty path is a daemon without one.
func newConfigFile(path string, log *slog.Logger, reg prometheus.Registerer) *configFile {
	f := &configFile{path: path, log: log}
	f.judged = f.stamp()
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ticketrail_config_on_disk_valid",
		Help: "Whether the daemon would start with the configuration file as it is on the disk now (1) or not (0).",
	}, func() float64 {
		if f.refused() != "" {
			return 0
		}
		return 1
	}))
	return f
}

func (f *configFile) stamp() fileStamp {
	info, err := os.Stat(f.path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.ModTime(), info.Size()}
}

// judge stores what reading the file led to; stamp is from before it was read. It reports whether that
// differs from what was known.
func (f *configFile) judge(stamp fileStamp, err error) (news bool) {
	reason := ""
	if err != nil {
		reason = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	news = reason != f.reason
	f.judged, f.reason = stamp, reason
	return news
}

// refused is why the file would be refused, in one line; empty if it would not.
func (f *configFile) refused() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reason
}

// look reads the file if it was changed since it was judged. It applies nothing.
func (f *configFile) look() {
	if f.path == "" {
		return
	}
	now := f.stamp()
	f.mu.Lock()
	same := now == f.judged
	f.mu.Unlock()
	if same {
		return
	}
	_, err := setup.Load(f.path)
	switch news := f.judge(now, err); {
	case news && err != nil:
		f.log.Error("configuration on disk is refused; the active one stays in use, "+
			"but after a restart the daemon would not start", "err", f.refused())
	case news:
		f.log.Info("configuration on disk is valid again; to use it: systemctl reload ticketrail")
	}
}

// watch looks at the file until ctx ends.
func (f *configFile) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.look()
		case <-ctx.Done():
			return
		}
	}
}
