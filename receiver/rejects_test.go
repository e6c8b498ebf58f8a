package receiver

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
)

// memory is a KV that forgets with the process.
type memory map[string][]byte

func (m memory) Put(_ context.Context, key string, value []byte) error { m[key] = value; return nil }
func (m memory) Delete(_ context.Context, key string) error            { delete(m, key); return nil }

func (m memory) All(f func(string, []byte) bool) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !f(k, m[k]) {
			break
		}
	}
	return nil
}

func openRejects(t *testing.T, kv KV) *Rejects {
	t.Helper()
	r, err := OpenRejects(kv, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheNewestRefusedBodiesAreKeptThroughARestart(t *testing.T) {
	kv := memory{"00000000000000000000": []byte("damaged")}
	for i := range MaxRejects + 5 {
		r := openRejects(t, kv)
		r.Keep(Reject{Message: fmt.Sprint(i), Body: []byte{byte(i)}})
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r := openRejects(t, kv)
	list := r.List()
	if len(list) != MaxRejects || len(kv) != MaxRejects+1 || list[0].ID != MaxRejects+5 || list[0].Message != "104" || list[MaxRejects-1].Message != "5" {
		t.Errorf("%d kept, %d stored, first %+v", len(list), len(kv), list[0])
	}
	_ = r.Close(t.Context())
}

func TestRefusedBodiesTogetherHaveALimit(t *testing.T) {
	kv := memory{}
	for range 3 {
		r := openRejects(t, kv)
		r.Keep(Reject{Body: make([]byte, maxRejectBytes/2)})
		_ = r.Close(t.Context())
	}
	r := openRejects(t, kv)
	if n := len(r.List()); n != 2 {
		t.Errorf("%d kept, want 2", n)
	}
	r.Keep(Reject{Body: make([]byte, 2*maxRejectBytes)}) // alone it is kept, however large
	_ = r.Close(t.Context())
	if list := r.List(); len(list) != 1 || list[0].ID != 4 {
		t.Errorf("%d kept", len(list))
	}
}
