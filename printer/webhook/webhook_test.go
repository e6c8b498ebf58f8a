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

	"ticketrail/deploy/assert"
)

const vectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestAMessageIsVerifiedByTheLibraryOfStandardWebhooks has the verification of the authors of the specification.
func TestAMessageIsVerifiedByTheLibraryOfStandardWebhooks(t *testing.T) {
	keys, err := ReadKeys("\n " + vectorSecret + "\r\nwhsec_" + strings.Repeat("ab", 16) + "\n")
	assert.NoError(t, err)
	var header http.Header
	var body []byte
	to := server(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	})
	m := Message{ID: "7", Body: []byte(`{"a":1}`), Keys: keys}
	to = strings.Replace(to, "http://", "http://me:key@", 1)
	assert.NoError(t, Deliver(t.Context(), http.DefaultTransport, to, m))
	assert.Equal(t, header.Get("Authorization"), "Basic bWU6a2V5")
	for _, secret := range []string{vectorSecret, "whsec_" + strings.Repeat("ab", 16)} { // while they are exchanged
		check, err := standardwebhooks.NewWebhook(secret)
		assert.NoError(t, err)
		assert.NoError(t, check.Verify(body, header))
		assert.Equal(t, string(body), `{"a":1}`)
		assert.True(t, check.Verify(append(body, ' '), header) != nil, "a changed body is verified")
	}
}

func TestWhatIsNoSecretIsRefusedAndNotShown(t *testing.T) {
	for _, bad := range []string{"", "\n", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_s3cret!!", "whsec_" + "YWJj"} {
		_, err := ReadKeys(bad)
		assert.True(t, err != nil, bad)
		assert.True(t, !strings.Contains(err.Error(), "s3cret") && !strings.Contains(err.Error(), "MfKQ"), bad, err)
	}
}

func TestARedirectToAnotherHostIsAnErrorAndIsNotFollowed(t *testing.T) {
	asked := false
	other := server(t, func(http.ResponseWriter, *http.Request) { asked = true })
	to := server(t, http.RedirectHandler(other+"/s3cret", http.StatusTemporaryRedirect).ServeHTTP)
	err := Deliver(t.Context(), http.DefaultTransport, to, Message{Body: []byte("{}")})
	assert.True(t, err != nil && strings.Contains(err.Error(), "307") && !asked, err, asked)
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
		assert.Contains(t, fmt.Sprint(err), want)
		assert.True(t, !strings.Contains(err.Error(), "s3cret"), err)
	}
	got := Redact(`Post "https://api.example/a/b?c=d": 535 p@s/s is wrong`, Pieces("smtp://u:p%40s%2Fs@h/")...)
	assert.Equal(t, got, `Post "[url]": 535 [secret] is wrong`)
}

func TestPausesDoubleUntilTheLastAndBeginAnewAfterASuccess(t *testing.T) {
	b := Backoff{First: time.Second, Last: time.Minute}
	for range 2 {
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			got := b.Next()
			assert.True(t, got >= want*time.Second/2 && got < want*time.Second*3/2, got, want)
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
