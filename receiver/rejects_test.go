package receiver

import (
	"fmt"
	"log/slog"
	"testing"

	"ticketrail/queue/kv"
	"ticketrail/queue/kv/kvtest"
)

func openRejects(t *testing.T, store kv.Store) *Rejects {
	t.Helper()
	r, err := OpenRejects(store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheNewestRefusedBodiesAreKeptThroughARestart(t *testing.T) {
	store := kvtest.New()
	store.Set("00000000000000000000", "damaged")
	for i := range MaxRejects + 5 {
		r := openRejects(t, store)
		r.Keep(Reject{Message: fmt.Sprint(i), Body: []byte{byte(i)}})
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r := openRejects(t, store)
	list := r.List()
	if len(list) != MaxRejects || len(store.Keys()) != MaxRejects+1 || list[0].ID != MaxRejects+5 ||
		list[0].Message != "104" || list[MaxRejects-1].Message != "5" {
		t.Errorf("%d kept, %d stored, first %+v", len(list), len(store.Keys()), list[0])
	}
	_ = r.Close(t.Context())
}

func TestRefusedBodiesTogetherHaveALimitAndOutliveARestart(t *testing.T) {
	store, most := kvtest.New(), maxRejectBytes/maxRejectBody
	for i := range most + 2 {
		r := openRejects(t, store)
		r.Keep(Reject{Body: make([]byte, maxRejectBody+i%2)}) // every second one is too large
		_ = r.Close(t.Context())
	}
	r := openRejects(t, store)
	_ = r.Close(t.Context())
	list := r.List()
	if len(list) != most || list[0].ID != uint64(most+2) {
		t.Fatalf("%d kept, want %d", len(list), most)
	}
	for _, one := range list {
		if len(one.Body) != maxRejectBody || one.Truncated != (one.ID%2 == 0) {
			t.Errorf("of %d there are %d bytes, truncated %v", one.ID, len(one.Body), one.Truncated)
		}
	}
}
