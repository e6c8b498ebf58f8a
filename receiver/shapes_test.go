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

	"ticketrail/deploy/assert"
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
		assert.True(t, store.Writes() <= 0, "stored at once")
		time.Sleep(storeShapes)
		synctest.Wait()
		assert.Equal(t, store.Writes(), 1)
		look(t, s, plan.Leaf{Path: "records.items.note", Use: plan.Read, As: "note", Example: "no ice"})
	})
	synctest.Test(t, func(t *testing.T) {
		s := openShapes(t, store, nil)
		got := s.Of(venueID)
		diff := cmp.Diff(want, got.Fields, cmpopts.IgnoreFields(Field{}, "Last"))
		assert.True(t, diff == "" && got.Requests == 2, got.Requests, diff)
		unread := got.Unread()
		assert.True(t, len(unread) == 1 && unread[0].Path == "records.items.wish", unread)
		s.Forget(func(f Field) bool { return f.Use == plan.Unread })
	})
	assert.True(t, !strings.Contains(store.Value(venueID), "wish"), "a field that was forgotten is stored")
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
		assert.True(t, has("rare"), "a field of this morning is forgotten after a busy evening")
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
		usual := fields[len(fields)-1]
		assert.Equal(t, usual.Path, "usual", "keys that differ in each order have pushed out the usual ones", usual)
		assert.True(t, len(fields) == maxShapeFields && len(fields[0].Path) == maxPath &&
			!strings.Contains(fields[0].Path, "\x1b"), len(fields), fields[0].Path)
		b := testbed{reg: reg}
		assert.Equal(t, strings.Count(b.scrape(t), "unread_fields_total"), maxPathLabels+1)
	})
}

func TestAnOrderWhoseFieldsCannotBeLookedAtIsAccepted(t *testing.T) {
	s := openShapes(t, queuetest.NewStore(), nil)
	b := newTestbed(t, func(o *Options, p *Policy) {
		o.Shapes, p.Plan = s, leafPlan{p.Plan, func() []plan.Leaf { panic("odd") }}
	})
	assert.Equal(t, b.do(post([]byte(burger))).Code, http.StatusOK)
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
	assert.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}
