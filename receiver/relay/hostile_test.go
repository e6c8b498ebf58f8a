package relay

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

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
		if err != nil {
			t.Fatal(err)
		}
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
		if got := ack(wrong[0], wrong[1], wrong[2]); got != http.StatusBadRequest {
			t.Errorf("%s is answered %d", what, got)
		}
	}
	siteOf(t, s, nil, mine, 2)
	siteOf(t, s, nil, theirs, 2)
	for range 2 { // the answer to the first may be lost
		if got := ack(tokenOf(mine), handle, source.Stored); got != http.StatusNoContent {
			t.Errorf("the right one is answered %d", got)
		}
		siteOf(t, s, nil, mine, 1)
	}
	b := runBox(t, other, mine)
	if took := b.wait(t, 1); took[0].ID != "second" {
		t.Errorf("then the box gets %q", took[0].ID)
	}
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
	if !d.Boxes()[venue].TwoBoxes.IsZero() {
		t.Error("a box that was started three times is taken for two")
	}
}

func TestARenewedTokenEndsTheOneBeforeAlsoOfABoxThatWaits(t *testing.T) {
	_, s := oneNode(t)
	venue, other := addVenue(t, s), addVenue(t, s)
	d := openDoor(t, s)
	answered := d.poll(t, venue)
	d.SetVenues([]VenueEntry{{ID: venue, Token: Hash("new")}, {ID: other, Token: "no token"}}, true)
	if got := <-answered; got != http.StatusUnauthorized {
		t.Errorf("a box that waited is answered %d", got)
	}
	for token, want := range map[string]int{tokenOf(venue): 401, "new": 204, tokenOf(other): 401, "": 401} {
		if got, _, _ := d.ask(t, "HEAD", source.PathNext, token, ""); got != want {
			t.Errorf("%q is answered %d, want %d", token, got, want)
		}
	}
}

func TestABoxIsToldThatItsTokenIsOfAnotherVenue(t *testing.T) {
	_, s := oneNode(t)
	mine, theirs := addVenue(t, s), addVenue(t, s)
	d := openDoor(t, s)
	accept(t, s, request(mine, "a", "soup"))
	o := source.Options{URL: d.url, Venue: theirs, Transport: new(http.Transport),
		Token: func() (string, error) { return tokenOf(mine), nil }}
	if _, err := source.Waiting(t.Context(), o); err == nil {
		t.Error("it may fetch what it would print for another venue")
	}
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
			if strings.Contains(text, venue) {
				t.Errorf("it learns of a venue: %s", text)
			}
			got[status]++
		}
	}
	// On a machine that is slow some more are answered.
	if got[401] < wrongAtOnce || got[429] == 0 || got[401]+got[429] != 4*wrongAtOnce {
		t.Errorf("the answers are %v", got)
	}
	if status, _, _ := d.ask(t, "HEAD", source.PathNext, tokenOf(venue), ""); status != http.StatusNoContent {
		t.Errorf("a box with its token is answered %d", status)
	}
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
	if w.Code != http.StatusBadRequest || body.Len() < 8<<20-2*maxAck {
		t.Errorf("it is answered %d, with %d bytes unread", w.Code, body.Len())
	}
}
