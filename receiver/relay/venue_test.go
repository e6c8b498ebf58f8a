package relay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/receiver/relay/natstest"
)

func TestEveryRelaySeesAVenueThatIsAddedOrRemoved(t *testing.T) {
	e, s := oneNode(t)
	other := openStream(t, connect(t, e.URL()), 1)
	lists := make(chan []VenueEntry, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	first := addVenue(t, s)
	go func() { done <- other.WatchVenues(ctx, func(v []VenueEntry) { lists <- v }) }()
	ids := func(venues []VenueEntry) (all []string) {
		for _, v := range venues {
			all = append(all, v.ID)
		}
		return all
	}
	want := func(what string, venues ...string) {
		t.Helper()
		slices.Sort(venues)
		end := time.After(testTime)
		for {
			select {
			case got := <-lists:
				if slices.Equal(ids(got), venues) {
					return
				}
			case <-end:
				t.Fatalf("%s: not seen", what)
			}
		}
	}
	want("at once", first)
	full := VenueEntry{ID: strings.ToUpper(uuid.NewString()), Name: "Bar", Timezone: "Europe/Rome",
		Devices: []string{"d"},
		Secrets: []string{"s"}, Hours: []string{"Mo-Su 10:00-23:00"}, Token: "t"}
	if err := s.PutVenue(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	full.ID = strings.ToLower(full.ID)
	want("added", first, full.ID)
	capital := strings.ToUpper(uuid.NewString())
	for key, value := range map[string]string{"foreign": "x", "other": `{"id":"*"}`, "bar": `{"id":"bar"}`,
		capital: fmt.Sprintf(`{"id":%q}`, capital)} {
		if _, err := s.venues.Put(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RemoveVenue(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	want("removed", full.ID)
	venues, err := other.Venues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]VenueEntry{full}, venues); d != "" {
		t.Error(d)
	}
	for _, unknown := range []string{first, "no UUID", uuid.NewString()} {
		if err := s.RemoveVenue(t.Context(), unknown); !errors.Is(err, ErrNoVenue) {
			t.Errorf("remove %q: %v, want %v", unknown, err, ErrNoVenue)
		}
	}
	if err := s.PutVenue(t.Context(), VenueEntry{ID: "*"}); err == nil {
		t.Error("a venue that is no UUID was added")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestAServerThatIsAwayLeavesTheVenuesAsTheyAre: no venue is turned away because the relay lost its connection.
func TestAServerThatIsAwayLeavesTheVenuesAsTheyAre(t *testing.T) {
	e, s := oneNode(t)
	first := addVenue(t, s)
	lists := make(chan []VenueEntry, 100)
	go func() { _ = s.WatchVenues(t.Context(), func(v []VenueEntry) { lists <- v }) }()
	if got := <-lists; len(got) != 1 || got[0].ID != first {
		t.Fatalf("the list is %v", got)
	}
	e.Stop()
	e.Start()
	second := ""
	waitFor(t, "a venue can be added", func() bool {
		second = uuid.NewString()
		return s.PutVenue(t.Context(), VenueEntry{ID: second}) == nil
	})
	for end := time.After(testTime); ; {
		select {
		case got := <-lists:
			if len(got) < 2 {
				t.Errorf("the list became %v", got)
			}
			if slices.ContainsFunc(got, func(v VenueEntry) bool { return v.ID == second }) {
				return
			}
		case <-end:
			t.Fatal("the change after the restart was not seen")
		}
	}
}

// TestAVenueThatIsAddedAgainGetsNothingTwice: its new box does not know the tickets that the one before has printed.
func TestAVenueThatIsAddedAgainGetsNothingTwice(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	d := openDoor(t, s)
	first := newBox()
	_, stop := first.run(t, d, venue)
	accept(t, s, request(venue, "a", "soup"))
	first.wait(t, 1)
	stop()
	accept(t, s, request(venue, "b", "soup"))
	if err := s.RemoveVenue(t.Context(), venue); err != nil {
		t.Fatal(err)
	}
	if known, err := s.Knows(t.Context(), venue); known || err != nil {
		t.Errorf("a venue that was removed is known: %v, %v", known, err)
	}
	if sites, err := s.Sites(t.Context(), nil); len(sites) > 0 || err != nil {
		t.Errorf("its site is listed: %+v, %v", sites, err)
	}
	d.letIn(t)
	if status, _, _ := d.ask(t, "HEAD", "/v1/next", tokenOf(venue), ""); status != http.StatusUnauthorized {
		t.Errorf("its box is answered %d", status)
	}
	if err := s.RemoveVenue(t.Context(), venue); !errors.Is(err, ErrNoVenue) {
		t.Errorf("it is removed again: %v", err)
	}
	if err := s.PutVenue(t.Context(), VenueEntry{ID: venue, Token: HashToken(tokenOf(venue))}); err != nil {
		t.Fatal(err)
	}
	d.letIn(t)
	if known, err := s.Knows(t.Context(), venue); !known || err != nil {
		t.Errorf("a venue that was added again is known: %v, %v", known, err)
	}
	accept(t, s, request(venue, "c", "soup"))
	second := newBox()
	second.run(t, d, venue)
	if took := second.wait(t, 2); took[0].ID != "b" || took[1].ID != "c" {
		t.Errorf("the new box got %+v", took)
	}
}

func TestAVenueThatWasRemovedLeavesNothingForEver(t *testing.T) {
	t.Parallel()
	e := natstest.Embed(t, "")
	o := testOptions(1)
	o.MaxAge = time.Second
	s := openWith(t, connect(t, e.URL()), o)
	venue := addVenue(t, s)
	if err := s.RemoveVenue(t.Context(), venue); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "its consumer has ended", func() bool {
		_, err := s.stream.Consumer(t.Context(), venue)
		return errors.Is(err, jetstream.ErrConsumerNotFound)
	})
}
