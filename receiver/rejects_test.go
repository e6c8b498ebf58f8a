package receiver

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/deploy/assert"
	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
)

func TestRefusedBodiesAreKeptThroughARestart(t *testing.T) {
	store, bodies := queuetest.NewStore(), queuetest.NewStore()
	store.Set("00000000000000000000", "damaged")
	large := bytes.Repeat([]byte("0123456789abcdef"), maxRejectBody/16)
	for i, body := range [][]byte{[]byte("small"), large, append(large, 'x'), {}} {
		r := openRejects(t, store, bodies)
		r.Keep(Reject{Message: fmt.Sprint(i), Body: body})
		assert.NoError(t, r.Close(t.Context()))
	}
	r := openRejects(t, store, bodies)
	assert.NoError(t, r.MarkPrinted(t.Context(), 1, time.Unix(1, 0)))
	err := r.MarkPrinted(t.Context(), 5, time.Unix(1, 0))
	assert.True(t, errors.Is(err, ErrNoReject), "of one that is not there", err)
	_ = r.Close(t.Context())

	r = openRejects(t, store, bodies)
	_ = r.Close(t.Context())
	list := r.List()
	assert.True(t, list[3].Printed.Equal(time.Unix(1, 0)) && list[2].Printed.IsZero(),
		"what was printed is not known after a restart", list)
	assert.True(t, len(list) == 4 && list[0].ID == 4 && list[3].Message == "0" && list[1].Body == nil &&
		list[1].Truncated && !list[2].Truncated, len(list), list)
	r.wantBody(t, 1, []byte("small"))
	r.wantBody(t, 2, large)
	r.wantBody(t, 3, large)
	r.wantBody(t, 4, nil)
	_, err = r.Get(5)
	assert.True(t, errors.Is(err, ErrNoReject), "of one that is not there", err)
}

func TestWhatWasSentWithTheSecretIsDroppedLastAndAnOrderAfterWhatIsLarge(t *testing.T) {
	slow := Reject{Code: "content_type", Body: make([]byte, 900_000)}
	for name, c := range map[string]struct {
		order, flood Reject
		n, kept      int
	}{
		"80 slow requests of 0.9 MB": {Reject{}, slow, 80, maxRejectBytes / len(slow.Body)},
		"small ones":                 {Reject{Secret: true}, Reject{Body: []byte("x")}, 1100, MaxRejects - 1},
		"large ones with the secret": {Reject{Secret: true}, Reject{Secret: true, Body: slow.Body}, 80,
			maxRejectBytes / len(slow.Body)},
		"larger orders with the secret": {Reject{Secret: true, Body: make([]byte, maxRejectBody-10)}, slow, 80,
			(maxRejectBytes - maxRejectBody) / len(slow.Body)},
	} {
		t.Run(name, func(t *testing.T) {
			store, bodies := queuetest.NewStore(), queuetest.NewStore()
			r := openRejects(t, store, bodies)
			_ = r.Close(t.Context())
			order := append(c.order.Body, "order"...)
			keep := func(one Reject) {
				assert.NoError(t, r.keep(one, false))
			}
			keep(Reject{Secret: c.order.Secret, Body: order})
			for range c.n {
				keep(c.flood)
			}
			r.wantBody(t, 1, order)
			list, pieces := r.List(), 0
			for _, one := range list {
				pieces += (one.Size + rejectPiece - 1) / rejectPiece
			}
			assert.True(t, len(list) == c.kept+1 && len(store.Keys()) == len(list) && len(bodies.Keys()) == pieces,
				len(list), c.kept+1, len(store.Keys()), len(bodies.Keys()))
		})
	}
}

func TestABodyWithoutTheSecretHasNoRoomBesideThoseThatHaveIt(t *testing.T) {
	r := openRejects(t, queuetest.NewStore(), queuetest.NewStore())
	_ = r.Close(t.Context())
	for i := range MaxRejects + 2 {
		assert.NoError(t, r.keep(Reject{Secret: i < MaxRejects, Body: fmt.Append(nil, i)}, false))
	}
	list := r.List()
	assert.True(t, len(list) == MaxRejects && list[0].Secret, len(list), list[0])
}

func TestEachBodyThatIsNotKeptIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		store, bodies := queuetest.NewStore(), queuetest.NewStore()
		r, err := OpenRejects(store, bodies, slog.New(slog.DiscardHandler), reg)
		assert.NoError(t, err)
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
		assert.Equal(t, got, "busy 3, old 0, storage 1, ")
		assert.Equal(t, len(r.List()), 2)
	})
}

func openRejects(t *testing.T, store, bodies kv.Store) *Rejects {
	t.Helper()
	r, err := OpenRejects(store, bodies, slog.New(slog.DiscardHandler), nil)
	assert.NoError(t, err)
	return r
}

func (r *Rejects) wantBody(t *testing.T, id uint64, want []byte) {
	t.Helper()
	one, err := r.Get(id)
	assert.True(t, err == nil && bytes.Equal(one.Body, want), id, len(one.Body), len(want), err)
}
