package relay

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// TestAThousandRequestsComeOutInOrderThroughServersThatAreKilled: each till sends its next order when the one
// before was answered, with the service's retries, through any of two relays.
func TestAThousandRequestsComeOutInOrderThroughServersThatAreKilled(t *testing.T) {
	t.Parallel()
	const tills, each = 8, 125
	c := cluster(t, 3)
	relays := [2]*Stream{openStream(t, c, connect(t, c.URLs()...)), openStream(t, c, connect(t, c.URLs()...))}
	venue := addVenue(t, relays[0])
	b := newBox()
	source(t, connect(t, c.URLs()...), venue, b)

	var sending sync.WaitGroup
	var answered [tills][]string
	for till := range tills {
		sending.Go(func() {
			for n := range each {
				id := fmt.Sprintf("%d-%d", till, n)
				for try := range 4 {
					if acceptOnce(relays[(n+try)%2], request(venue, id, "soup")) == nil {
						answered[till] = append(answered[till], id)
						break
					}
				}
			}
		})
	}
	for n, victim := range []int{leaderOf(t, c, relays[0]), 0, 1} {
		b.wait(t, 150*(n+1))
		c.Kill(victim)
		b.wait(t, 150*(n+1)+20) // by the two others
		restart(t, c, victim)
	}
	sending.Wait()

	accept(t, relays[0], request(venue, "last", "soup"))
	place := map[string]int{}
	for read, last := 0, false; !last; {
		took := b.wait(t, read+1)
		for _, a := range took[read:] {
			read++
			// A server that is killed may lose the box's acknowledgement. Then the request comes again, and the
			// box's queue knows its id: what counts is where it came first.
			if _, known := place[a.ID]; !known {
				place[a.ID] = len(place)
			}
			last = last || a.ID == "last"
		}
	}
	count := 0
	for _, chain := range answered {
		before := -1
		for _, id := range chain {
			at, ok := place[id]
			if !ok || at < before {
				t.Errorf("%s was answered 200 and taken: %t, as number %d after number %d", id, ok, at, before)
			}
			before = at
		}
		count += len(chain)
	}
	if count < tills*each*9/10 {
		t.Errorf("only %d requests were answered", count)
	}
}

// acceptOnce is one attempt of the service.
func acceptOnce(s *Stream, r ticket.Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	_, err := s.Accept(ctx, r)
	return err
}
