package relay

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/config"
	"ticketrail/receiver"
	"ticketrail/receiver/contract"
	store "ticketrail/receiver/relay"
)

// configured are the venues of the bucket as they stand in a configuration file.
func configured(bucket []store.VenueEntry) []config.Venue {
	all := []config.Venue{}
	for _, v := range bucket {
		one := config.Venue{ID: v.ID, Name: v.Name, Timezone: v.Timezone, Devices: v.Devices}
		for _, s := range v.Secrets {
			one.Secrets = append(one.Secrets, config.NewSecret(s))
		}
		for _, text := range v.Hours {
			var h config.Hours
			if h.UnmarshalText([]byte(text)) == nil { // of another version: the hours are for monitoring only
				one.Hours = append(one.Hours, h)
			}
		}
		all = append(all, one)
	}
	return all
}

// setVenues makes the venues of the bucket active.
func (s *server) setVenues(all []store.VenueEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()

	venues := configured(all)
	if err := s.apply(s.conf, venues); err != nil {
		s.log.Error("a change of the venues is not used", "err", err)
		return
	}

	s.bucket, s.ids = venues, map[string]bool{}
	for _, v := range venues {
		s.ids[v.ID] = true
	}
	s.door.SetVenues(all)
	s.log.Info("venues known", "venues", len(venues))
}

// apply makes a policy active, or changes nothing. It is called with s.mu.
func (s *server) apply(conf *config.Relay, venues []config.Venue) (err error) {
	policy := daemon.Policy(conf.With(venues), envelope{})
	if s.receiver == nil {
		s.receiver, err = receiver.New(receiver.Options{Intake: s.stream, Policy: policy, Classify: store.Classify,
			Reject: s.stream.Keep, Logger: s.log, Registerer: s.registry})
	} else {
		err = s.receiver.SetPolicy(policy)
	}
	return err
}

// venues returns the active venues.
func (s *server) venues() []config.Venue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bucket
}

// addConsumers gives the venues the consumers that they have lost with a stream.
func (s *server) addConsumers(ctx context.Context) error {
	for {
		var ids []string
		for _, v := range s.venues() {
			ids = append(ids, v.ID)
		}
		err := s.stream.AddConsumers(ctx, ids)
		if err == nil || ctx.Err() != nil {
			return nil
		}

		s.log.Warn("boxes may find nothing to fetch from; it is tried again", "err", err)
		select {
		case <-time.After(statusEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// reload applies the file as it is now, completely or not at all.
func (s *server) reload() {
	s.notify(daemon.Reloading())
	defer func() { s.notify("READY=1\nSTATUS=" + s.status()) }()
	conf, err := config.LoadRelay(s.o.ConfigPath)
	if err == nil {
		s.mu.Lock()
		if err = s.apply(conf, s.bucket); err == nil {
			s.conf = conf
		}
		s.mu.Unlock()
	}
	if err != nil {
		s.loaded.Loaded(false)
		s.log.Error("configuration not loaded; the previous one stays active",
			"err", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}

	s.loaded.Loaded(true)
	s.level.Set(conf.Log.Slog())
	for _, w := range conf.Warnings {
		s.log.Warn("configuration warning", "warning", w)
	}
	if keys := conf.NeedsRestart(s.start); len(keys) > 0 {
		s.log.Warn("configuration loaded; keys that were changed take effect only after a restart",
			"keys", strings.Join(keys, " "))
		return
	}
	s.log.Info("configuration loaded")
}

// unlessUnsure answers 503 to a venue that this relay does not know although it may be one: after a 403 the service
// gives the order up.
func (s *server) unlessUnsure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		id, isUUID := contract.CanonicalID(strings.TrimSpace(r.Header.Get(s.conf.Receiver.Headers.Venue)))
		known := s.ids[id]
		s.mu.Unlock()
		if !isUUID || known || s.isNone(r.Context(), id) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":"ERROR","error":{"code":"storage_failed",`+
			`"message":"the list of venues cannot be read now"}}`+"\n")
	})
}

// Strangers must not make the servers work by asking: more than these are answered 503 without a look.
const (
	looksPerSecond = 20
	looksAtOnce    = 100
	lookWithin     = 2 * time.Second
)

// isNone says that the servers know of no such venue. A list that lacks one may be old, or the bucket was lost.
func (s *server) isNone(ctx context.Context, id string) bool {
	if !s.nc.IsConnected() || !s.looks.Allow() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()

	known, err := s.stream.Knows(ctx, id)
	if known {
		s.log.Warn("a venue has a consumer and is in no list of venues; its orders are answered 503: add or remove "+
			"it with ticketrail relay venues", "venue", id)
	}
	return err == nil && !known
}
