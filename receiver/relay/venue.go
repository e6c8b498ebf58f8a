package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// A VenueEntry is a restaurant whose requests the relays accept. It is kept with the consumer of its box, so neither is
// there without the other.
type VenueEntry struct {
	ID       string   `json:"id"` // UUID, lower case
	Name     string   `json:"name,omitempty"`
	Timezone string   `json:"timezone,omitempty"`
	Devices  []string `json:"devices,omitempty"` // empty: all
	Hours    []string `json:"hours,omitempty"`
	Token    string   `json:"token,omitempty"` // of its box: the SHA-256 of it, in hex
}

const (
	// entryKey is the key of the entry, as JSON, in the metadata of a consumer.
	entryKey = "ticketrail"
	// venuesSubject is the subject on which relays hear that a venue was added, changed or removed.
	venuesSubject = "ticketrail.venues"
	// askTime is for one answer of the servers.
	askTime = 2 * time.Second
	// readsAtOnce is how many questions the servers are asked at once.
	readsAtOnce = 32
)

// consumerOf is the durable consumer of a venue's box.
//
// One request at a time: with more, a box that crashes has taken later ones when the earlier one comes again, and
// the kitchen cooks in the wrong order. A message is sent again for ever, because it is an order.
func consumerOf(v VenueEntry) jetstream.ConsumerConfig {
	entry, _ := json.Marshal(v) // it has nothing that JSON cannot have
	return jetstream.ConsumerConfig{
		Durable:       v.ID,
		Metadata:      map[string]string{entryKey: string(entry)},
		FilterSubject: ofVenue(v.ID),
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       AckWait,
		MaxDeliver:    -1,
		MaxAckPending: 1,
	}
}

// entryOf is the opposite of consumerOf; false: the consumer is somebody else's.
func entryOf(c *jetstream.ConsumerInfo) (v VenueEntry, ok bool) {
	err := json.Unmarshal([]byte(c.Config.Metadata[entryKey]), &v)
	return v, err == nil && v.ID == c.Name
}

// consumer asks for the consumer of a venue: its entry, how much waits there, and the servers' time.
func (s *Stream) consumer(ctx context.Context, venue string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	c, err := s.stream.Consumer(ctx, venue)
	if err != nil {
		return nil, fmt.Errorf("ask for the consumer of venue %s: %w", venue, err)
	}
	return c, nil
}

// waiting is how many requests the box of a consumer has not acknowledged.
func waiting(c *jetstream.ConsumerInfo) uint64 { return c.NumPending + uint64(c.NumAckPending) }

// PutVenue adds or changes a venue, and tells all relays. Its id is a UUID in lower case.
func (s *Stream) PutVenue(ctx context.Context, v VenueEntry) error {
	if _, err := s.stream.CreateOrUpdateConsumer(ctx, consumerOf(v)); err != nil {
		return fmt.Errorf("add venue %s: %w", v.ID, err)
	}
	s.tellRelays(ctx)
	return nil
}

// RemoveVenue removes a venue. The requests for its box stay until the end of its retention: if the venue is added
// again, its box gets it. So its consumer stays as long, or a box would get requests that another one has printed.
func (s *Stream) RemoveVenue(ctx context.Context, id string) error {
	removed := consumerOf(VenueEntry{ID: id})
	removed.InactiveThreshold = s.stream.CachedInfo().Config.MaxAge
	if _, err := s.stream.UpdateConsumer(ctx, removed); err != nil {
		return fmt.Errorf("remove venue %s: %w", id, err)
	}
	s.tellRelays(ctx)
	return nil
}

// tellRelays makes the relays look at the venues now. One that does not hear it looks at them a little later.
func (s *Stream) tellRelays(ctx context.Context) {
	_ = s.nc.Publish(venuesSubject, nil)
	_ = s.nc.FlushWithContext(ctx)
}

// A Site is the state of a venue and its box.
type Site struct {
	VenueEntry
	Box
	Waiting   uint64    `json:"waiting"`             // requests that its box has not taken
	Oldest    time.Time `json:"oldest,omitzero"`     // when the first of them was stored; zero: none waits
	LastFetch time.Time `json:"last_fetch,omitzero"` // of its box, since the servers were started
	Behind    []string  `json:"-"`                   // servers that do not know how far the box is
}

// Sites lists the venues, with their boxes, and the ids of those that were removed within the retention. Oldest and
// LastFetch are by the servers' clocks. It asks for each venue, so one that cannot be read costs no other: after an
// error, it has those that could be read.
func (s *Stream) Sites(ctx context.Context, boxes map[string]Box) (sites []Site, removed []string, err error) {
	names := s.stream.ConsumerNames(ctx)

	var group errgroup.Group
	var mu sync.Mutex
	group.SetLimit(readsAtOnce)
	for name := range names.Name() {
		group.Go(func() error {
			site, isRemoved, err := s.site(ctx, name)
			if errors.Is(err, jetstream.ErrConsumerNotFound) { // it has ended since, or is somebody else's
				return nil
			}
			if err != nil {
				return err
			}

			mu.Lock()
			defer mu.Unlock()
			if isRemoved {
				removed = append(removed, name)
				return nil
			}
			site.Box = boxes[name]
			sites = append(sites, site)
			return nil
		})
	}

	err = group.Wait()
	if listErr := names.Err(); listErr != nil {
		err = fmt.Errorf("list the venues: %w", listErr)
	}
	return sites, removed, err
}

// site asks for one venue. One that was removed has a consumer that ends by itself.
func (s *Stream) site(ctx context.Context, venue string) (site Site, isRemoved bool, err error) {
	consumer, err := s.consumer(ctx, venue)
	if err != nil {
		return site, false, err
	}
	info := consumer.CachedInfo()
	entry, ok := entryOf(info)
	if !ok {
		return site, false, jetstream.ErrConsumerNotFound
	}
	if info.Config.InactiveThreshold > 0 {
		return site, true, nil
	}

	site = Site{VenueEntry: entry, Waiting: waiting(info), Behind: lagging(info.Cluster)}
	if last := info.Delivered.Last; last != nil {
		site.LastFetch = *last
	}
	if site.Waiting == 0 {
		return site, false, nil
	}

	oldest, err := s.stream.GetMsg(ctx, info.AckFloor.Stream+1, jetstream.WithGetMsgSubject(ofVenue(venue)))
	switch {
	case err == nil:
		site.Oldest = oldest.Time
	case !errors.Is(err, jetstream.ErrMsgNotFound): // its box has it since
		return site, false, fmt.Errorf("read the oldest request of venue %s: %w", venue, err)
	}
	return site, false, nil
}

// A State is how full the stream is and how its servers are.
type State struct {
	Messages, Bytes uint64
	MaxBytes        int64 // -1: as much as the servers have
	MaxAge          time.Duration
	Differs         string   // from its [Options]; empty: nothing
	Servers         int      // that have a copy of the stream
	Behind          []string // those that do not have all requests
}

// lagging are the servers that have not all of something.
func lagging(c *jetstream.ClusterInfo) (names []string) {
	if c == nil {
		return nil
	}
	for _, r := range c.Replicas {
		if r.Offline || !r.Current {
			names = append(names, r.Name)
		}
	}
	return names
}

// State asks the stream's leader. Without one it fails: a server that is left answers for the stream, too.
func (s *Stream) State(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err == nil && info.Cluster != nil && info.Cluster.Leader == "" {
		err = errNoAnswer
	}
	if err != nil {
		return State{}, fmt.Errorf("ask for the state of the stream %s: %w", StreamName, explain(err))
	}

	return State{Messages: info.State.Msgs, Bytes: info.State.Bytes, MaxBytes: info.Config.MaxBytes,
		MaxAge: info.Config.MaxAge, Differs: differences(info.Config, s.o.wanted(info.Config)),
		Servers: info.Config.Replicas, Behind: lagging(info.Cluster)}, nil
}
