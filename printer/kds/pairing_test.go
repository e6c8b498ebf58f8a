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

	"ticketrail/printer/kds"
	"ticketrail/queue/queuetest"
)

func TestABrowserOnTheNetworkIsPairedOnce(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.newTablet("192.168.1.20")
		if status, _, h := w.get(c, "/screen/hot-line"); status != http.StatusSeeOther || h.Get("Location") != "/" {
			t.Errorf("an unpaired page is answered %d %s", status, h.Get("Location"))
		}
		code := w.code(c)
		if again := w.code(c); again != code {
			t.Errorf("the code changed from %s to %s", code, again)
		}
		if _, err := w.pair(code, "grill"); !errors.Is(err, kds.ErrNoScreen) {
			t.Errorf("with a station that is not there: %v", err)
		}
		p, err := w.pair(strings.ToLower(code), "hot-line")
		if err != nil || p.Station != "hot-line" || p.Address != "192.168.1.20" {
			t.Fatalf("paired %+v, %v", p, err)
		}
		if _, err := w.pair(code, "cold"); !errors.Is(err, kds.ErrUnknownCode) {
			t.Errorf("the code works twice: %v", err)
		}
		if status, _, h := w.get(c, "/"); status != http.StatusSeeOther || h.Get("Location") != "/screen/hot-line" {
			t.Errorf("the door answers %d %s", status, h.Get("Location"))
		}
		if !w.maySee(c, "hot-line") || w.maySee(c, "cold") || w.maySee(w.newTablet("192.168.1.20"), "hot-line") {
			t.Error("it sees something else than its station, or another browser there does")
		}
		w.restart()
		if !w.maySee(c, "hot-line") {
			t.Error("a restart forgot it")
		}
		if list := w.pairings.List(); len(list) != 1 || list[0].ID != p.ID {
			t.Errorf("the list is %+v", list)
		}
	})
}

func TestTheSecretOfABrowserIsOnlyInItsCookie(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		_, _, h := w.get(w.client("10.0.0.7"), "/")
		cookie := h.Get("Set-Cookie")
		for _, part := range []string{"HttpOnly", "SameSite=Strict", "Max-Age=34560000", "Path=/"} {
			if !strings.Contains(cookie, part) {
				t.Errorf("%s is missing in %s", part, cookie)
			}
		}
		secret := regexp.MustCompile(`ticketrail_screen=([^;]+)`).FindStringSubmatch(cookie)[1]
		if len(secret) < 26 {
			t.Errorf("%d letters are too few", len(secret))
		}
		_, body, _ := w.get(w.client("10.0.0.7"), "/", "Cookie", "ticketrail_screen="+secret)
		if _, err := w.pair(codeOnPage.FindStringSubmatch(body)[1], "cold"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(body, secret) {
			t.Error("it is on the page")
		}
		_ = w.pairingsKV.All(func(key string, value []byte) bool {
			if strings.Contains(key+string(value), secret) {
				t.Errorf("it is stored: %s %s", key, value)
			}
			if !strings.Contains(string(value), fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))) {
				t.Errorf("its hash is not: %s", value)
			}
			return true
		})
	})
}

func TestARevokedBrowserIsRefusedAtOnce(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.newTablet("192.168.1.20")
		p, err := w.pair(w.code(c), "hot-line")
		must(t, err)
		w.answerBeats(t.Context(), c, "hot-line", testPage)
		e := w.listen(c, "hot-line", "page0002", "")
		synctest.Wait()
		wantLive(t, w.screens["hot-line"], 1)
		if _, err := w.pairings.Revoke(t.Context(), "nobody"); !errors.Is(err, kds.ErrNoPairing) {
			t.Errorf("of nobody: %v", err)
		}
		if _, err := w.pairings.Revoke(t.Context(), p.ID); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		e.drain()
		synctest.Wait()
		if d := time.Since(start); d > time.Second || w.screens["hot-line"].Status().Live != 0 ||
			w.maySee(c, "hot-line") {
			t.Errorf("after %v it is still there", d)
		}
		w.restart()
		if w.maySee(c, "hot-line") {
			t.Error("a restart brought it back")
		}
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
			if _, body, _ := w.get(c, "/pairing"); !strings.Contains(body, "waiting") {
				t.Fatalf("it says %s", body)
			}
		}
		time.Sleep(10 * time.Second)
		if _, body, _ := w.get(c, "/pairing"); !strings.Contains(body, "expired") {
			t.Errorf("after ten minutes it says %s", body)
		}
		if _, err := w.pair(code, "hot-line"); !errors.Is(err, kds.ErrUnknownCode) {
			t.Errorf("after ten minutes: %v", err)
		}
		if again := w.code(c); again == code {
			t.Error("the code is the same")
		}
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
		if refused != 30 {
			t.Errorf("%d of 40 were refused, want 30", refused)
		}
		good := w.newTablet("192.168.1.20")
		code := w.code(good) // other machines still get codes
		box := w.client("127.0.0.1")
		for range 5 {
			if _, err := w.pair("AAAA-AAAA", "hot-line"); !errors.Is(err, kds.ErrUnknownCode) {
				t.Fatal(err)
			}
			if got, text := w.typed(box, "AAAA-AAAA", "hot-line", ownPage()...); got != http.StatusNotFound {
				t.Fatalf("a wrong code: %d %s", got, text)
			}
		}
		if got, text := w.typed(box, code, "hot-line", ownPage()...); got != http.StatusTooManyRequests {
			t.Errorf("typed after ten wrong ones: %d %s", got, text)
		}
		if _, err := w.pair(code, "hot-line"); !errors.Is(err, kds.ErrTooManyCodes) {
			t.Errorf("after ten wrong codes: %v", err)
		}
		time.Sleep(time.Minute)
		w.get(good, "/pairing")
		if _, err := w.pair(w.code(good), "hot-line"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

func TestAPairingWhoseWriteFailedIsNotActiveAndCanBeRevokedLater(t *testing.T) {
	for _, fault := range []queuetest.Fault{queuetest.Failed, queuetest.FailedPersisted} {
		withServer(t, func(t *testing.T, w *testServer) {
			w.pairingsKV.Inject(fault)
			c := w.newTablet("192.168.1.20")
			code := w.code(c)
			if _, err := w.pair(code, "hot-line"); err == nil || len(w.pairings.List()) != 0 ||
				w.maySee(c, "hot-line") {
				t.Fatalf("it could not be stored, and: %v", err)
			}
			w.pairingsKV.Inject(queuetest.None)
			if _, err := w.pair(code, "hot-line"); err != nil || !w.maySee(c, "hot-line") {
				t.Fatalf("again: %v", err)
			}
			w.restart()
			list := w.pairings.List()
			if len(list) != 1 || !w.maySee(c, "hot-line") {
				t.Fatalf("pairings %+v", list)
			}
			if _, err := w.pairings.Revoke(t.Context(), list[0].ID); err != nil {
				t.Fatal(err)
			}
			w.restart()
			if w.maySee(c, "hot-line") || len(w.pairings.List()) != 0 {
				t.Error("a screen that was revoked is back")
			}
		})
	}
}
