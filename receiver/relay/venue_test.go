package relay

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay/natstest"
	"ticketrail/receiver/source"
)

func TestEveryRelayHearsOfAVenueThatIsAddedChangedOrRemoved(t *testing.T) {
	e, s := oneNode(t)
	other := openDoor(t, openStream(t, connect(t, e.URL()), 1))
	want := func(what string, want ...VenueEntry) {
		t.Helper()
		select {
		case <-other.Changed():
		case <-time.After(testTime):
			t.Fatalf("%s: not heard", what)
		}
		got, err := venues(t, other.stream)
		byID := cmpopts.SortSlices(func(a, b VenueEntry) bool { return a.ID < b.ID })
		if d := cmp.Diff(want, got, byID); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", what, err, d)
		}
	}
	put := func(v VenueEntry) {
		t.Helper()
		assert.NoError(t, s.PutVenue(t.Context(), v))
	}
	first := VenueEntry{ID: uuid.NewString()}
	put(first)
	want("added", first)
	full := VenueEntry{ID: uuid.NewString(), Name: "Bar", Timezone: "Europe/Rome",
		Devices: []string{"d"}, Hours: []string{"Mo-Su 10:00-23:00"}, Token: "t"}
	put(full)
	want("added with all fields", first, full)
	first.Token = "new"
	put(first)
	want("changed", first, full)

	for i, entry := range []string{"", "no JSON", `{"id":"` + full.ID + `"}`} { // consumers of somebody else
		foreign := consumerOf(VenueEntry{ID: fmt.Sprint("foreign-", i)})
		foreign.Metadata = map[string]string{entryKey: entry}
		if _, err := s.stream.CreateConsumer(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
	}
	assert.NoError(t, s.RemoveVenue(t.Context(), first.ID))
	want("removed", full)
	assert.True(t, s.RemoveVenue(t.Context(), uuid.NewString()) != nil, "no venue was removed without an error")
}

// TestARelayLooksAtTheVenuesAfterItWasCutOff: nothing was heard meanwhile.
func TestARelayLooksAtTheVenuesAfterItWasCutOff(t *testing.T) {
	e, s := oneNode(t)
	d := openDoor(t, s)
	e.Stop()
	e.Start()
	select {
	case <-d.Changed():
	case <-time.After(testTime):
		t.Error("it does not")
	}
}

// TestAVenueThatIsAddedAgainGetsNothingTwice: its new box does not know the tickets that the one before has printed.
func TestAVenueThatIsAddedAgainGetsNothingTwice(t *testing.T) {
	s, venue, d := oneVenue(t)
	first := newBox()
	_, stop := first.run(t, d, venue)
	accept(t, s, request(venue, "a", "soup"))
	first.wait(t, 1)
	stop()
	accept(t, s, request(venue, "b", "soup"))
	assert.NoError(t, s.RemoveVenue(t.Context(), venue))
	sites, removed, err := s.Sites(t.Context(), nil)
	if len(sites) > 0 || !slices.Equal(removed, []string{venue}) || err != nil {
		t.Errorf("there are %v, and %v was removed: %v", sites, removed, err)
	}
	d.letIn(t)
	d.wantStatus(t, http.StatusUnauthorized, "HEAD", source.PathNext, tokenOf(venue), "")
	assert.NoError(t, s.PutVenue(t.Context(), VenueEntry{ID: venue, Token: Hash(tokenOf(venue))}))
	d.letIn(t)
	accept(t, s, request(venue, "c", "soup"))
	second := runBox(t, d, venue)
	if took := second.wait(t, 2); took[0].ID != "b" || took[1].ID != "c" {
		t.Errorf("the new box got %+v", took)
	}
}

func TestAVenueThatWasRemovedLeavesNothingForEver(t *testing.T) {
	slow.Test(t) // it waits until messages are too old
	t.Parallel()
	e := natstest.Start(t, "")
	o := testOptions(1)
	o.MaxAge = time.Second
	s := openWith(t, connect(t, e.URL()), o)
	venue := addVenue(t, s)
	assert.NoError(t, s.RemoveVenue(t.Context(), venue))
	waitFor(t, "its consumer has ended", func() bool {
		_, err := s.stream.Consumer(t.Context(), venue)
		return errors.Is(err, jetstream.ErrConsumerNotFound)
	})
}
