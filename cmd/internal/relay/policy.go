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

// setVenues makes the venues of an overview active, and returns those that the servers have lost. If it is not
// complete, those that could not be read stay as they are. Servers that know of no venue, not even of a removed one,
// have lost them.
func (s *server) setVenues(o Overview, complete bool) (lost []store.VenueEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()

	now, missing := map[string]store.VenueEntry{}, maps.Clone(s.entries)
	for _, id := range o.removed {
		delete(missing, id)
	}
	for _, site := range o.Sites {
		delete(missing, site.ID)
		now[site.ID] = site.VenueEntry
	}
	maps.Copy(now, missing)

	if s.entries == nil {
		close(s.known)
	}
	s.entries = now
	s.receiver.SetPolicy(s.policy())
	s.door.SetVenues(slices.Collect(maps.Values(now)), complete && len(o.Sites)+len(o.removed) > 0)

	if complete {
		lost = slices.Collect(maps.Values(missing))
	}
	return lost
}

// policy makes the receiver's policy from the configuration and the venues. The caller holds s.mu, but at the start,
// when there is one goroutine.
func (s *server) policy() *receiver.Policy {
	venues := []config.Venue{}
	for _, v := range s.entries {
		venues = append(venues, configured(v))
	}

	policy := daemon.Policy(s.conf.With(venues), envelope{})
	policy.MayBeNewVenue = s.mayBeNewVenue
	return policy
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
	s.conf = conf
	s.receiver.SetPolicy(s.policy())
	s.mu.Unlock()
	s.level.Set(conf.Log.Slog())
	s.loaded.Reloaded(s.log, conf.Warnings, conf.NeedsRestart(s.o.Config), nil)
}

// mayBeNewVenue says that a venue which this relay does not know may be one, because its list is old, or was when the
// request began: after a 403 the service gives an order up.
func (s *server) mayBeNewVenue(_ context.Context, id string) bool {
	s.mu.Lock()
	_, isListed := s.entries[id]
	s.mu.Unlock()

	isOld := time.Since(s.latest().At) > lookEvery+2*lookAgain
	return isListed || isOld || s.venues() == 0 || !s.nc.IsConnected()
}
