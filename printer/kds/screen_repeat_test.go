package kds

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/dispatch"
)

func TestADisplayThatFailsForAnHourGetsEachTicketOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newScreenHarness(t)
		defer k.stop()
		start := time.Now()
		var taken, order []string
		asked := 0
		p := newPush(t, func(w http.ResponseWriter, r *http.Request) {
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
		k.d.Set([]dispatch.Lane{{Name: "hot-line", Station: p}})
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

func TestAScreenWhosePageComesAndGoesHoldsNoTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, paper := newScreenHarness(t), &fakePrinter{}
		s := k.newScreen(paper)
		defer k.closeAll()
		k.order(1)
		for range 3 {
			leave := s.Join("deaf")
			time.Sleep(11 * time.Second)
			leave()
			time.Sleep(time.Second)
		}
		defer openPage(s, "a")()
		time.Sleep(10 * time.Second)
		if got := k.states(); got != "shown" {
			t.Errorf("%s, board %q", got, jobs(s.Board()))
		}
		if c, ok := s.Board().Card(1); !ok || c.Duplicate {
			t.Errorf("card %+v", c)
		}
	})
}
