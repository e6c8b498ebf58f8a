package relay

import (
	"net/http"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	store "ticketrail/receiver/relay"
)

// TestAnEntryOfTheBucketThatIsWrongCostsNoOtherVenue: a person or another version wrote it.
func TestAnEntryOfTheBucketThatIsWrongCostsNoOtherVenue(t *testing.T) {
	c := newCloud(t, 1)
	a := c.admin()
	if err := a.stream.PutVenue(t.Context(), store.Venue{ID: grill, Name: "Grill"}); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(a.nc)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(t.Context(), store.VenuesBucket)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"bar": `{"id":"bar"}`, "AAAAAAAA-1111-4111-8111-111111111111": `{"id":"AAAAAAAA-1111-4111-8111-111111111111"}`,
		"aaaaaaaa-1111-4111-8111-111111111111": `{"id":"aaaaaaaa-1111-4111-8111-111111111111"}`,
	} {
		if _, err := bucket.PutString(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	r := c.start(true)
	if status, _ := r.post(grill, "a", "Burger"); status != http.StatusOK {
		t.Errorf("an order is answered %d", status)
	}
}
