package receiver

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/receiver/contract"
)

const goodSecret = "abcdefghijklmnopqrstuvwxyz"

func TestAScannerIsNeitherWarnedOfNorListed(t *testing.T) {
	b := newTestbed(t, withSecret)
	for _, method := range []string{"GET", "POST"} {
		req := post(nil)
		req.Method, req.URL.Path, req.Header = method, "/wp-login.php", http.Header{}
		b.do(req)
	}
	get := post(nil)
	get.Method, get.URL.Path = "GET", "/webhooks"
	b.do(get)
	assert.True(t, warnings(b) <= 0 && len(b.rejected()) == 0, b.rejected(), b.log)
	b.count(t, "ticketrail_receiver_requests_total{404 not_found}", 3)
}

func TestARequestThatIsTurnedAwayAgainIsLoggedOnceAMinuteAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestbed(t, withSecret)
		for range 5 {
			b.postWrong("192.0.2.9:5", venueID)
		}
		time.Sleep(time.Minute)
		b.postWrong("192.0.2.9:5", venueID)
		kept := b.rejected()
		assert.True(t, len(kept) == 2 && kept[0].Count == 1 && kept[1].Count == 5 && warnings(b) == 2, kept, b.log)
	})
}

func TestStrangersWriteFewLinesAndHideNoVenue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestbed(t, withSecret)
		for i := range 1000 { // one household
			b.postWrong(fmt.Sprintf("[2001:db8::%x]:5", i+1), uuid.NewString())
		}
		assert.Equal(t, warnings(b), 1)
		b.postWrong("198.51.100.7:5", uuid.NewString())
		assert.Equal(t, warnings(b), 2)
		for i := range 1000 {
			b.postWrong(fmt.Sprintf("10.0.%d.%d:5", i/250, i%250), uuid.NewString())
		}
		assert.Equal(t, warnings(b), 10)
		b.postWrong("192.0.2.99:5", venueID)
		b.postWrong("192.0.2.98:5", venueID) // a venue has one line a minute, wherever it is
		n := warnings(b)
		assert.True(t, n == 11 && strings.Contains(b.log.String(), venueID), n, b.log)
	})
}

func TestRequestsOfAStrangerWhoseLineOthersTookAreCountedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestbed(t, withSecret)
		for minute := range 3 {
			for i := range 20 * (minute % 2) { // others use up the lines of the second minute
				b.postWrong(fmt.Sprintf("10.0.0.%d:5", i), uuid.NewString())
			}
			for range 60 {
				b.postWrong("192.0.2.9:5", noVenue)
				time.Sleep(time.Second)
			}
		}

		time.Sleep(time.Minute)
		b.postWrong("192.0.2.9:5", noVenue)
		counted := 0
		for _, one := range b.rejected() {
			if one.Address == "192.0.2.9" {
				counted += one.Count
			}
		}
		assert.True(t, counted == 3*60+1, counted, b.log)
	})
}

func TestAFloodOfStrangersPushesOutNeitherOrdersNorOtherCallers(t *testing.T) {
	r := openRejects(t, queuetest.NewStore(), queuetest.NewStore())
	_ = r.Close(t.Context())
	keep := func(one Reject) {
		assert.NoError(t, r.keep(one, false))
	}
	away := func(address, venue string) Reject {
		return Reject{Code: string(VenueNotAllowed), Address: address, Venue: venue, Count: 1}
	}
	keep(Reject{Code: string(InvalidJSON), Body: []byte("order")})
	keep(away("203.0.113.9", "ours"))
	for i := range 200 {
		keep(away(fmt.Sprintf("2001:db8::%x", i), fmt.Sprint(i)))
	}
	list := r.List()
	n := len(list)
	assert.True(t, n == maxTurnedAway+1 && list[n-1].Size != 0 && list[n-2].Venue == "ours" && list[0].Venue == "199",
		n, list)
	for i := range MaxRejects + 1 {
		keep(Reject{Body: []byte{byte(i)}})
	}
	list = r.List()
	assert.Equal(t, len(list), MaxRejects+maxTurnedAway)
}

func TestACallerThatIsTurnedAwayAgainKeepsItsPlaceInTheStore(t *testing.T) {
	store, bodies, start := queuetest.NewStore(), queuetest.NewStore(), time.Now()
	for i := range 3 {
		r := openRejects(t, store, bodies)
		r.Keep(Reject{Code: string(WrongPath), Venue: venueID, Address: "192.0.2.7", Count: 2,
			Time: start.Add(time.Duration(2*i) * time.Minute)})
		r.Keep(Reject{Code: string(InvalidJSON), Time: start.Add(time.Duration(2*i+1) * time.Minute)})
		_ = r.Close(t.Context())
	}
	r := openRejects(t, store, bodies)
	list := r.List()
	_ = r.Close(t.Context())
	assert.True(t, len(list) == 4 && list[1].ID == 1 && list[1].Count == 6 && list[0].ID == 4 &&
		list[1].Time.Equal(start.Add(4*time.Minute)), list)
}

func withSecret(_ *Options, p *Policy) {
	p.Secrets = []string{goodSecret}
	p.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}
}

// postWrong posts to a wrong secret.
func (b *testbed) postWrong(address, venue string) {
	req := post(nil)
	req.URL.Path, req.RemoteAddr = "/webhooks/print/x", address
	req.Header.Set(contract.HeaderVenue, venue)
	b.do(req)
}

func warnings(b *testbed) int { return strings.Count(b.log.String(), "level=WARN") }

func TestAVenuePostedToAnOldSecretIsWarnedOfAndListedWithoutTheSecret(t *testing.T) {
	for _, path := range []string{"/webhooks/print/old-secret-old-secret-old", "/webhooks/print", "/old-secret"} {
		for _, id := range []string{venueID, noVenue} {
			b := newTestbed(t, withSecret)
			req := post([]byte(burger))
			req.URL.Path = path
			req.Header.Set(contract.HeaderVenue, id)
			req.Header.Set("X-Forwarded-For", "203.0.113.9")
			code, message := errorOf(t, b.do(req).Body.Bytes())
			assert.True(t, code == NotFound && message == "not found", "the caller is told", code, message)
			kept := fmt.Sprintf("%+v", b.rejected())
			for _, want := range []string{"level=WARN", "code=wrong_path", "receiver.secret_file", "venue=" + id,
				"address=203.0.113.9", "device=" + device, "[{", "Venue:" + id, "Address:203.0.113.9", "Count:1",
				"Code:wrong_path", "Body:[]"} {
				all := b.log.String() + kept
				assert.True(t, strings.Contains(all, want) && !strings.Contains(all, "old-secret"), want, all)
			}
		}
	}
}
