package relay

import (
	"context"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A behind is a bucket whose list comes from a server that was just started: it says that it has sent all when it has
// sent one entry, and gets the others when the leader was asked how many there are.
type behind struct {
	jetstream.KeyValue
	asked chan struct{}
	once  sync.Once
}

func (b *behind) Status(ctx context.Context) (jetstream.KeyValueStatus, error) {
	defer b.once.Do(func() { close(b.asked) })
	return b.KeyValue.Status(ctx)
}

func (b *behind) WatchAll(ctx context.Context, o ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	w, err := b.KeyValue.WatchAll(ctx, o...)
	if err != nil {
		return nil, err
	}
	late := &lateWatcher{KeyWatcher: w, updates: make(chan jetstream.KeyValueEntry)}
	go func() {
		defer close(late.updates)
		send := func(e jetstream.KeyValueEntry) {
			select {
			case late.updates <- e:
			case <-ctx.Done():
			}
		}
		send(<-w.Updates())
		send(nil)
		select {
		case <-b.asked:
		case <-ctx.Done():
		}
		for e := range w.Updates() {
			if e != nil {
				send(e)
			}
		}
	}()
	return late, nil
}

type lateWatcher struct {
	jetstream.KeyWatcher
	updates chan jetstream.KeyValueEntry
}

func (w *lateWatcher) Updates() <-chan jetstream.KeyValueEntry { return w.updates }

// TestAServerThatIsBehindMakesNoVenueUnknown: the requests of a venue that is missing in the list would be refused,
// and the service would give them up.
func TestAServerThatIsBehindMakesNoVenueUnknown(t *testing.T) {
	_, s := oneNode(t)
	for range 3 {
		addVenue(t, s)
	}
	if err := s.RemoveVenue(t.Context(), addVenue(t, s)); err != nil {
		t.Fatal(err)
	}
	s.venues = &behind{KeyValue: s.venues, asked: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	told := -1
	_ = s.WatchVenues(ctx, func(all []VenueEntry) {
		told = len(all)
		cancel()
	})
	if told != 3 {
		t.Errorf("the relay knows %d venues, want 3", told)
	}
}
