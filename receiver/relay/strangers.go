package relay

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"
)

// strangers show wrong tokens. A token cannot be guessed; the limits are for the work and the log that they cause. A
// venue whose token is right is never among them, also at the same address.
type strangers struct {
	count prometheus.Counter
	log   *rate.Limiter

	mu sync.Mutex // guards of
	of map[string]*rate.Limiter
}

const (
	wrongAtOnce    = 10
	wrongEvery     = 2 * time.Second // one more; a box with an old token tries every five, and shows the answer
	strangersKnown = 4096
)

func newStrangers(reg prometheus.Registerer) *strangers {
	return &strangers{of: map[string]*rate.Limiter{}, log: rate.NewLimiter(rate.Every(time.Minute), 1),
		count: promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "ticketrail_relay_wrong_tokens_total",
			Help: "Requests with a token that is of no venue."})}
}

// allow counts a wrong token, and says whether its sender is told so once more.
func (s *strangers) allow(address string, log *slog.Logger) bool {
	s.count.Inc()
	if s.log.Allow() {
		log.Warn("somebody shows a token that is of no venue", "address", address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.of) >= strangersKnown {
		clear(s.of)
	}
	if s.of[address] == nil {
		s.of[address] = rate.NewLimiter(rate.Every(wrongEvery), wrongAtOnce)
	}
	return s.of[address].Allow()
}
