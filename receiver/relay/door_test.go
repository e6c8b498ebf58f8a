package relay

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

func TestARequestThatCannotBeStoredIsTriedAgainAndNothingOvertakesIt(t *testing.T) {
	slow.Test(t) // it waits for a retry
	t.Parallel()
	_, s := oneNode(t)
	venue := addVenue(t, s)
	b := newBox()
	failures := 0
	b.fail = func(a source.Arrival) error {
		if a.ID != "1" || failures == 2 {
			return nil
		}
		failures++
		return errDisk
	}
	for i := range 4 {
		accept(t, s, request(venue, fmt.Sprint(i), "soup"))
	}
	b.run(t, openDoor(t, s), venue)
	wantInOrder(t, b.wait(t, 4))
	assert.Equal(t, failures, 2)
}

func TestWhatCanNeverBeTakenIsNotSentAgain(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	b := newBox()
	tries := 0
	b.fail = func(a source.Arrival) error {
		if a.ID == "good" {
			return nil
		}
		tries++
		return fmt.Errorf("parse it: %w\r\n", source.ErrNever)
	}
	accept(t, s, request(venue, "bad", "soup"))
	m, err := s.refusedMessage(receiver.Reject{Venue: venue, Code: string(receiver.InvalidJSON), Body: []byte("x")})
	assert.NoError(t, err)
	m.Data = []byte("no JSON")
	if _, err := s.js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	accept(t, s, request(venue, "good", "soup"))
	b.run(t, openDoor(t, s), venue)
	if took := b.wait(t, 1); took[0].ID != "good" || tries != 2 {
		t.Errorf("took %q after %d tries, want the good one after 1 of each of the two bad ones", took[0].ID, tries)
	}
	siteOf(t, s, nil, venue, 0)
}

// TestAMessageWithoutOurHeadersIsTakenByItsBody: an order is not lost for a header.
func TestAMessageWithoutOurHeadersIsTakenByItsBody(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	if _, err := s.js.Publish(t.Context(), subjectOf(venue, "a"), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	b := runBox(t, openDoor(t, s), venue)
	if a := b.wait(t, 1)[0]; string(a.Body) != "{}" || time.Since(a.Received).Abs() > testTime {
		t.Errorf("took %+v", a)
	}
}

// TestTheAgeOfARequestIsThatOfTheServersClocks: the clocks of the box and of the relay may be years wrong.
func TestTheAgeOfARequestIsThatOfTheServersClocks(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	r := request(venue, "a", "soup")
	r.Received = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	before := time.Now()
	accept(t, s, r)
	b := runBox(t, openDoor(t, s), venue)
	a := b.wait(t, 1)[0]
	if a.Age < 0 || a.Age > time.Since(before) || !a.Received.Equal(r.Received) {
		t.Errorf("received %s, age %s", a.Received, a.Age)
	}
}

func TestTheRelaysAndTheBoxKnowHowFarItIsBehind(t *testing.T) {
	_, s := oneNode(t)
	venue, quiet := addVenue(t, s), addVenue(t, s)
	for i := range 3 {
		accept(t, s, request(venue, fmt.Sprint(i), "soup"))
	}
	d := openDoor(t, s)
	got := siteOf(t, s, d.Boxes(), venue, 3)
	if got.Oldest.IsZero() || !got.LastSeen.IsZero() || !got.LastFetch.IsZero() {
		t.Errorf("before the box: %+v", got)
	}
	if got := siteOf(t, s, d.Boxes(), quiet, 0); !reflect.DeepEqual(got, Site{VenueEntry: got.VenueEntry}) {
		t.Errorf("a venue without requests: %+v", got)
	}
	b := newBox()
	var once sync.Once
	hold, held := make(chan struct{}), make(chan struct{})
	b.fail = func(a source.Arrival) error {
		if a.ID == "1" {
			once.Do(func() { close(held); <-hold })
		}
		return nil
	}
	src, _ := b.run(t, d, venue)
	<-held
	st := src.Status()
	if st.Behind != 2 || st.Since.IsZero() || st.Oldest <= 0 || st.Err != nil || !st.Down.IsZero() {
		t.Errorf("in the middle: %+v", st)
	}
	if now := siteOf(t, s, d.Boxes(), venue, 2); !now.Oldest.After(got.Oldest) || now.LastFetch.IsZero() {
		t.Errorf("in the middle: %+v, before: %+v", now, got)
	}
	close(hold)
	b.wait(t, 3)
	other := openDoor(t, s) // another relay hears of a box, too
	waitFor(t, "nothing waits, and who asks the relays is told of the box", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/4)
		defer cancel()
		accept(t, s, request(venue, time.Now().String(), "soup")) // for which the box comes back
		got := siteOf(t, s, other.Boxes(), venue, 0)
		boxes, relays, err := s.Boxes(ctx)
		st := src.Status()
		return err == nil && relays == 2 && boxes[venue].Report == got.Report && st.Behind == 0 && st.Since.IsZero() &&
			st.Oldest == 0 && !st.Taken.IsZero() && !st.Reported.IsZero() && !got.LastSeen.IsZero() &&
			got.Report == (source.Report{Version: "1.2.3", Problems: 4})
	})
}

// TestABoxThatWaitsCostsTheServersNothing: each fetch that waits at a consumer is replicated and synced.
func TestABoxThatWaitsCostsTheServersNothing(t *testing.T) {
	s, venue, d := oneVenue(t)
	asked, err := s.nc.SubscribeSync("$JS.API.CONSUMER.MSG.NEXT." + StreamName + ".*")
	assert.NoError(t, err)
	b := runBox(t, d, venue)
	waitFor(t, "the box waits", func() bool { return d.waits(venue) == 1 })
	n, _, err := asked.Pending()
	assert.NoError(t, err)
	assert.Equal(t, n, 0, "while nothing is there the consumer was asked")
	accept(t, s, request(venue, "0", "soup"))
	b.wait(t, 1)
	n, _, err = asked.Pending()
	assert.True(t, err == nil && n > 0, "the test does not see that the consumer is asked", err)
}

// TestAfterABoxDiedNothingOvertakesWhatItHad: also when it died after its own commit, and at another relay.
func TestAfterABoxDiedNothingOvertakesWhatItHad(t *testing.T) {
	slow.Test(t) // it waits until the dead box is given up
	t.Parallel()
	_, s := oneNode(t)
	venue := addVenue(t, s)
	for i := range 3 {
		accept(t, s, request(venue, fmt.Sprint(i), "soup"))
	}
	one, other := openDoor(t, s), openDoor(t, s)
	status, h, _ := one.ask(t, "GET", source.PathNext, tokenOf(venue), "")
	if status != http.StatusOK || h.Get(source.HeaderBehind) != "2" {
		t.Fatalf("the first box is answered %d %v", status, h)
	}
	b := runBox(t, other, venue)
	wantInOrder(t, b.wait(t, 3))
}

// TestWhatTheServersDoNotConfirmIsNotAcknowledged: a box believes that the answer says that they have it.
func TestWhatTheServersDoNotConfirmIsNotAcknowledged(t *testing.T) {
	slow.Test(t) // it waits for a server that is down
	t.Parallel()
	e, s := oneNode(t)
	venue := addVenue(t, s)
	d := openDoor(t, s)
	accept(t, s, request(venue, "a", "soup"))
	_, h, _ := d.ask(t, "GET", source.PathNext, tokenOf(venue), "")
	e.Stop()
	ack := fmt.Sprintf(`{"handle":%q,"result":"stored"}`, h.Get(source.HeaderHandle))
	d.wantStatus(t, http.StatusServiceUnavailable, "POST", source.PathAck, tokenOf(venue), ack)
	e.Start()
	waitFor(t, "it is acknowledged then", func() bool {
		status, _, _ := d.ask(t, "POST", source.PathAck, tokenOf(venue), ack)
		return status == http.StatusNoContent
	})
	siteOf(t, s, nil, venue, 0)
}

func TestARelayThatStopsKeepsNoBoxWaiting(t *testing.T) {
	_, venue, d := oneVenue(t)
	stopping, stop := context.WithCancel(t.Context())
	answered := d.poll(t, venue)
	stop()
	assert.NoError(t, d.Run(stopping))
	assert.Equal(t, <-answered, http.StatusNoContent)
	d.wantStatus(t, http.StatusTooManyRequests, "GET", source.PathNext, tokenOf(venue), "")
}

// poll has a box wait, and returns how it is answered.
func (r *relay) poll(t *testing.T, venue string) (answered <-chan int) {
	t.Helper()
	answer := make(chan int, 1)
	go func() {
		status, _, _ := r.ask(t, "GET", source.PathNext, tokenOf(venue), "")
		answer <- status
	}()
	waitFor(t, "the box waits", func() bool { return r.waits(venue) == 1 })
	return answer
}

// ask sends one request to a relay.
func (r *relay) ask(t *testing.T, method, path, token, body string) (status int, h http.Header, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// wantStatus asks, and wants this status.
func (r *relay) wantStatus(t *testing.T, want int, method, path, token, body string) {
	t.Helper()
	status, _, text := r.ask(t, method, path, token, body)
	assert.Equal(t, status, want, method, path, token, text)
}

// waits is how many polls of a venue wait.
func (r *relay) waits(venue string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if room := r.rooms[venue]; room != nil {
		return room.polls
	}
	return 0
}

// siteOf waits until n requests of a venue wait at the servers, and returns its state then.
func siteOf(t *testing.T, s *Stream, boxes map[string]Box, venue string, n uint64) (found Site) {
	t.Helper()
	patiently(t, func() error {
		sites, _, err := s.Sites(t.Context(), boxes)
		for _, one := range sites {
			if one.ID == venue && one.Waiting == n {
				found = one
				return nil
			}
		}
		return fmt.Errorf("%s with %d that wait is not in %+v: %w", venue, n, sites, err)
	})
	return found
}

// wantInOrder wants the requests 0, 1, 2 and so on.
func wantInOrder(t *testing.T, took []source.Arrival) {
	t.Helper()
	for i, a := range took {
		assert.Equal(t, a.ID, fmt.Sprint(i))
	}
}
