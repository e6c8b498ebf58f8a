package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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
