package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"ticketrail/receiver/contract"
)

const (
	// rewatch is how often all is read again, in case a change was missed while the connection was lost.
	rewatch = 5 * time.Minute
	// settleTime after a change, the relays are told of it once, with all that came in that time.
	settleTime = 100 * time.Millisecond
	// readTime is for reading the bucket once.
	readTime = 10 * time.Second
	// readsAtOnce is how many questions the servers are asked at once.
	readsAtOnce = 32
)

// Venues lists the venues of the bucket, by id. It asks for each that has a consumer, because whoever watches a bucket
// waits for one more consumer, which a cluster that lacks a server may make there.
func (s *Stream) Venues(ctx context.Context) ([]VenueEntry, error) {
	values := map[string]string{}
	err := s.eachConsumer(ctx, func(id string, mu *sync.Mutex) error {
		entry, err := s.venues.Get(ctx, id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the bucket %s: %w", VenuesBucket, err)
		}

		mu.Lock()
		defer mu.Unlock()
		values[id] = string(entry.Value())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.decodeVenues(values), nil
}

// eachConsumer calls read for each venue that has a consumer, some at once, and returns the first error. The mutex
// guards what they collect.
func (s *Stream) eachConsumer(ctx context.Context, read func(venue string, mu *sync.Mutex) error) error {
	names, err := s.consumerNames(ctx)
	if err != nil {
		return err
	}

	var group errgroup.Group
	var mu sync.Mutex
	group.SetLimit(readsAtOnce)
	for _, name := range names {
		group.Go(func() error { return read(name, &mu) })
	}
	return group.Wait()
}

// decodeVenues leaves out entries of others in the bucket: one wrong entry must not cost the others.
func (s *Stream) decodeVenues(values map[string]string) []VenueEntry {
	venues := []VenueEntry{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var v VenueEntry
		id, isUUID := contract.CanonicalID(key)
		if err := json.Unmarshal([]byte(values[key]), &v); err != nil || v.ID != key || !isUUID || id != key {
			s.log.Warn("entry of the bucket of venues cannot be read; add the venue again", "key", key, "err", err)
			continue
		}
		venues = append(venues, v)
	}
	return venues
}

// WatchVenues calls changed with all venues, at once and after each change, until ctx ends. While the servers cannot
// be reached the venues stay as they are. It returns nil.
func (s *Stream) WatchVenues(ctx context.Context, changed func([]VenueEntry)) error {
	watch := venueWatch{s: s, changed: changed}
	last := ""
	for ctx.Err() == nil {
		err := watch.run(ctx)
		if err == nil || ctx.Err() != nil {
			last = ""
			continue
		}

		if err.Error() != last {
			last = err.Error()
			s.log.Warn("changes of venues are not seen now", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second/2 + rand.N(time.Second)): // not all relays at once
		}
	}
	return nil
}

type venueWatch struct {
	s       *Stream
	changed func([]VenueEntry)
	told    map[string]string // the argument of the last call of changed; nil: it was not called
}

// run watches until the connection was lost and made again, at most for the time of rewatch.
func (v *venueWatch) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	// A watch that was cut off with its server notices that late.
	connected := v.s.nc.StatusChanged(nats.CONNECTED)
	defer v.s.nc.RemoveStatusListener(connected)

	watcher, err := v.s.venues.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Stop() }()

	end := time.NewTimer(rewatch)
	defer end.Stop()
	// Until all entries are read, nothing is told: half a list would turn restaurants away.
	settled := time.NewTimer(readTime)
	defer settled.Stop()

	// The list comes from any server, and one that was just started may be behind: it is complete when it has as many
	// keys as the leader of the bucket.
	now, keys := map[string]string{}, map[string]bool{} // the keys of removed entries are among them
	stored := uint64(math.MaxUint64)                    // keys that the leader has, when the server has sent its own
	complete := false
	for {
		select {
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return errors.New("the watch has ended")
			case entry == nil:
				status, err := v.s.venues.Status(ctx)
				if err != nil {
					return fmt.Errorf("read the bucket %s: %w", VenuesBucket, err)
				}
				stored = status.Values()
			case entry.Operation() == jetstream.KeyValuePut:
				now[entry.Key()], keys[entry.Key()] = string(entry.Value()), true
			default:
				delete(now, entry.Key())
				keys[entry.Key()] = true
			}
			if complete = uint64(len(keys)) >= stored; complete {
				settled.Reset(settleTime)
			}
		case <-settled.C:
			if !complete {
				return fmt.Errorf("the bucket %s was not read within %s", VenuesBucket, readTime)
			}
			if v.told == nil || !maps.Equal(v.told, now) {
				v.told = maps.Clone(now)
				v.changed(v.s.decodeVenues(now))
			}
		case <-connected:
			return nil
		case <-end.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
