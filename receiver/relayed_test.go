package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

func TestARelayedRequestIsTheSameRequestAsOneThatIsPosted(t *testing.T) {
	before := time.Now()
	b := newTestbed(t, func(o *Options, _ *Policy) { o.LastRequests = map[string]time.Time{"x": before} })
	if receipt, err := b.Relay(t.Context(), relayed(burger)); err != nil || receipt.Duplicate || receipt.Jobs != 1 {
		t.Fatalf("%+v, %v", receipt, err)
	}
	relayedAt := b.LastRequest(venueID)
	b.lastRequests.Delete(venueID)
	b.do(post([]byte(burger)))
	assert.True(t, !relayedAt.Before(before) && !b.LastRequest(venueID).Before(before) &&
		b.LastRequest("x").Equal(before), "heard at", relayedAt, b.LastRequest(venueID))
	other := strings.Replace(burger, "Cheeseburger", "Steak", 1)
	receipt, err := b.Relay(t.Context(), relayed(other))
	assert.True(t, err == nil && receipt.Conflict, "other content", receipt, err)
	all := b.intake.requests()
	if len(all) != 1 {
		t.Fatalf("%d stored", len(all))
	}
	got := all[0]
	assert.True(t, got.Age == 2*time.Hour && got.Received.Equal(relayed("").Received) && got.Device == device &&
		got.Venue == venueID && string(got.Body) == burger && got.Drafts[0].Ticket.Received.Equal(got.Received), got)
	b.count(t, "ticketrail_receiver_requests_total{200 stored}", 1)
	b.count(t, "ticketrail_receiver_requests_total{200 duplicate}", 1)
	b.count(t, "ticketrail_receiver_requests_total{200 conflict}", 1)
	b.count(t, "ticketrail_receiver_request_seconds", 1) // the time at the relay is no answer of this box
	kept := b.rejected()
	assert.True(t, len(kept) == 1 && kept[0].Code == "conflict" && string(kept[0].Body) == other, kept)
	log := b.log.String()
	assert.Equal(t, strings.Count(log, "request accepted"), 3, log)
}

func TestWhatARelayHasAcceptedIsTakenWhateverTheBoxWouldRefuse(t *testing.T) {
	b := newTestbed(t, func(_ *Options, p *Policy) {
		p.Mode, p.MaxBody, p.Venues[0].Devices = contract.Strict, 1000, []string{device}
	})
	one := relayed(requestOfItems("no-uuid", 1) + strings.Repeat(" ", 1000))
	one.Device = "a device that only the relay knows"
	_, err := b.Relay(t.Context(), one)
	assert.True(t, err == nil, err)
	b.want(t, post([]byte(requestOfItems("other", 1))), 400)
}

func TestARelayedRequestThatCannotBePrintedIsReturnedToBeKept(t *testing.T) {
	b := newTestbed(t, nil)
	b.intake.accept = func(_ context.Context, r ticket.Request) (ticket.Receipt, error) {
		if r.ID == "boom" {
			panic(r.ID)
		}
		return ticket.Receipt{}, nil
	}
	for code, one := range map[Code]Relayed{
		InvalidJSON:    relayed("\x1b order 18"),
		SchemaMismatch: relayed(`{"records":[{"id":"x","items":{}}]}`),
		Internal:       relayed(requestOfItems("boom", 1)),
	} {
		_, err := b.Relay(t.Context(), one)
		r, ok := errors.AsType[*Refused](err)
		assert.True(t, ok && r.Code == string(code) && bytes.Equal(r.Body, one.Body) && r.Venue == venueID &&
			r.Device == one.Device && r.Time.Equal(one.Received) && !r.Fetched.IsZero() && r.Error() != "", code, r,
			err)
	}
	b.count(t, "ticketrail_receiver_requests_total{400 schema_mismatch}", 1)
	b.count(t, "ticketrail_receiver_requests_total{500 internal}", 1)
	log := b.log.String()
	assert.True(t, strings.Count(log, "request refused") == 3 && strings.Contains(log, "relayed_test.go"), log)
}

func TestARelayedRequestThatMayBeTakenLaterIsNotRefused(t *testing.T) {
	b := newTestbed(t, nil)
	full := errors.New("the disk is full")
	b.intake.accept = func(context.Context, ticket.Request) (ticket.Receipt, error) { return ticket.Receipt{}, full }
	_, err := b.Relay(t.Context(), relayed(requestOfItems("a", 1)))
	_, refused := errors.AsType[*Refused](err)
	assert.True(t, !refused && errors.Is(err, full), "a full disk", err)
	unknown := relayed(requestOfItems("a", 1))
	unknown.Venue = "00000000-0000-4000-8000-000000000001"
	_, err = b.Relay(t.Context(), unknown)
	_, isRefused := errors.AsType[*Refused](err)
	assert.True(t, !isRefused && err != nil && strings.Contains(err.Error(), "under venues"), "an unknown venue", err)
	b.count(t, "ticketrail_receiver_requests_total{503 storage_failed}", 0)
}

func TestNeitherAStopNorMuchWorkInterruptsARelayedRequestAndAHungDiskDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := 5 * time.Second // the next requests of the venue wait until it is taken
		b := newTestbed(t, func(_ *Options, p *Policy) {
			p.Plan, p.RespondWithin = oddPlan{p.Plan, func(contract.PrintRequest) { time.Sleep(work) }}, 4*time.Second
		})
		b.intake.acceptAfter(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.Relay(ctx, relayed(requestOfItems("a", 1)))
		assert.True(t, err == nil, "at a stop", err)

		b.intake.acceptAfter(time.Hour)
		start := time.Now()
		_, err = b.Relay(ctx, relayed(requestOfItems("b", 1)))
		assert.True(t, errors.Is(err, context.DeadlineExceeded) && time.Since(start) == work+4*time.Second,
			time.Since(start), err)
		time.Sleep(time.Hour)
	})
}

func TestABodyThatIsStoredIsOnTheDiskOnceOrNotInTheList(t *testing.T) {
	store, bodies := queuetest.NewStore(), queuetest.NewStore()
	r := openRejects(t, store, bodies)
	one := Reject{Time: relayed("").Received, Venue: venueID, Code: "schema_mismatch", Body: []byte("x")}
	bodies.Inject(queuetest.Failed)
	if err := r.Store(t.Context(), one); !errors.Is(err, queuetest.ErrStorage) || len(r.List()) > 0 {
		t.Fatalf("%v, %d in the list", err, len(r.List()))
	}
	bodies.Inject(queuetest.None)
	store.Inject(queuetest.Failed)
	var said []string
	for range 3 {
		said = append(said, fmt.Sprint(r.Store(t.Context(), one)))
	}
	if said = slices.Compact(said); len(said) != 1 { // each would be a line of the log
		t.Errorf("the same failure is told as %q", said)
	}
	store.Inject(queuetest.None)
	for range 2 { // the relay sends it again if the box crashed before it said that it has it
		assert.NoError(t, r.Store(t.Context(), one))
	}
	if list := r.List(); len(list) != 1 || !slices.Contains(store.Keys(), rejectKey(list[0].ID)) ||
		len(bodies.Keys()) != 1 {
		t.Errorf("kept %+v as %q, with pieces of bodies %q", list, store.Keys(), bodies.Keys())
	} else {
		r.wantBody(t, list[0].ID, one.Body)
	}
	for i := range MaxRejects - 1 {
		at := one.Time.Add(time.Duration(i+1) * time.Second)
		more := Reject{Time: at, Venue: venueID, Code: "x", Body: []byte("x")}
		assert.NoError(t, r.Store(t.Context(), more))
	}
	bodies.Inject(queuetest.Failed)
	one.Code = "x"
	err := r.Store(t.Context(), one)
	assert.True(t, err != nil && len(r.List()) == MaxRejects, err, len(r.List()))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = r.Close(t.Context())
	assert.True(t, err == nil, err)
	r.in, r.done = nil, nil // never read
	err = r.Store(ended, one)
	assert.True(t, errors.Is(err, context.Canceled) && r.waiting.Load() == 0, err, r.waiting.Load())
}

func relayed(body string) Relayed {
	return Relayed{Venue: venueID, Device: device, Received: time.Date(2026, 11, 20, 8, 32, 0, 1, time.UTC),
		Age: 2 * time.Hour, Body: []byte(body)}
}
