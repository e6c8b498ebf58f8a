package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/relay/natstest"
)

// TestARequestThatDiedWithItsLeaderIsNoDuplicate: a leader that has lost the others refuses the second publish of an
// id because of the first, which was not stored. If that counted as a duplicate, the order would be lost.
func TestARequestThatDiedWithItsLeaderIsNoDuplicate(t *testing.T) {
	t.Parallel()
	c := cluster(t, 0)
	first := openStream(t, connect(t, urls(c)...), 3)
	venue := addVenue(t, first)
	leader := leaderOf(t, first)
	s := openStream(t, connect(t, urls(c)[leader]), 3)
	others := []*natstest.Server{c[(leader+1)%3], c[(leader+2)%3]}
	for _, other := range others {
		other.Stop()
	}
	one := request(venue, "soup", "soup")
	publish := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.js.Publish(ctx, subjectOf(venue, one.ID), one.Body)
		return err
	}
	if err := publish(); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("without a quorum: %v, want no answer", err)
	}
	refusal, ok := errors.AsType[*jetstream.APIError](publish())
	if !ok || refusal.ErrorCode != codeStoreFailed {
		t.Fatalf("the second publish: %v; the test needs the refusal", refusal)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if receipt, err := s.Accept(ctx, one); err == nil {
		t.Errorf("%+v: it was answered 200, and nothing is stored", receipt)
	}
	c[leader].Stop()
	restart(t, nil, others...)
	leaderOf(t, first)
	wantReceipt(t, "after the leader's death", first, one, ticket.Receipt{})
	restart(t, others, c[leader])
	wantReceipt(t, "the retry", first, one, ticket.Receipt{Duplicate: true})
	state, err := first.State(t.Context())
	assert.NoError(t, err)
	if state.Messages != 1 || state.Servers != 3 {
		t.Errorf("the stream is %+v, want one message", state)
	}
}

// TestAnIDThatManyPublishAtOnceIsOneMessage: through three relays, while the leader dies.
func TestAnIDThatManyPublishAtOnceIsOneMessage(t *testing.T) {
	t.Parallel()
	const rounds, killAt, each = 5, 2, 10
	c := cluster(t, 0)
	var streams []*Stream
	for _, url := range urls(c) {
		streams = append(streams, openStream(t, connect(t, append([]string{url}, urls(c)...)...), 3))
	}
	venue := addVenue(t, streams[0])
	answered := map[string]int{}
	for round := range rounds {
		id := fmt.Sprint(round)
		var mu sync.Mutex
		var wg sync.WaitGroup
		first := 0
		for i := range each * len(streams) {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				receipt, err := streams[i%len(streams)].Accept(ctx, request(venue, id, "soup"))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					answered[id]++
				}
				if err == nil && !receipt.Duplicate {
					first++
				}
			})
		}
		if round == killAt {
			leader := leaderOf(t, streams[0])
			c[leader].Stop()
			c[leader].Start()
		}
		wg.Wait()
		if first > 1 {
			t.Errorf("round %d: %d were told that they are the first", round, first)
		}
	}
	restart(t, c)
	for round := range rounds { // of which perhaps none was answered 200 while there was no leader
		accept(t, streams[0], request(venue, fmt.Sprint(round), "soup"))
		answered[fmt.Sprint(round)]++
	}
	b := newBox()
	b.run(t, openDoor(t, streams[0]), venue)
	accept(t, streams[0], request(venue, "last", "soup"))
	waitFor(t, "the box has the last one", func() bool {
		took := b.taken()
		return len(took) > 0 && took[len(took)-1].ID == "last"
	})
	times := map[string]int{}
	for _, a := range b.taken() {
		times[a.ID]++
	}
	for id := range answered {
		if times[id] != 1 {
			t.Errorf("%s was answered 200 to %d callers and taken %d times", id, answered[id], times[id])
		}
	}
}
