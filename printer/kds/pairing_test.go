package kds_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/queue/queuetest"
)

func TestABrowserOnTheNetworkIsPairedOnce(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.newTablet("192.168.1.20")
		status, _, h := w.get(c, "/screen/hot-line")
		assert.True(t, status == http.StatusSeeOther && h.Get("Location") == "/", status, h.Get("Location"))
		code := w.code(c)
		assert.Equal(t, w.code(c), code)
		_, err := w.pair(code, "grill")
		assert.True(t, errors.Is(err, kds.ErrNoScreen), err)
		p, err := w.pair(strings.ToLower(code), "hot-line")
		assert.True(t, err == nil && p.Station == "hot-line" && p.Address == "192.168.1.20", p, err)
		_, err = w.pair(code, "cold")
		assert.True(t, errors.Is(err, kds.ErrUnknownCode), err)
		status, _, h = w.get(c, "/")
		assert.True(t, status == http.StatusSeeOther && h.Get("Location") == "/screen/hot-line", status,
			h.Get("Location"))
		assert.True(t, w.maySee(c, "hot-line") && !w.maySee(c, "cold") &&
			!w.maySee(w.newTablet("192.168.1.20"), "hot-line"),
			"it sees something else than its station, or another browser there does")
		w.restart()
		assert.True(t, w.maySee(c, "hot-line"), "a restart forgot it")
		list := w.pairings.List()
		assert.True(t, len(list) == 1 && list[0].ID == p.ID, list)
	})
}

func TestTheSecretOfABrowserIsOnlyInItsCookie(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		_, _, h := w.get(w.client("10.0.0.7"), "/")
		cookie := h.Get("Set-Cookie")
		for _, part := range []string{"HttpOnly", "SameSite=Strict", "Max-Age=34560000", "Path=/"} {
			assert.Contains(t, cookie, part)
		}
		secret := regexp.MustCompile(`ticketrail_screen=([^;]+)`).FindStringSubmatch(cookie)[1]
		assert.True(t, len(secret) >= 26, len(secret))
		_, body, _ := w.get(w.client("10.0.0.7"), "/", "Cookie", "ticketrail_screen="+secret)
		_, err := w.pair(codeOnPage.FindStringSubmatch(body)[1], "cold")
		assert.NoError(t, err)
		assert.True(t, !strings.Contains(body, secret), "it is on the page")
		_ = w.pairingsKV.All(func(key string, value []byte) bool {
			assert.True(t, !strings.Contains(key+string(value), secret), key, value)
			assert.True(t, strings.Contains(string(value), fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))), value)
			return true
		})
	})
}

func TestARevokedBrowserIsRefusedAtOnce(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.newTablet("192.168.1.20")
		p, err := w.pair(w.code(c), "hot-line")
		assert.NoError(t, err)
		w.answerBeats(t.Context(), c, "hot-line", testPage)
		e := w.listen(c, "hot-line", "page0002", "")
		synctest.Wait()
		wantLive(t, w.screens["hot-line"], 1)
		_, err = w.pairings.Revoke(t.Context(), "nobody")
		assert.True(t, errors.Is(err, kds.ErrNoPairing), err)
		_, err = w.pairings.Revoke(t.Context(), p.ID)
		assert.NoError(t, err)
		start := time.Now()
		e.drain()
		synctest.Wait()
		d := time.Since(start)
		assert.True(t, d <= time.Second && w.screens["hot-line"].Status().Live == 0 && !w.maySee(c, "hot-line"), d)
		w.restart()
		assert.True(t, !w.maySee(c, "hot-line"), "a restart brought it back")
		if code := w.code(c); code == "" { // it can be paired again
			t.Error("no new code")
		}
	})
}

func TestACodeIsValidForTenMinutesAndWhileABrowserShowsIt(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.newTablet("192.168.1.20")
		code := w.code(c)
		for range 299 { // the page asks every two seconds
			time.Sleep(2 * time.Second)
			_, body, _ := w.get(c, "/pairing")
			assert.Contains(t, body, "waiting")
		}
		time.Sleep(10 * time.Second)
		_, body, _ := w.get(c, "/pairing")
		assert.Contains(t, body, "expired")
		_, err := w.pair(code, "hot-line")
		assert.True(t, errors.Is(err, kds.ErrUnknownCode), err)
		assert.True(t, w.code(c) != code, "the code is the same")
	})
}

func TestGuessingCodesAndRequestingManyIsLimited(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		refused := 0
		for i := range 40 { // one machine with many addresses that keeps no cookie
			if status, _, h := w.get(w.client(fmt.Sprintf("fd00::%x", i+1)),
				"/"); status == http.StatusTooManyRequests && h.Get("Refresh") == "60" {
				refused++
			}
		}
		assert.Equal(t, refused, 30)
		good := w.newTablet("192.168.1.20")
		code := w.code(good) // other machines still get codes
		box := w.client("127.0.0.1")
		for range 5 {
			_, err := w.pair("AAAA-AAAA", "hot-line")
			assert.True(t, errors.Is(err, kds.ErrUnknownCode), err)
			got, text := w.typed(box, "AAAA-AAAA", "hot-line", ownPage()...)
			assert.Equal(t, got, http.StatusNotFound, text)
		}
		got, text := w.typed(box, code, "hot-line", ownPage()...)
		assert.Equal(t, got, http.StatusTooManyRequests, text)
		_, err := w.pair(code, "hot-line")
		assert.True(t, errors.Is(err, kds.ErrTooManyCodes), err)
		time.Sleep(time.Minute)
		w.get(good, "/pairing")
		_, err = w.pair(w.code(good), "hot-line")
		assert.NoError(t, err)
	})
}

func TestAPairingWhoseWriteFailedIsNotActiveAndCanBeRevokedLater(t *testing.T) {
	for _, fault := range []queuetest.Fault{queuetest.Failed, queuetest.FailedPersisted} {
		withServer(t, func(t *testing.T, w *testServer) {
			w.pairingsKV.Inject(fault)
			c := w.newTablet("192.168.1.20")
			code := w.code(c)
			_, err := w.pair(code, "hot-line")
			assert.True(t, err != nil && len(w.pairings.List()) == 0 && !w.maySee(c, "hot-line"), err)
			w.pairingsKV.Inject(queuetest.None)
			_, err = w.pair(code, "hot-line")
			assert.True(t, err == nil && w.maySee(c, "hot-line"), err)
			w.restart()
			list := w.pairings.List()
			assert.True(t, len(list) == 1 && w.maySee(c, "hot-line"), list)
			_, err = w.pairings.Revoke(t.Context(), list[0].ID)
			assert.NoError(t, err)
			w.restart()
			assert.True(t, !w.maySee(c, "hot-line") && len(w.pairings.List()) == 0, "a screen that was revoked is back")
		})
	}
}
