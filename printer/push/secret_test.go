package push

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

// testTime is for a step over real connections; it is only reached by a test that fails.
const testTime = 2 * time.Minute

const vectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestSecretsAreReadAnewAndNeverShown(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		assert.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	token, secret := file("token", "s3cret-one\n"), file("secret", vectorSecret)
	check, err := standardwebhooks.NewWebhook(vectorSecret)
	assert.NoError(t, err)
	code := http.StatusForbidden
	var auth []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		auth = append(auth, r.Header.Get("Authorization"))
		assert.Equal(t, check.Verify(body, r.Header), nil)
		assert.Equal(t, r.Header.Get("webhook-id"), r.Header.Get("Idempotency-Key"))
		w.WriteHeader(code)
		fmt.Fprintf(w, "\n\x1b[1mwrong token %s for %s\nsecond line", r.Header.Get("Authorization"), vectorSecret)
	}))
	defer srv.Close()
	p, err := New(Options{
		URL: srv.URL + "/s3cret", TokenFile: token, SecretFile: secret, Timeout: testTime,
	})
	assert.NoError(t, err)
	a := burger(t, p)
	assert.True(t, ticket.IsNotReady(a.err) && !strings.Contains(a.err.Error(), "second"), a)
	assert.Contains(t, a.err.Error(), "403 Forbidden: \ufffd[1mwrong token Bearer [secret] for whsec_[secret]")
	assertNoSecret(t, a.err.Error())
	file("token", "s3cret-two")
	p.EndPause()
	code = http.StatusOK
	burger(t, p).want(t, "taken", 1)
	assert.Equal(t, strings.Join(auth, ","), "Bearer s3cret-one,Bearer s3cret-two")
	for name, text := range map[string]string{"token": "s3cret a b", "secret": "s3cret"} {
		was, _ := os.ReadFile(filepath.Join(dir, name))
		file(name, text)
		a := burger(t, p)
		a.want(t, "not ready", 0, name)
		assert.Contains(t, a.err.Error(), name+"_file")
		assertNoSecret(t, a.err.Error())
		file(name, string(was))
	}
	assert.NoError(t, os.Remove(token))
	a = burger(t, p)
	assert.True(t, ticket.IsNotReady(a.err) && strings.Contains(a.err.Error(), token), a)
}

func TestAnOwnAuthorityIsTrustedAndNoOther(t *testing.T) {
	taken := 0
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken++ }))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	pemCert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	assert.NoError(t, os.WriteFile(ca, pemCert, 0o600))
	p, err := New(Options{URL: srv.URL, Timeout: testTime})
	assert.NoError(t, err)
	a := burger(t, p)
	assert.True(t, a.begun == 0 && strings.Contains(fmt.Sprint(a.err), "ca_file"), a)
	assert.True(t, p.Check(t.Context()) != nil, "without its authority the check finds nothing")

	p, err = New(Options{URL: srv.URL, CAFile: ca, Timeout: testTime})
	assert.NoError(t, err)
	assert.NoError(t, p.Check(t.Context()))
	assert.Equal(t, taken, 0)
	burger(t, p).want(t, "taken", 1)

	other, err := New(Options{URL: strings.Replace(srv.URL, "127.0.0.1", "kds.example.net", 1),
		CAFile: ca, Timeout: testTime,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		}})
	assert.NoError(t, err)
	burger(t, other).want(t, "again", 0)
	assert.Equal(t, taken, 1)
	assert.True(t, other.Check(t.Context()) != nil, "the check finds nothing wrong with the name")

	assert.NoError(t, os.WriteFile(ca, []byte("nothing"), 0o600))
	burger(t, p).want(t, "not ready", 0)
}
