package relay

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/source"
)

// TestAHandleEndsOnlyTheRequestOfItsVenue: guessed, changed, of another venue, of another relay, and again.
func TestAHandleEndsOnlyTheRequestOfItsVenue(t *testing.T) {
	_, s := oneNode(t)
	mine, theirs := addVenue(t, s), addVenue(t, s)
	for _, venue := range []string{mine, theirs} {
		accept(t, s, request(venue, "first", "soup"))
		accept(t, s, request(venue, "second", "soup"))
	}
	d, other := openDoor(t, s), openDoor(t, s)
	_, h, _ := d.ask(t, "GET", source.PathNext, tokenOf(mine), "")
	handle := h.Get(source.HeaderHandle)
	ack := func(token, handle, result string) int {
		t.Helper()
		body, err := json.Marshal(source.Ack{Handle: handle, Result: result})
		assert.NoError(t, err)
		status, _, _ := other.ask(t, "POST", source.PathAck, token, string(body))
		return status
	}
	sealed, err := base64.RawURLEncoding.DecodeString(handle)
	if err != nil || strings.Contains(string(sealed), mine) {
		t.Errorf("the handle shows what is in it: %q, %v", sealed, err)
	}
	sealed[len(sealed)-1]++
	for what, wrong := range map[string][3]string{
		"a guess":             {tokenOf(mine), "x", source.Stored},
		"an address":          {tokenOf(mine), "$JS.ACK.REQUESTS." + mine + ".1.1.1.1.1", source.Stored},
		"none":                {tokenOf(mine), "", source.Stored},
		"a changed one":       {tokenOf(mine), base64.RawURLEncoding.EncodeToString(sealed), source.Stored},
		"that of another one": {tokenOf(theirs), handle, source.Stored},
		"another result":      {tokenOf(mine), handle, "+NXT"},
	} {
		assert.Equal(t, ack(wrong[0], wrong[1], wrong[2]), http.StatusBadRequest, what)
	}
	siteOf(t, s, nil, mine, 2)
	siteOf(t, s, nil, theirs, 2)
	for range 2 { // the answer to the first may be lost
		assert.Equal(t, ack(tokenOf(mine), handle, source.Stored), http.StatusNoContent, "the right one")
		siteOf(t, s, nil, mine, 1)
	}
	assert.Equal(t, runBox(t, other, mine).wait(t, 1)[0].ID, "second")
}

// TestOfTwoBoxesWithOneTokenEachRequestIsWithOne: and the relays say that there are two.
func TestOfTwoBoxesWithOneTokenEachRequestIsWithOne(t *testing.T) {
	_, s := oneNode(t)
	venue := addVenue(t, s)
	d, other := openDoor(t, s), openDoor(t, s)
	const n = 20
	start := time.Now()
	var all sync.Mutex
	took := map[string]int{}
	one, two := newBox(), newBox()
	for _, b := range []*box{one, two} {
		b.fail = func(a source.Arrival) error {
			all.Lock()
			defer all.Unlock()
			took[a.ID]++
			return nil
		}
	}
	one.run(t, d, venue)
	for i := range n {
		accept(t, s, request(venue, fmt.Sprint(i), "soup"))
	}
	two.run(t, other, venue)
	waitFor(t, "all is taken, and both relays know of two boxes", func() bool {
		accept(t, s, request(venue, time.Now().String(), "soup"))
		all.Lock()
		defer all.Unlock()
		return len(took) > n && !d.Boxes()[venue].TwoBoxes.IsZero() &&
			!other.Boxes()[venue].TwoBoxes.IsZero()
	})
	all.Lock()
	defer all.Unlock()
	for id, times := range took { // on a slow machine a request is handed out again, which the queue of a box knows
		if times > 1 && time.Since(start) < AckWait {
			t.Errorf("%s was taken %d times", id, times)
		}
	}
}

func TestAnotherProcessOfTheSameBoxIsNoSecondBox(t *testing.T) {
	s, venue, d := oneVenue(t)
	for i := range 3 {
		accept(t, s, request(venue, fmt.Sprint(i), "soup"))
		b := newBox()
		_, stop := b.run(t, d, venue)
		b.wait(t, 1)
		stop()
	}
	assert.True(t, d.Boxes()[venue].TwoBoxes.IsZero(), "a box that was started three times is taken for two")
}

func TestARenewedTokenEndsTheOneBeforeAlsoOfABoxThatWaits(t *testing.T) {
	_, s := oneNode(t)
	venue, other := addVenue(t, s), addVenue(t, s)
	d := openDoor(t, s)
	answered := d.poll(t, venue)
	d.SetVenues([]VenueEntry{{ID: venue, Token: Hash("new")}, {ID: other, Token: "no token"}}, true)
	assert.Equal(t, <-answered, http.StatusUnauthorized, "a box that waited")
	for token, want := range map[string]int{tokenOf(venue): 401, "new": 204, tokenOf(other): 401, "": 401} {
		d.wantStatus(t, want, "HEAD", source.PathNext, token, "")
	}
}

func TestABoxIsToldThatItsTokenIsOfAnotherVenue(t *testing.T) {
	_, s := oneNode(t)
	mine, theirs := addVenue(t, s), addVenue(t, s)
	d := openDoor(t, s)
	accept(t, s, request(mine, "a", "soup"))
	o := source.Options{URL: d.url, Venue: theirs, Transport: new(http.Transport),
		Token: func() (string, error) { return tokenOf(mine), nil }}
	_, err := source.Waiting(t.Context(), o)
	assert.True(t, errors.Is(err, source.ErrToken), "it would print the orders of another venue", err)
	o.Venue = mine
	waitFor(t, "with its own it is told how many wait", func() bool {
		n, err := source.Waiting(t.Context(), o)
		return err == nil && n == 1
	})
}

// TestWhoHasNoTokenIsToldSoAFewTimes and does not keep out a box at the same address.
func TestWhoHasNoTokenIsToldSoAFewTimes(t *testing.T) {
	_, venue, d := oneVenue(t)
	got := map[int]int{}
	for i := range 2 * wrongAtOnce {
		for _, path := range []string{source.PathNext, source.PathAck} {
			method := map[string]string{source.PathNext: "GET", source.PathAck: "POST"}[path]
			status, _, text := d.ask(t, method, path, fmt.Sprint("guess ", i), "{}")
			assert.True(t, !strings.Contains(text, venue), "it learns of a venue", text)
			got[status]++
		}
	}
	// On a machine that is slow some more are answered.
	assert.True(t, got[401] >= wrongAtOnce && got[429] > 0 && got[401]+got[429] == 4*wrongAtOnce, got)
	d.wantStatus(t, http.StatusNoContent, "HEAD", source.PathNext, tokenOf(venue), "")
}

// TestAThousandPollsOfAVenueLeaveTheOthersAlone: each is answered, most of them that they are too many.
func TestAThousandPollsOfAVenueLeaveTheOthersAlone(t *testing.T) {
	t.Parallel()
	_, s := oneNode(t)
	hostile, venue := addVenue(t, s), addVenue(t, s)
	d := openDoor(t, s)
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for range 50 {
		wg.Go(func() {
			for range 20 {
				status, _, _ := d.ask(t, "GET", source.PathNext, tokenOf(hostile), "")
				mu.Lock()
				got[status]++
				mu.Unlock()
			}
		})
	}
	waitFor(t, "some are too many", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return got[429] > 0
	})
	accept(t, s, request(venue, "0", "soup"))
	b := runBox(t, d, venue)
	b.wait(t, 1)
	d.SetVenues(nil, true) // they end
	wg.Wait()
}

func TestAnAcknowledgementOf8MiBIsNotRead(t *testing.T) {
	_, venue, d := oneVenue(t)
	body := strings.NewReader(`{"reason":"` + strings.Repeat("x", 8<<20))
	r := httptest.NewRequest("POST", source.PathAck, body)
	r.Header.Set("Authorization", "Bearer "+tokenOf(venue))
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, r)
	assert.True(t, w.Code == http.StatusBadRequest && body.Len() > 8<<20-2*maxAck, w.Code, body.Len())
}

// TestATokenThatEndsWhileItsPollBeginsGetsNothing: it was looked at before it ended, and waits after it.
func TestATokenThatEndsWhileItsPollBeginsGetsNothing(t *testing.T) {
	_, venue, d := oneVenue(t)
	r := httptest.NewRequest("GET", source.PathNext, nil)
	r.Header.Set("Authorization", "Bearer "+tokenOf(venue))
	p, ok := d.admit(httptest.NewRecorder(), r)
	assert.True(t, ok, "it is not let in")
	d.SetVenues(nil, true)
	_, p.end = context.WithCancelCause(t.Context())
	assert.Equal(t, d.enter(p), errRevoked.Error())
}

// TestAPollHasAnEndForBothDirections and one that a large request can keep over a slow line.
func TestAPollHasAnEndForBothDirections(t *testing.T) {
	s, venue, d := oneVenue(t)
	accept(t, s, request(venue, "large", strings.Repeat("x", 512<<10)))
	r := httptest.NewRequest("GET", source.PathNext, nil)
	r.Header.Set("Authorization", "Bearer "+tokenOf(venue))
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	start := time.Now()
	d.Handler().ServeHTTP(w, r)
	assert.True(t, w.Code == http.StatusOK && w.Header().Get("Cache-Control") == "no-store", w.Code, w.Header())
	assert.True(t, !w.read.IsZero(), "who announces a body and does not send it keeps the connection for ever")
	assert.True(t, w.write.Sub(start) >= time.Minute, "for half a megabyte", w.write.Sub(start))
}

// TestWhoShowsAWrongTokenAndSendsNoBodyKeepsNoConnectionForLong: an address has so many, and others wait.
func TestWhoShowsAWrongTokenAndSendsNoBodyKeepsNoConnectionForLong(t *testing.T) {
	_, s := oneNode(t)
	d := openDoor(t, s)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.Handler().ServeHTTP(w, httptest.NewRequest("POST", source.PathAck, strings.NewReader("{}")))
	assert.True(t, w.Code == http.StatusUnauthorized && !w.read.IsZero(), w.Code, w.read)
}

// TestWhoReadsSlowlyKeepsAFewRequestsInMemory: the same one is handed out every few seconds. Only the newest poll
// waits.
func TestWhoReadsSlowlyKeepsAFewRequestsInMemory(t *testing.T) {
	_, venue, d := oneVenue(t)
	in, ended := 0, 0
	for range 2 * pollsOfVenue { // none of which is written to its end
		p := &poll{venue: venue, room: d.room(venue), token: Hash(tokenOf(venue)), end: func(error) { ended++ }}
		if d.enter(p) == "" {
			in++
		}
	}
	assert.Equal(t, in, pollsOfVenue, "in memory")
	assert.Equal(t, ended, in-1)
}

// deadlines notes the deadlines of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

// TestWhoAsksAgainAndAgainHowMuchWaitsIsToldToWait: each time the servers are asked.
func TestWhoAsksAgainAndAgainHowMuchWaitsIsToldToWait(t *testing.T) {
	_, venue, d := oneVenue(t)
	status := 0
	for end := time.Now().Add(testTime); status != http.StatusTooManyRequests && time.Now().Before(end); {
		status, _, _ = d.ask(t, "HEAD", source.PathNext, tokenOf(venue), "")
	}
	assert.Equal(t, status, http.StatusTooManyRequests)
}

// TestABoxWithAnOldTokenIsAlwaysToldSo: it tries about every five seconds, and gives advice only when told why.
func TestABoxWithAnOldTokenIsAlwaysToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := rate.NewLimiter(wrongPerSecond, wrongAtOnce)
		for i := range 1000 {
			assert.True(t, limit.AllowN(time.Now(), 100), i) // boxes
			time.Sleep(5 * time.Second)
		}
	})
}
