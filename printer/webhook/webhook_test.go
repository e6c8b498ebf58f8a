package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const vectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestAMessageIsVerifiedByTheLibraryOfStandardWebhooks has the verification of the authors of the specification.
func TestAMessageIsVerifiedByTheLibraryOfStandardWebhooks(t *testing.T) {
	keys, err := ReadKeys("\n " + vectorSecret + "\r\nwhsec_" + strings.Repeat("ab", 16) + "\n")
	if err != nil {
		t.Fatal(err)
	}
	var header http.Header
	var body []byte
	to := server(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	})
	m := Message{ID: "7", Body: []byte(`{"a":1}`), Keys: keys}
	to = strings.Replace(to, "http://", "http://me:key@", 1)
	if err := Deliver(t.Context(), http.DefaultTransport, to, m); err != nil {
		t.Fatal(err)
	}
	if got := header.Get("Authorization"); got != "Basic bWU6a2V5" {
		t.Errorf("authorized as %q", got)
	}
	for _, secret := range []string{vectorSecret, "whsec_" + strings.Repeat("ab", 16)} { // while they are exchanged
		check, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Verify(body, header); err != nil || string(body) != `{"a":1}` {
			t.Errorf("%q: %v", body, err)
		}
		if err := check.Verify(append(body, ' '), header); err == nil {
			t.Error("a changed body is verified")
		}
	}
}

func TestWhatIsNoSecretIsRefusedAndNotShown(t *testing.T) {
	for _, bad := range []string{"", "\n", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_s3cret!!", "whsec_" + "YWJj"} {
		if _, err := ReadKeys(bad); err == nil || strings.Contains(err.Error(), "s3cret") ||
			strings.Contains(err.Error(), "MfKQ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestARedirectToAnotherHostIsAnErrorAndIsNotFollowed(t *testing.T) {
	asked := false
	other := server(t, func(http.ResponseWriter, *http.Request) { asked = true })
	to := server(t, http.RedirectHandler(other+"/s3cret", http.StatusTemporaryRedirect).ServeHTTP)
	if err := Deliver(t.Context(), http.DefaultTransport, to, Message{Body: []byte("{}")}); err == nil ||
		!strings.Contains(err.Error(), "307") || asked {
		t.Errorf("%v; the other host was asked: %t", err, asked)
	}
}

func TestAnErrorHasNothingSecretOfTheAddress(t *testing.T) {
	repeats := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "\x1b[1m%s of http://elsewhere.example/x?y=z", r.URL)
	})
	for address, want := range map[string]string{
		repeats + "/s3cret-one?a=s3cret": "it answered 418 I'm a teapot: \ufffd[1m/[secret]?a=[secret] of [url]",
		"http://127.0.0.1:1/s3cret?a=b":  "connection refused",
		"http://%s3cret":                 "not of the form",
	} {
		err := Deliver(t.Context(), http.DefaultTransport, address, Message{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	got := Redact(`Post "https://api.example/a/b?c=d": 535 p@s/s is wrong`, Pieces("smtp://u:p%40s%2Fs@h/")...)
	if got != `Post "[url]": 535 [secret] is wrong` {
		t.Error(got)
	}
}

func TestPausesDoubleUntilTheLastAndBeginAnewAfterASuccess(t *testing.T) {
	b := Backoff{First: time.Second, Last: time.Minute}
	for range 2 {
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			if got := b.Next(); got < want*time.Second/2 || got >= want*time.Second*3/2 {
				t.Errorf("a pause of %v, want about %d s", got, want)
			}
		}
		b.Reset()
	}
}

func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
