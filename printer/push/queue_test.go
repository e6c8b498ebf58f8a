package push

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// A kitchen is a real queue with a dispatcher, and the orders that were sent to the station fresh.
type kitchen struct {
	t      testing.TB
	q      *queue.Queue
	d      *dispatch.Dispatcher
	orders int
}

// newKitchen stores its queue in the folder dir.
func newKitchen(t testing.TB, dir string) *kitchen {
	t.Helper()
	q, err := queue.Open(queue.Options{Path: filepath.Join(dir, "ticketrail.db"), Reserve: -1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	q.SetStations([]string{"fresh", "grill"})
	return &kitchen{t: t, q: q, d: dispatch.New(dispatch.Options{Queue: dispatch.From(q)})}
}

func (k *kitchen) stop() {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.d.Stop(ctx); err != nil {
		k.t.Error(err)
	}
	if n := k.q.Unaccounted(); n != 0 {
		k.t.Errorf("%d jobs are unaccounted for", n)
	}
	if err := k.q.Close(); err != nil {
		k.t.Error(err)
	}
}

// order sends n orders. Their numbers count from 1, and so do their jobs.
func (k *kitchen) order(n int) {
	k.t.Helper()
	for range n {
		k.orders++
		d := order(uint64(k.orders), fmt.Sprintf("Burger %d", k.orders))
		_, err := k.q.Accept(context.Background(), ticket.Request{
			Venue: d.Ticket.Venue, ID: d.Ticket.Request, Device: "d", Received: time.Now().UTC(), Body: []byte("{}"),
			Digest: [32]byte{byte(k.orders)}, Drafts: []ticket.Draft{{Station: "fresh", Ticket: d.Ticket}},
		})
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

// states are the states of all jobs, the oldest first.
func (k *kitchen) states() string {
	k.t.Helper()
	all := k.jobs()
	slices.Reverse(all)
	var out []string
	for _, j := range all {
		out = append(out, string(j.State))
	}
	return strings.Join(out, " ")
}

func TestADisplayThatFailsForAnHourGetsEachTicketOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen(t, t.TempDir())
		defer k.stop()
		start := time.Now()
		var taken, order []string
		asked := 0
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			asked++
			key := r.Header.Get("Idempotency-Key")
			if !slices.Contains(order, key) {
				order = append(order, key)
			}
			if time.Since(start) < time.Hour {
				w.WriteHeader([]int{500, 429, 503, 408, 502}[asked%5])
				return
			}
			taken = append(taken, key)
		})
		k.d.Set([]dispatch.Lane{{Name: "fresh", Station: p}})
		k.order(5)
		time.Sleep(2 * time.Hour)
		if got := k.states(); got != "taken taken taken taken taken" {
			t.Error(got)
		}
		if diff := cmp.Diff(order, taken); diff != "" || len(taken) != 5 {
			t.Errorf("keys (-asked +taken):\n%s", diff)
		}
		for i, key := range taken {
			if !strings.HasPrefix(key, fmt.Sprint(i+1, "-")) {
				t.Errorf("ticket %d has key %s", i+1, key)
			}
		}
	})
}
