package relay

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/receiver"
)

func TestARequestThatCannotBeStoredIsTriedAgainAndNothingOvertakesIt(t *testing.T) {
	c, s := oneNode(t)
	venue := addVenue(t, s)
	b := newBox()
	failures := 0
	var src *Source
	b.fail = func(a Arrival) error {
		if a.ID != "1" || failures == 2 {
			return nil
		}
		if failures++; failures == 2 && src.Status().Err == nil {
			t.Error("the status does not say that an order cannot be stored")
		}
		return errDisk
	}
	b.mu.Lock() // until src is set
	src, _ = source(t, connect(t, c.URLs()...), venue, b)
	b.mu.Unlock()
	for i := range 4 {
		accept(t, s, request(venue, fmt.Sprint(i), "soup"))
	}
	for i, a := range b.wait(t, 4) {
		if a.ID != fmt.Sprint(i) {
			t.Errorf("request %d is %q", i, a.ID)
		}
	}
	if failures != 2 {
		t.Errorf("it failed %d times, want 2", failures)
	}
}

func TestWhatCanNeverBeTakenIsNotSentAgain(t *testing.T) {
	c, s := oneNode(t)
	venue := addVenue(t, s)
	b := newBox()
	tries := 0
	b.fail = func(a Arrival) error {
		if a.ID == "bad" {
			tries++
			return fmt.Errorf("parse it: %w\r\n", ErrNever)
		}
		return nil
	}
	accept(t, s, request(venue, "bad", "soup"))
	m, err := s.refusedMessage(receiver.Reject{Venue: venue, Code: string(receiver.InvalidJSON), Body: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	m.Data = []byte("no JSON")
	if _, err := s.js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	accept(t, s, request(venue, "good", "soup"))
	source(t, connect(t, c.URLs()...), venue, b)
	if took := b.wait(t, 1); took[0].ID != "good" || tries != 1 {
		t.Errorf("took %q after %d tries of the bad one, want the good one after 1", took[0].ID, tries)
	}
	waitFor(t, "nothing waits", func() bool {
		sites, err := s.Sites(t.Context())
		return err == nil && sites[0].Waiting == 0
	})
}

// TestAMessageWithoutOurHeadersIsTakenByItsBody: an order is not lost for a header.
func TestAMessageWithoutOurHeadersIsTakenByItsBody(t *testing.T) {
	c, s := oneNode(t)
	venue := addVenue(t, s)
	if _, err := s.js.Publish(t.Context(), subjectOf(venue, "a"), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	b := newBox()
	source(t, connect(t, c.URLs()...), venue, b)
	if a := b.wait(t, 1)[0]; string(a.Body) != "{}" || time.Since(a.Received).Abs() > testTime {
		t.Errorf("took %+v", a)
	}
}

// TestTheAgeOfARequestIsThatOfTheServersClocks: the box's may be years wrong, so it is not read. The time at which
// the relay received it is not either.
func TestTheAgeOfARequestIsThatOfTheServersClocks(t *testing.T) {
	stored := time.Date(2026, 3, 6, 19, 0, 0, 0, time.UTC)
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			what   string
			server time.Time
			want   time.Duration
		}{
			{"two hours", stored.Add(2 * time.Hour), 2*time.Hour + time.Second},
			{"a clock of another server that is behind", stored.Add(-time.Minute), 0},
		} {
			var s sourceState
			s.server, s.at = c.server, time.Now()
			time.Sleep(time.Second)
			if got := s.age(stored); got != c.want {
				t.Errorf("%s: %s, want %s", c.what, got, c.want)
			}
		}
	})
}

func TestTheAgeOfARequestIsNotReadFromTheClocksOfTheBoxOrTheRelay(t *testing.T) {
	c, s := oneNode(t)
	venue := addVenue(t, s)
	r := request(venue, "a", "soup")
	r.Received = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	accept(t, s, r)
	before := time.Now()
	b := newBox()
	source(t, connect(t, c.URLs()...), venue, b)
	a := b.wait(t, 1)[0]
	if a.Age <= 0 || a.Age > time.Since(before)+testTime || !a.Received.Equal(r.Received) {
		t.Errorf("received %s, age %s", a.Received, a.Age)
	}
}

func TestASourceAndTheRelayKnowHowFarABoxIsBehind(t *testing.T) {
	c, s := oneNode(t)
	venue, quiet := addVenue(t, s), addVenue(t, s)
	for i := range 3 {
		accept(t, s, request(venue, fmt.Sprint(i), "soup"))
	}
	site := func(id string) Site {
		var sites []Site
		patiently(t, func() (err error) {
			sites, err = s.Sites(t.Context())
			return err
		})
		for _, one := range sites {
			if one.Venue == id {
				return one
			}
		}
		t.Fatalf("%s is not in %+v", id, sites)
		return Site{}
	}
	got := site(venue)
	if got.Waiting != 3 || got.Oldest.IsZero() || !got.LastRequest.After(got.Oldest) || !got.Heard.IsZero() {
		t.Errorf("before the box: %+v", got)
	}
	if got := site(quiet); got != (Site{Venue: quiet}) {
		t.Errorf("a venue without requests: %+v", got)
	}
	b := newBox()
	var once sync.Once
	hold, held := make(chan struct{}), make(chan struct{})
	b.fail = func(a Arrival) error {
		if a.ID == "1" {
			once.Do(func() { close(held); <-hold })
		}
		return nil
	}
	src, _ := source(t, connect(t, c.URLs()...), venue, b)
	<-held
	st := src.Status()
	if !st.Connected || st.Server == "" || st.Behind != 2 || st.Since.IsZero() || st.Oldest <= 0 || st.Err != nil {
		t.Errorf("in the middle: %+v", st)
	}
	if now := site(venue); now.Waiting != 2 || !now.Oldest.After(got.Oldest) || !now.Oldest.Before(now.LastRequest) {
		t.Errorf("in the middle: %+v, before: %+v", now, got)
	}
	close(hold)
	b.wait(t, 3)
	waitFor(t, "nothing waits and the relay has a report", func() bool {
		st, got := src.Status(), site(venue)
		return st.Behind == 0 && st.Since.IsZero() && st.Oldest == 0 && !st.Taken.IsZero() && !st.Reported.IsZero() &&
			got.Waiting == 0 && got.Oldest.IsZero() && !got.LastRequest.IsZero() && !got.Heard.IsZero() &&
			got.Report == (Report{Version: "1.2.3", Waiting: 4})
	})
	c.Kill(0)
	waitFor(t, "the status says that no server is there", func() bool {
		st := src.Status()
		return !st.Connected && st.Err != nil
	})
}

func TestABoxWhoseVenueIsUnknownSaysSoAndWorksOnceItIsAdded(t *testing.T) {
	c, s := oneNode(t)
	venue := addVenue(t, s)
	if err := s.RemoveVenue(t.Context(), venue); err != nil {
		t.Fatal(err)
	}
	b := newBox()
	src, _ := source(t, connect(t, c.URLs()...), venue, b)
	waitFor(t, "the status says that the venue is unknown", func() bool {
		err := src.Status().Err
		return err != nil
	})
	if err := s.PutVenue(t.Context(), Venue{ID: venue}); err != nil {
		t.Fatal(err)
	}
	accept(t, s, request(venue, "a", "soup"))
	b.wait(t, 1)
}

// TestOnlyOneRequestOfAVenueIsWithItsBox: the setting on which the order over a crash stands.
func TestOnlyOneRequestOfAVenueIsWithItsBox(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	consumer, err := s.stream.Consumer(t.Context(), venue)
	if err != nil {
		t.Fatal(err)
	}
	got := consumer.CachedInfo().Config
	if got.MaxAckPending != 1 || got.MaxDeliver != -1 || got.AckPolicy != jetstream.AckExplicitPolicy ||
		got.AckWait != AckWait || got.InactiveThreshold != 0 {
		t.Errorf("the consumer is %+v", got)
	}
}

// TestAfterABoxCrashNothingOvertakesWhatItHad: the request that it had not stored is the first that the next one gets.
func TestAfterABoxCrashNothingOvertakesWhatItHad(t *testing.T) {
	t.Parallel()
	c, s := oneNode(t)
	venue := addVenue(t, s)
	for i := range 3 {
		accept(t, s, request(venue, fmt.Sprint(i), "soup"))
	}
	nc := connect(t, c.URLs()...)
	crashed := newBox()
	crashed.fail = func(Arrival) error {
		nc.Close() // before anything of it can be told
		return errDisk
	}
	_, stop := source(t, nc, venue, crashed)
	<-crashed.more
	stop()
	b := newBox()
	source(t, connect(t, c.URLs()...), venue, b)
	for i, a := range b.wait(t, 3) {
		if a.ID != fmt.Sprint(i) {
			t.Errorf("request %d is %q", i, a.ID)
		}
	}
}

// TestWhatTakesLongIsNotSentAgain: a box that takes longer than AckWait says that it still works, and stops saying so.
func TestWhatTakesLongIsNotSentAgain(t *testing.T) {
	t.Parallel()
	c, s := oneNode(t)
	venue := addVenue(t, s)
	acks, err := s.nc.SubscribeSync("$JS.ACK.>")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		accept(t, s, request(venue, id, "soup")) // after it, the server knows the subscription
	}
	b := newBox()
	said := map[string]int{} // of each message
	b.fail = func(a Arrival) error {
		for {
			m, err := acks.NextMsg(testTime)
			if err != nil {
				t.Errorf("while it takes %s the box says nothing: %v", a.ID, err)
				return nil
			}
			if string(m.Data) != "+WPI" {
				continue
			}
			if said[m.Subject]++; said[m.Subject] == 3 {
				return nil
			}
		}
	}
	source(t, connect(t, c.URLs()...), venue, b)
	b.wait(t, 2)
	for subject, n := range said {
		if n < 3 || n > 4 { // one more while the acknowledgement is under way
			t.Errorf("of %s it was said %d times that it is worked on, want 3: %v", subject, n, said)
		}
	}
}

// TestABoxThatStopsGivesItsRequestBack: the daemon that starts next need not wait.
func TestABoxThatStopsGivesItsRequestBack(t *testing.T) {
	c, s := oneNode(t)
	venue := addVenue(t, s)
	acks, err := s.nc.SubscribeSync("$JS.ACK.>")
	if err != nil {
		t.Fatal(err)
	}
	accept(t, s, request(venue, "a", "soup")) // after it, the server knows the subscription
	b := newBox()
	b.fail = func(Arrival) error { return errDisk }
	_, stop := source(t, connect(t, c.URLs()...), venue, b)
	<-b.more
	stop()
	for {
		m, err := acks.NextMsg(testTime)
		if err != nil {
			t.Fatal(err)
		}
		if string(m.Data) == "-NAK" {
			return
		}
	}
}
