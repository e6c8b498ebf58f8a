package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/receiver/contract"
)

// A VenueEntry is a restaurant, in the bucket, whose requests the relays accept.
type VenueEntry struct {
	ID       string   `json:"id"` // UUID, lower case
	Name     string   `json:"name,omitempty"`
	Timezone string   `json:"timezone,omitempty"`
	Devices  []string `json:"devices,omitempty"` // empty: all
	Secrets  []string `json:"secrets,omitempty"`
	Hours    []string `json:"hours,omitempty"`
	Token    string   `json:"token,omitempty"` // of its box: the SHA-256 of it, in hex
}

// consumerOf is the durable consumer of a venue's box.
//
// One request at a time: with more, a box that crashes has taken later ones when the earlier one comes again, and
// the kitchen cooks in the wrong order. A message is sent again for ever, because it is an order.
func consumerOf(venue string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       venue,
		FilterSubject: ofVenue(venue),
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       AckWait,
		MaxDeliver:    -1,
		MaxAckPending: 1,
	}
}

// EnsureConsumer creates the consumer from which a venue's box fetches, or corrects it. Only relays can: a box may
// not.
func (s *Stream) EnsureConsumer(ctx context.Context, venue string) error {
	if _, err := s.stream.CreateOrUpdateConsumer(ctx, consumerOf(venue)); err != nil {
		return fmt.Errorf("create the consumer of venue %s: %w", venue, err)
	}
	return nil
}

// AddConsumers creates the consumers that some venues lack: a stream that was lost and created anew has none, and no
// box fetches the requests of a venue without one.
func (s *Stream) AddConsumers(ctx context.Context, venues []string) error {
	there, err := s.consumerNames(ctx)
	if err != nil {
		return err
	}
	for _, venue := range venues {
		if !slices.Contains(there, venue) {
			if err := s.EnsureConsumer(ctx, venue); err != nil {
				return err
			}
		}
	}
	return nil
}

// consumerNames lists the venues that have a consumer, removed ones too.
func (s *Stream) consumerNames(ctx context.Context) (names []string, err error) {
	list := s.stream.ConsumerNames(ctx)
	for name := range list.Name() {
		names = append(names, name)
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list the venues' consumers: %w", err)
	}
	return names, nil
}

// Knows reports whether a venue has its consumer and was not removed. The consumer is there before the venue is in the
// bucket and as long as it is: a list of venues without it is old, or was lost.
func (s *Stream) Knows(ctx context.Context, venue string) (bool, error) {
	_, err := s.consumer(ctx, venue)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return false, nil
	}
	return err == nil, err
}

// consumer asks for the consumer of a venue: how much waits there, and the servers' time.
func (s *Stream) consumer(ctx context.Context, venue string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	c, err := s.stream.Consumer(ctx, venue)
	if err == nil && isRemoved(c.CachedInfo()) {
		err = jetstream.ErrConsumerNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the consumer of venue %s: %w", venue, err)
	}
	return c, nil
}

// askTime is for one answer of the servers.
const askTime = 2 * time.Second

// waiting is how many requests the box of a consumer has not acknowledged.
func waiting(c *jetstream.ConsumerInfo) uint64 { return c.NumPending + uint64(c.NumAckPending) }

// isRemoved says that a consumer belongs to a venue that was removed: it ends by itself.
func isRemoved(consumer *jetstream.ConsumerInfo) bool { return consumer.Config.InactiveThreshold > 0 }

// PutVenue adds or changes a venue. A crash after the consumer leaves one that nothing is sent to; asked again, it
// is found.
func (s *Stream) PutVenue(ctx context.Context, v VenueEntry) error {
	id, isUUID := contract.CanonicalID(v.ID)
	if !isUUID {
		return fmt.Errorf("add venue %q: its id must be a UUID", v.ID)
	}
	v.ID = id
	if err := s.EnsureConsumer(ctx, v.ID); err != nil {
		return err
	}
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("add venue %s: %w", v.ID, err)
	}
	if _, err := s.venues.Put(ctx, v.ID, value); err != nil {
		return fmt.Errorf("add venue %s: %w", v.ID, err)
	}
	return nil
}

// ErrNoVenue says that there is no venue of that id.
var ErrNoVenue = errors.New("no such venue")

// RemoveVenue removes a venue. The requests for its box stay until the end of its retention: if the venue is added
// again, its box gets it. So its consumer stays as long, or a box would get requests that another one has printed.
// After a crash between the two, asked again, the rest is removed.
func (s *Stream) RemoveVenue(ctx context.Context, id string) error {
	id, isUUID := contract.CanonicalID(id)
	if !isUUID {
		return fmt.Errorf("remove venue %q: %w", id, ErrNoVenue)
	}
	if err := s.venues.Purge(ctx, id); err != nil {
		return fmt.Errorf("remove venue %s: %w", id, err)
	}
	known, err := s.Knows(ctx, id)
	if err == nil && !known {
		err = ErrNoVenue
	}
	if err == nil {
		removed := consumerOf(id)
		removed.InactiveThreshold = s.stream.CachedInfo().Config.MaxAge
		_, err = s.stream.UpdateConsumer(ctx, removed)
	}
	if err != nil {
		return fmt.Errorf("remove venue %s: %w", id, err)
	}
	return nil
}
