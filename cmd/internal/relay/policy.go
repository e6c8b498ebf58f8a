package relay

import (
	"context"
	"maps"
	"slices"
	"time"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/config"
	"ticketrail/receiver"
	store "ticketrail/receiver/relay"
)

// configured is a venue as it stands in a configuration file.
func configured(v store.VenueEntry) config.Venue {
	one := config.Venue{ID: v.ID, Name: v.Name, Timezone: v.Timezone, Devices: v.Devices}
	for _, text := range v.Hours {
		var h config.Hours
		if h.UnmarshalText([]byte(text)) == nil { // of another version: the hours are for monitoring only
			one.Hours = append(one.Hours, h)
		}
	}
	return one
}

// setVenues makes the venues of these sites active, and returns those that the servers have lost. If they are not
// complete, those that could not be read stay as they are. Servers that know of no venue, not even of a removed one,
// have lost them.
func (s *server) setVenues(sites []store.Site, complete bool) (lost []store.VenueEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()

	now, missing := map[string]store.VenueEntry{}, maps.Clone(s.entries)
	for _, site := range sites {
		delete(missing, site.ID)
		if !site.Removed {
			now[site.ID] = site.Entry
		}
	}
	maps.Copy(now, missing)

	s.entries = now
	s.apply(s.conf)
	s.door.SetVenues(slices.Collect(maps.Values(now)), complete && len(sites) > 0)

	if complete {
		lost = slices.Collect(maps.Values(missing))
	}
	return lost
}

// apply makes a configuration and the venues active. It is called with s.mu.
func (s *server) apply(conf *config.Relay) {
	s.conf = conf
	venues := []config.Venue{}
	for _, v := range s.entries {
		venues = append(venues, configured(v))
	}

	policy := daemon.Policy(conf.With(venues), envelope{})
	policy.MayBeNewVenue = s.mayBeNewVenue
	if s.receiver == nil {
		s.receiver = receiver.New(receiver.Options{Intake: s.stream, Policy: policy, Classify: store.Classify,
			Reject: s.stream.Keep, Logger: s.log, Registerer: s.registry})
		return
	}
	s.receiver.SetPolicy(policy)
}

// venues is how many are known; -1: none could be read since the start.
func (s *server) venues() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		return -1
	}
	return len(s.entries)
}

// reload applies the file as it is now, completely or not at all.
func (s *server) reload() {
	s.o.Notify(daemon.Reloading())
	defer func() { s.o.Notify("READY=1\nSTATUS=" + s.status()) }()
	conf, err := config.LoadRelay(s.o.ConfigPath)
	if err != nil {
		s.loaded.Reloaded(s.log, nil, nil, err)
		return
	}

	s.mu.Lock()
	s.apply(conf)
	s.mu.Unlock()
	s.level.Set(conf.Log.Slog())
	s.loaded.Reloaded(s.log, conf.Warnings, conf.NeedsRestart(s.start), nil)
}

// mayBeNewVenue says that a venue which this relay does not know may be one, because its list is old, or was when the
// request began: after a 403 the service gives an order up.
func (s *server) mayBeNewVenue(_ context.Context, id string) bool {
	s.mu.Lock()
	_, isListed := s.entries[id]
	s.mu.Unlock()

	latest := s.last.Load()
	isOld := latest == nil || time.Since(latest.At) > lookEvery+lookAgain
	return isListed || isOld || s.venues() == 0 || !s.nc.IsConnected()
}
