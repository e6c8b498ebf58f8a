package receiver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

func TestTheFieldsOfOrdersAreKeptThroughARestart(t *testing.T) {
	store := queuetest.NewStore()
	store.Set("another venue", "damaged")
	want := []Field{
		{Path: "records.items.note", Use: plan.Noise, As: "empty", Requests: 1, Newest: 1},
		{Path: "records.items.note", Use: plan.Read, As: "note", Example: "no ice", Requests: 2, Newest: 2},
		{Path: "records.items.wish", Use: plan.Unread, Example: "soon", Requests: 1, Newest: 1},
	}
	look := func(t *testing.T, s *Shapes, leaves ...plan.Leaf) {
		b := newTestbed(t, func(o *Options, p *Policy) {
			o.Shapes, p.Plan = s, leafPlan{p.Plan, func() []plan.Leaf { return leaves }}
		})
		for range 2 { // the second is a retry, and counts nothing
			if code := b.do(post([]byte(burger))).Code; code != http.StatusOK {
				t.Fatalf("answered %d", code)
			}
		}
		synctest.Wait()
	}
	synctest.Test(t, func(t *testing.T) {
		b := testbed{reg: prometheus.NewPedanticRegistry()}
		s := openShapes(t, store, b.reg)
		look(t, s, plan.Leaf{Path: "records.items.note", Use: plan.Read, As: "note", Example: "hot"},
			plan.Leaf{Path: "records.items.note", Use: plan.Noise, As: "empty"},
			plan.Leaf{Path: "records.items.wish", Use: plan.Unread, Example: "late"},
			plan.Leaf{Path: "records.items.wish", Use: plan.Unread, Example: "soon"})
		b.count(t, "ticketrail_receiver_unread_fields_total{records.items.wish Harbour Grill}", 1)
		if store.Writes() > 0 {
			t.Error("stored at once")
		}
		time.Sleep(storeShapes)
		synctest.Wait()
		if store.Writes() != 1 {
			t.Errorf("stored %d times in a minute", store.Writes())
		}
		look(t, s, plan.Leaf{Path: "records.items.note", Use: plan.Read, As: "note", Example: "no ice"})
	})
	synctest.Test(t, func(t *testing.T) {
		s := openShapes(t, store, nil)
		got := s.Of(venueID)
		if diff := cmp.Diff(want, got.Fields, cmpopts.IgnoreFields(Field{}, "Last")); diff != "" || got.Requests != 2 {
			t.Errorf("%d requests\n%s", got.Requests, diff)
		}
		if unread := got.Unread(); len(unread) != 1 || unread[0].Path != "records.items.wish" {
			t.Errorf("unread: %+v", unread)
		}
		s.Forget(func(f Field) bool { return f.Use == plan.Unread })
	})
	if strings.Contains(store.Value(venueID), "wish") {
		t.Error("a field that was forgotten is stored")
	}
}

func TestAFieldIsForgottenWhenNeither200RequestsNorADayHadIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openShapes(t, queuetest.NewStore(), nil)
		has := func(path string) bool {
			return strings.Contains(fmt.Sprint(s.Of(venueID).Fields), path)
		}
		lookAt(s, plan.Leaf{Path: "rare"})
		for range shapeRequests {
			lookAt(s, plan.Leaf{Path: "usual"})
		}
		if !has("rare") {
			t.Error("a field of this morning is forgotten after a busy evening")
		}
		time.Sleep(shapeTime)
		if lookAt(s, plan.Leaf{Path: "usual"}); has("rare") || !has("usual") {
			t.Errorf("after a day: %+v", s.Of(venueID).Fields)
		}
	})
}

func TestWhatARequestCallsItsFieldsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		s := openShapes(t, queuetest.NewStore(), reg)
		for range 2 {
			lookAt(s, plan.Leaf{Path: "usual", Use: plan.Read})
		}
		for i := range 5 {
			var leaves []plan.Leaf
			for j := range 2 * maxShapeFields {
				path := fmt.Sprintf("k%d.%03d\x00\x1b%s", i, j, strings.Repeat("x", 1000))
				leaves = append(leaves, plan.Leaf{Path: path, Use: plan.Unread, Example: "1"})
			}
			lookAt(s, leaves...)
		}
		fields := s.Of(venueID).Fields
		if usual := fields[len(fields)-1]; usual.Path != "usual" {
			t.Errorf("keys that differ in each order have pushed out the usual ones: %+v", usual)
		}
		if len(fields) != maxShapeFields || len(fields[0].Path) != maxPath || strings.Contains(fields[0].Path, "\x1b") {
			t.Errorf("%d fields, such as %q", len(fields), fields[0].Path)
		}
		b := testbed{reg: reg}
		if n := strings.Count(b.scrape(t), "unread_fields_total"); n != maxPathLabels+1 {
			t.Errorf("%d series", n)
		}
	})
}

func TestAnOrderWhoseFieldsCannotBeLookedAtIsAccepted(t *testing.T) {
	s := openShapes(t, queuetest.NewStore(), nil)
	b := newTestbed(t, func(o *Options, p *Policy) {
		o.Shapes, p.Plan = s, leafPlan{p.Plan, func() []plan.Leaf { panic("odd") }}
	})
	if code := b.do(post([]byte(burger))).Code; code != http.StatusOK {
		t.Errorf("answered %d", code)
	}
}

// A leafPlan finds the leaves that a test wants.
type leafPlan struct {
	Planner
	leaves func() []plan.Leaf
}

func (p leafPlan) Leaves(contract.PrintRequest) []plan.Leaf { return p.leaves() }

func lookAt(s *Shapes, leaves ...plan.Leaf) { s.look(plan.Venue{ID: venueID}, leaves) }

// openShapes closes them at the end of the test.
func openShapes(t *testing.T, store kv.Store, reg prometheus.Registerer) *Shapes {
	t.Helper()
	s, err := OpenShapes(store, slog.New(slog.DiscardHandler), reg)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(context.Background())) })
	return s
}
