package relay

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"
)

// strangers show wrong tokens. A token cannot be guessed; the limits are for the work and the log that they cause. A
// venue whose token is right is never among them.
type strangers struct {
	count prometheus.Counter
	limit *rate.Limiter
	log   rate.Sometimes
}

const (
	wrongAtOnce    = 200
	wrongPerSecond = 20 // a hundred boxes with an old token, each of which tries every five seconds
)

func newStrangers(reg prometheus.Registerer) *strangers {
	return &strangers{limit: rate.NewLimiter(wrongPerSecond, wrongAtOnce), log: rate.Sometimes{Interval: time.Minute},
		count: promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "ticketrail_relay_wrong_tokens_total",
			Help: "Requests with a token that is of no venue."})}
}

// allow counts a wrong token, and says whether its sender is told so.
func (s *strangers) allow(address string, log *slog.Logger) bool {
	s.count.Inc()
	s.log.Do(func() { log.Warn("somebody shows a token that is of no venue", "address", address) })
	return s.limit.Allow()
}
