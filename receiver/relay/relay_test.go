package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/relay/natstest"
)

// TestAcceptStoresARequestOnceAndAConflictBesideIt: the answers are as from the box's own queue.
func TestAcceptStoresARequestOnceAndAConflictBesideIt(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	id := uuid.NewString()
	for _, step := range []struct {
		what string
		r    ticket.Request
		want ticket.Receipt
	}{
		{"the first", request(venue, id, "soup"), ticket.Receipt{}},
		{"its retry", request(venue, id, "soup"), ticket.Receipt{Duplicate: true}},
		{"its id in capitals and another digest", request(venue, strings.ToUpper(id), "soup"),
			ticket.Receipt{Duplicate: true, Conflict: true}},
		{"other content", request(venue, id, "salad"), ticket.Receipt{Duplicate: true, Conflict: true}},
		{"other content again", request(venue, id, "salad"), ticket.Receipt{Duplicate: true}},
		{"the first content again", request(venue, id, "soup"), ticket.Receipt{Duplicate: true}},
		{"the same id at another venue", request(uuid.NewString(), id, "soup"), ticket.Receipt{}},
	} {
		wantReceipt(t, step.what, s, step.r, step.want)
	}
	b := runBox(t, openDoor(t, s), venue)
	var bodies []string
	for _, a := range b.wait(t, 3) {
		bodies = append(bodies, string(a.Body))
	}
	want := []string{string(request(venue, id, "soup").Body),
		string(request(venue, strings.ToUpper(id), "soup").Body), string(request(venue, id, "salad").Body)}
	if !slices.Equal(bodies, want) {
		t.Errorf("the box took\n%s\nwant\n%s", strings.Join(bodies, "\n"), strings.Join(want, "\n"))
	}
}

// TestHostileIDsAndDevicesArriveAsTheyWereSent: they are foreign text, in subjects and headers.
func TestHostileIDsAndDevicesArriveAsTheyWereSent(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	var sent []ticket.Request
	for i, id := range []string{
		">", "*", "a.b", "a b", "", "refused", "refused.x", "h" + strings.Repeat("0", 64), "x\r\nNats-Rollup: all\r\n",
		"\x00", "\xff\xfe", `"`, `\`, "日本", strings.Repeat("ä", 100), strings.Repeat("\xff", 200), " ", "\u2028",
		"00000000-0000-0000-0000-00000000000g",
	} {
		r := request(venue, id, "soup")
		r.Device = id + "\r\nTicketrail-Id: other"
		r.Body = []byte(fmt.Sprint(i))
		wantReceipt(t, fmt.Sprintf("%q", id), s, r, ticket.Receipt{})
		wantReceipt(t, fmt.Sprintf("%q again", id), s, r, ticket.Receipt{Duplicate: true})
		sent = append(sent, r)
	}
	b := runBox(t, openDoor(t, s), venue)
	for i, a := range b.wait(t, len(sent)) {
		r := sent[i]
		if a.ID != r.ID || a.Device != r.Device || !a.Received.Equal(r.Received) || !bytes.Equal(a.Body, r.Body) ||
			a.Refused != nil {
			t.Errorf("the box took %+v, sent was %q of %q at %s: %s", a, r.ID, r.Device, r.Received, r.Body)
		}
	}
}

// TestARefusedBodyGoesToItsBoxOnce: and another message does not.
func TestARefusedBodyGoesToItsBoxOnce(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	one := receiver.Reject{Time: time.Now().UTC(), Venue: venue, Device: "till\r\n1", Address: "192.0.2.1",
		Code: string(receiver.SchemaMismatch), Message: "records: missing", Body: []byte("{\"a\":\xff}")}
	conflict, caller := one, one
	conflict.Code = "conflict"
	caller.Body, caller.Code = nil, string(receiver.VenueNotAllowed)
	for _, r := range []receiver.Reject{conflict, caller, one, one} {
		s.Keep(r)
	}
	b := runBox(t, openDoor(t, s), venue)
	b.wait(t, 1)
	accept(t, s, request(venue, "last", "soup"))
	took := b.wait(t, 2)
	if len(took) != 2 || took[0].Refused == nil || took[1].ID != "last" {
		t.Fatalf("the box took %+v, want the refused body and the request after it", took)
	}
	got := *took[0].Refused
	if !got.Time.Equal(one.Time) || !bytes.Equal(got.Body, one.Body) || got.Code != one.Code ||
		got.Device != one.Device {
		t.Errorf("the box took %+v, want %+v", got, one)
	}
}

// TestARefusedFloodLeavesTheStreamToOrders: one sender must not fill the stream with bodies that cannot print.
func TestARefusedFloodLeavesTheStreamToOrders(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	start := time.Now()
	for i := range 10 * keepBurst / keepWork {
		s.Keep(receiver.Reject{Venue: venue, Code: string(receiver.InvalidJSON), Body: []byte(fmt.Sprint(i))})
	}
	accept(t, s, request(venue, "order", "soup"))
	state, err := s.State(t.Context())
	assert.NoError(t, err)
	most := uint64(1 + (keepBurst+float64(keepRate)*(time.Since(start).Seconds()+1))/keepWork)
	assert.True(t, state.Messages <= most, state.Messages, most)
}

func TestAFullStreamRefusesWhatIsNewAndKnowsWhatItHas(t *testing.T) {
	t.Parallel()
	c := cluster(t, 0) // a server alone refuses a known id before it says that it is full
	o := testOptions(3)
	o.MaxBytes = 64 << 10
	s := openWith(t, connect(t, urls(c)...), o)
	venue := addVenue(t, s)
	first := request(venue, "first", "soup")
	accept(t, s, first)
	big := request(venue, "big", strings.Repeat("x", 64<<10))
	try := func(r ticket.Request) error {
		ctx, cancel := context.WithTimeout(t.Context(), testTime)
		defer cancel()
		_, err := s.Accept(ctx, r)
		return err
	}
	err := try(big)
	assert.Equal(t, Classify(err), receiver.StorageFull, err)
	assert.True(t, !errors.Is(err, context.DeadlineExceeded), "it was tried until the time was over", err)
	for _, size := range []int{1000, 1} { // until nothing more fits, not even the retry of the first
		for i := 0; ; i++ {
			r := request(venue, fmt.Sprintf("%d-%d", size, i), strings.Repeat("x", size))
			if err = try(r); err != nil {
				break
			}
		}
		assert.Equal(t, Classify(err), receiver.StorageFull, err)
	}
	assert.True(t, accept(t, s, first).Duplicate, "a retry of what is stored is not known")
}

func TestWithoutAConnectionOpenSaysThatNoServerIsReached(t *testing.T) {
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true))
	assert.NoError(t, err)
	defer nc.Close()
	assert.Equal(t, New(nc, testOptions(1)).Open(t.Context()), errNoServer)
}

func TestAServerThatTakesOnlySmallBodiesIsRefusedAtTheStart(t *testing.T) {
	e, _ := oneNode(t)
	nc := connect(t, e.URL())
	o := testOptions(1)
	o.MaxBody = nc.MaxPayload()
	assert.Contains(t, fmt.Sprint(New(nc, o).Open(t.Context())), "max_payload")
	o.MaxBody = nc.MaxPayload() - headroom
	s := openWith(t, nc, o)
	venue := addVenue(t, s)
	r := request(venue, strings.Repeat("\xff", 200), "soup")
	r.Device, r.Body = strings.Repeat("\xff", 200), bytes.Repeat([]byte("x"), int(o.MaxBody))
	accept(t, s, r)
	b := runBox(t, openDoor(t, s), venue)
	if a := b.wait(t, 1)[0]; !bytes.Equal(a.Body, r.Body) || a.Device != r.Device {
		t.Errorf("%d bytes arrived, want the %d that were sent", len(a.Body), len(r.Body))
	}
	assert.True(t, accept(t, s, r).Duplicate, "the retry of the largest body is not known")
	s.Keep(receiver.Reject{Venue: venue, Code: string(receiver.BodyTooLarge), Body: r.Body})
	if a := b.wait(t, 2)[1]; a.Refused == nil || !a.Refused.Truncated {
		t.Errorf("of the largest refused body arrived %+v, want its beginning", a.Refused)
	}
}

func TestAStreamThatCannotBeMadeAsItMustBeIsAnErrorThatSaysWhatDiffers(t *testing.T) {
	_, s := oneNode(t)
	assert.Contains(t, fmt.Sprint(New(s.nc, testOptions(3)).Open(t.Context())), "Replicas is 1, want 3")

	assert.NoError(t, s.js.DeleteStream(t.Context(), StreamName))
	foreign := jetstream.StreamConfig{Name: StreamName, Subjects: []string{"x"}, Retention: jetstream.WorkQueuePolicy}
	_, err := s.js.CreateStream(t.Context(), foreign)
	assert.NoError(t, err)
	err = New(s.nc, testOptions(1)).Open(t.Context())
	assert.Contains(t, fmt.Sprint(err), "Retention is WorkQueue, want Limits")
}

// TestAnOldConfigurationOfARelayDeletesNoOrder: a stale copy had every order deleted that was older than its max_age.
func TestAnOldConfigurationOfARelayDeletesNoOrder(t *testing.T) {
	_, s := oneNode(t)
	have := testOptions(1)
	have.MaxBytes, have.Shrink = 4<<20, true // not more than a disk has that is nearly full
	openWith(t, s.nc, have)
	stale := testOptions(1)
	stale.MaxAge, stale.MaxBytes = time.Hour, 1<<20
	var log queuetest.Log
	stale.Logger = slog.New(slog.NewTextHandler(&log, nil))
	if err := New(s.nc, stale).Attach(t.Context()); err != nil { // as every command does
		t.Fatal(err)
	}
	s = openWith(t, s.nc, stale)
	state, err := s.State(t.Context())
	if err != nil || state.MaxAge != have.MaxAge || state.MaxBytes != have.MaxBytes {
		t.Errorf("the stream has %+v, %v, want the age and the size of before", state, err)
	}
	if want := "MaxBytes is 4194304, want 1048576, MaxAge is 72h0m0s, want 1h0m0s"; state.Differs != want ||
		!strings.Contains(log.String(), want) {
		t.Errorf("a status says %q, want %q, and the log\n%s", state.Differs, want, &log)
	}
	stale.Shrink = true
	s = openWith(t, s.nc, stale)
	state, err = s.State(t.Context())
	if err != nil || state.MaxAge != stale.MaxAge || state.MaxBytes != stale.MaxBytes || state.Differs != "" {
		t.Errorf("with --shrink the stream has %+v, %v", state, err)
	}
	larger := testOptions(1)
	s = openWith(t, s.nc, larger)
	if state, err = s.State(t.Context()); err != nil || state.MaxBytes != larger.MaxBytes ||
		state.MaxAge != larger.MaxAge {
		t.Errorf("a larger one has %+v, %v", state, err)
	}
}

// TestAStreamThatWouldForgetOrdersIsChangedAlsoIfItsDiskIsTooSmall for the size that is configured.
func TestAStreamThatWouldForgetOrdersIsChangedAlsoIfItsDiskIsTooSmall(t *testing.T) {
	e := natstest.Start(t, "", func(o *natstest.Options) { o.JetStreamMaxStore = 32 << 20 })
	nc := connect(t, e.URL())
	js, err := jetstream.New(nc)
	assert.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: StreamName, Subjects: []string{subjects + ".>"},
		Replicas: 1, MaxBytes: 1 << 20, Discard: jetstream.DiscardOld})
	assert.NoError(t, err)

	s := openWith(t, nc, testOptions(1))
	got := s.stream.CachedInfo().Config
	assert.True(t, got.Discard == jetstream.DiscardNew && got.MaxBytes == 1<<20, got.Discard, got.MaxBytes)
}

func TestAnErrorOfTheStreamIsAnswered503(t *testing.T) {
	e, s := oneNode(t)
	venue := addVenue(t, s)
	e.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := s.Accept(ctx, request(venue, "a", "soup"))
	assert.Equal(t, Classify(err), receiver.TooSlow, err)
	assert.Equal(t, Classify(errDisk), receiver.StorageFailed)
}

// TestTheServersHaveTheRulesOnWhichThePromisesStand: a 200, and the order over a crash of a box.
func TestTheServersHaveTheRulesOnWhichThePromisesStand(t *testing.T) {
	_, s := oneNode(t)
	stream, err := s.stream.Info(t.Context())
	assert.NoError(t, err)
	venue := addVenue(t, s)
	consumer, err := s.stream.Consumer(t.Context(), venue)
	assert.NoError(t, err)
	wantStream, wantConsumer := stream.Config, consumer.CachedInfo().Config // the rest is the servers'
	wantStream.Retention, wantStream.Storage = jetstream.LimitsPolicy, jetstream.FileStorage
	wantStream.Discard, wantStream.DiscardNewPerSubject, wantStream.MaxMsgsPerSubject = jetstream.DiscardNew, true, 1
	wantStream.DenyDelete, wantStream.DenyPurge = true, true
	wantStream.AllowDirect, wantStream.AllowRollup = false, false
	wantStream.MaxAge = testOptions(1).MaxAge
	wantConsumer.MaxAckPending, wantConsumer.MaxDeliver, wantConsumer.AckWait = 1, -1, AckWait
	wantConsumer.AckPolicy, wantConsumer.InactiveThreshold = jetstream.AckExplicitPolicy, 0
	if d := cmp.Diff(wantStream, stream.Config) + cmp.Diff(wantConsumer, consumer.CachedInfo().Config); d != "" {
		t.Error(d)
	}
}

// TestMoreRoomThanTheServersHaveIsRefusedAndTheLimitOfBeforeStays: a relay that does not start takes no orders.
func TestMoreRoomThanTheServersHaveIsRefusedAndTheLimitOfBeforeStays(t *testing.T) {
	nc := connect(t, urls(cluster(t, 8<<20))...)
	o := testOptions(3)
	o.MaxBytes = 16 << 20
	assert.Contains(t, fmt.Sprint(New(nc, o).Open(t.Context())), "nats.max_bytes is more than")
	o.MaxBytes = 4 << 20
	s := openWith(t, nc, o)
	venue := addVenue(t, s)
	var log queuetest.Log
	o.MaxBytes, o.Logger = 16<<20, slog.New(slog.NewTextHandler(&log, nil))
	s = openWith(t, nc, o)
	accept(t, s, request(venue, "a", "soup"))
	state, err := s.State(t.Context())
	if err != nil || state.MaxBytes != 4<<20 {
		t.Errorf("the stream has %+v, %v, want the limit of before", state, err)
	}
	assert.Contains(t, log.String(), "MaxBytes is 4194304, want 16777216")
}

func TestTheLogSaysOnceWhyRequestsCannotBeStored(t *testing.T) {
	e, _ := oneNode(t)
	var log queuetest.Log
	o := testOptions(1)
	o.MaxBytes, o.Shrink, o.Logger = 8<<10, true, slog.New(slog.NewTextHandler(&log, nil))
	s := openWith(t, connect(t, e.URL()), o)
	venue := addVenue(t, s)
	for i := range 3 {
		if _, err := s.Accept(t.Context(), request(venue, fmt.Sprint(i), strings.Repeat("x", 9<<10))); err == nil {
			t.Fatal("a full stream takes an order")
		}
	}
	accept(t, s, request(venue, "a", "soup"))
	assert.Equal(t, strings.Count(log.String(), "raise nats.max_bytes"), 1, &log)
}
