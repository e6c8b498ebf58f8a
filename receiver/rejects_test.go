package receiver

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
)

func TestRefusedBodiesAreKeptThroughARestart(t *testing.T) {
	store, bodies := queuetest.NewStore(), queuetest.NewStore()
	store.Set("00000000000000000000", "damaged")
	large := bytes.Repeat([]byte("0123456789abcdef"), maxRejectBody/16)
	for i, body := range [][]byte{[]byte("small"), large, append(large, 'x'), {}} {
		r := openRejectsWith(t, store, bodies)
		r.Keep(Reject{Message: fmt.Sprint(i), Body: body})
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r := openRejectsWith(t, store, bodies)
	_ = r.Close(t.Context())
	list := r.List()
	if len(list) != 4 || list[0].ID != 4 || list[3].Message != "0" || list[1].Body != nil || !list[1].Truncated ||
		list[2].Truncated {
		t.Errorf("%d kept: %+v", len(list), list)
	}
	r.wantBody(t, 1, []byte("small"))
	r.wantBody(t, 2, large)
	r.wantBody(t, 3, large)
	r.wantBody(t, 4, nil)
	if _, err := r.Get(5); !errors.Is(err, ErrNoReject) {
		t.Errorf("of one that is not there: %v", err)
	}
}

func TestABodyThatAnEarlierVersionStoredIsRead(t *testing.T) {
	// Earlier versions stored the body in the entry.
	store := queuetest.NewStore()
	store.Set(rejectKey(7), `{"id":7,"time":"2026-11-20T19:30:00Z","venue":"v","code":"invalid_json","body":"eA=="}`)
	r := openRejects(t, store)
	_ = r.Close(t.Context())
	r.wantBody(t, 7, []byte("x"))
	if err := r.MarkPrinted(t.Context(), 7, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	r = openRejects(t, store)
	_ = r.Close(t.Context())
	r.wantBody(t, 7, []byte("x"))
	if list := r.List(); !list[0].Printed.Equal(time.Unix(1, 0)) || list[0].Size != 1 {
		t.Errorf("%+v", list)
	}
}

func TestAFloodOfAVenueOrOfAReasonDropsNothingOfOthers(t *testing.T) {
	for name, flood := range map[string]Reject{
		"a venue":         {Venue: "b", Code: "schema_mismatch", Body: []byte("flood")},
		"a reason":        {Venue: "a", Code: "content_type", Body: []byte("flood")},
		"a venue of size": {Venue: "b", Code: "schema_mismatch", Body: make([]byte, maxRejectBody/4)},
	} {
		t.Run(name, func(t *testing.T) {
			store, bodies := queuetest.NewStore(), queuetest.NewStore()
			r := openRejectsWith(t, store, bodies)
			keep := func(one Reject) {
				added, dropped := r.add(one)
				if err := r.put(added, one.Body, dropped); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 40 {
				keep(Reject{Venue: "a", Code: "invalid_json", Body: fmt.Append(nil, i)})
			}
			for range MaxRejects + 100 {
				keep(flood)
			}
			_ = r.Close(t.Context())
			for i := range 40 {
				r.wantBody(t, uint64(i+1), fmt.Append(nil, i))
			}
			list, pieces := r.List(), 0
			for _, one := range list {
				pieces += (one.Size + rejectPiece - 1) / rejectPiece
			}
			if want := min(MaxRejects, 40+maxRejectBytes/len(flood.Body)); len(list) > want || len(list) < want-1 {
				t.Errorf("%d are kept, want %d", len(list), want)
			}
			if len(store.Keys()) != len(list) || len(bodies.Keys()) != pieces {
				t.Errorf("%d entries and %d pieces are stored, want %d and %d", len(store.Keys()), len(bodies.Keys()),
					len(list), pieces)
			}
		})
	}
}

func TestOfTwoFloodsEachVenueKeepsItsShare(t *testing.T) {
	r := openRejects(t, queuetest.NewStore())
	for range 600 {
		r.add(Reject{Venue: "a", Body: []byte("a")})
	}
	for range MaxRejects + 100 {
		r.add(Reject{Venue: "b", Body: []byte("b")})
	}
	_ = r.Close(t.Context())
	of := map[string]int{}
	for _, one := range r.List() {
		of[one.Venue]++
	}
	if of["a"] != MaxRejects/2 || of["b"] != MaxRejects/2 {
		t.Errorf("kept %v", of)
	}
}

func TestEachBodyThatIsNotKeptIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		store, bodies := queuetest.NewStore(), queuetest.NewStore()
		r, err := OpenRejects(store, bodies, slog.New(slog.DiscardHandler), reg)
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		r.mu.Lock() // the writer waits for it
		go func() { <-release; r.mu.Unlock() }()
		for range 5 { // two of them wait
			r.Keep(Reject{Body: make([]byte, maxRejectBody)})
		}
		close(release)
		synctest.Wait()
		bodies.Inject(queuetest.Failed)
		r.Keep(Reject{Body: []byte("x")})
		_ = r.Close(t.Context())
		got := ""
		families, _ := reg.Gather()
		for _, m := range families[0].GetMetric() {
			got += fmt.Sprint(m.GetLabel()[0].GetValue(), " ", m.GetCounter().GetValue(), ", ")
		}
		if got != "busy 3, share 0, storage 1, " {
			t.Errorf("counted %s", got)
		}
		if list := r.List(); len(list) != 3 {
			t.Errorf("%d listed", len(list))
		}
		if _, err := r.Get(3); err == nil || !strings.Contains(err.Error(), "could not be stored") {
			t.Errorf("its body: %v", err)
		}
	})
}

func openRejects(t *testing.T, store kv.Store) *Rejects {
	t.Helper()
	return openRejectsWith(t, store, queuetest.NewStore())
}

func openRejectsWith(t *testing.T, store, bodies kv.Store) *Rejects {
	t.Helper()
	r, err := OpenRejects(store, bodies, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Rejects) wantBody(t *testing.T, id uint64, want []byte) {
	t.Helper()
	one, err := r.Get(id)
	if err != nil || !bytes.Equal(one.Body, want) {
		t.Errorf("of %d there are %d bytes, want %d, %v", id, len(one.Body), len(want), err)
	}
}
