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
	_, err = p.Print(t.Context(), order(1, "Burger"), new(beginCounter).begin)
	assert.True(t, ticket.IsNotReady(err) && !strings.Contains(err.Error(), "second"), err)
	assert.Contains(t, err.Error(), "403 Forbidden: \ufffd[1mwrong token Bearer [secret] for whsec_[secret]")
	assertNoSecret(t, err.Error())
	file("token", "s3cret-two")
	p.EndPause()
	code = http.StatusOK
	_, err = p.Print(t.Context(), order(2, "Burger"), new(beginCounter).begin)
	assert.NoError(t, err)
	assert.Equal(t, strings.Join(auth, ","), "Bearer s3cret-one,Bearer s3cret-two")
	for name, text := range map[string]string{"token": "s3cret a b", "secret": "s3cret"} {
		was, _ := os.ReadFile(filepath.Join(dir, name))
		file(name, text)
		var b beginCounter
		_, err = p.Print(t.Context(), order(3, "Burger"), b.begin)
		assert.True(t, ticket.IsNotReady(err) && b.times() == 0, name, err)
		assert.Contains(t, err.Error(), name+"_file")
		assertNoSecret(t, err.Error())
		file(name, string(was))
	}
	assert.NoError(t, os.Remove(token))
	_, err = p.Print(t.Context(), order(4, "Burger"), new(beginCounter).begin)
	assert.True(t, ticket.IsNotReady(err) && strings.Contains(err.Error(), token), err)
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
	var b beginCounter
	_, err = p.Print(t.Context(), order(1, "Burger"), b.begin)
	assert.True(t, err != nil && b.times() == 0 && strings.Contains(err.Error(), "ca_file"), err)
	assert.True(t, p.Check(t.Context()) != nil, "without its authority the check finds nothing")

	p, err = New(Options{URL: srv.URL, CAFile: ca, Timeout: testTime})
	assert.NoError(t, err)
	assert.NoError(t, p.Check(t.Context()))
	assert.Equal(t, taken, 0)
	proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
	assert.Equal(t, proof, ticket.Taken, err)

	other, err := New(Options{URL: strings.Replace(srv.URL, "127.0.0.1", "kds.example.net", 1),
		CAFile: ca, Timeout: testTime,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		}})
	assert.NoError(t, err)
	b.n.Store(0)
	_, err = other.Print(t.Context(), order(3, "Burger"), b.begin)
	assert.True(t, err != nil && b.times() == 0 && taken == 1, err, b.times(), taken)
	assert.True(t, other.Check(t.Context()) != nil, "the check finds nothing wrong with the name")

	assert.NoError(t, os.WriteFile(ca, []byte("nothing"), 0o600))
	_, err = p.Print(t.Context(), order(2, "Burger"), b.begin)
	assert.True(t, ticket.IsNotReady(err), err)
}
