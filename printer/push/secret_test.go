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
		if err := check.Verify(body, r.Header); err != nil {
			t.Error(err)
		}
		if id := r.Header.Get("webhook-id"); id != r.Header.Get("Idempotency-Key") || id == "" {
			t.Errorf("webhook-id %q", id)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, "\n\x1b[1mwrong token %s for %s\nsecond line", r.Header.Get("Authorization"), vectorSecret)
	}))
	defer srv.Close()
	p, err := New(Options{
		URL: srv.URL + "/s3cret", TokenFile: token, SecretFile: secret, Timeout: testTime,
	})
	assert.NoError(t, err)
	_, err = p.Print(t.Context(), order(1, "Burger"), new(beginCounter).begin)
	if !ticket.IsNotReady(err) || !strings.Contains(err.Error(),
		"403 Forbidden: \ufffd[1mwrong token Bearer [secret] for whsec_[secret]") ||
		strings.Contains(err.Error(), "second") {
		t.Errorf("error %q", err)
	}
	assertNoSecret(t, err.Error())
	file("token", "s3cret-two")
	p.EndPause()
	code = http.StatusOK
	if _, err := p.Print(t.Context(), order(2, "Burger"), new(beginCounter).begin); err != nil {
		t.Error(err)
	}
	if got := strings.Join(auth, ","); got != "Bearer s3cret-one,Bearer s3cret-two" {
		t.Errorf("tokens %q", got)
	}
	for name, text := range map[string]string{"token": "s3cret a b", "secret": "s3cret"} {
		was, _ := os.ReadFile(filepath.Join(dir, name))
		file(name, text)
		var b beginCounter
		_, err = p.Print(t.Context(), order(3, "Burger"), b.begin)
		if !ticket.IsNotReady(err) || b.times() != 0 || !strings.Contains(err.Error(), name+"_file") {
			t.Errorf("a bad %s: %v", name, err)
		}
		assertNoSecret(t, fmt.Sprint(err))
		file(name, string(was))
	}
	assert.NoError(t, os.Remove(token))
	if _, err = p.Print(t.Context(), order(4, "Burger"), new(beginCounter).begin); !ticket.IsNotReady(err) ||
		!strings.Contains(err.Error(), token) {
		t.Errorf("without the file: %v", err)
	}
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
	if _, err := p.Print(t.Context(), order(1, "Burger"), b.begin); err == nil || b.times() != 0 ||
		!strings.Contains(err.Error(), "ca_file") {
		t.Errorf("without its authority: %v", err)
	}
	if err := p.Check(t.Context()); err == nil {
		t.Error("without its authority the check finds nothing")
	}
	if p, err = New(Options{URL: srv.URL, CAFile: ca, Timeout: testTime}); err != nil {
		t.Fatal(err)
	}
	if err := p.Check(t.Context()); err != nil || taken != 0 {
		t.Errorf("check: %v, %d tickets", err, taken)
	}
	if proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin); proof != ticket.Taken || err != nil {
		t.Errorf("with its authority: %s, %v", proof, err)
	}
	other, err := New(Options{URL: strings.Replace(srv.URL, "127.0.0.1", "kds.example.net", 1),
		CAFile: ca, Timeout: testTime,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		}})
	assert.NoError(t, err)
	b.n.Store(0)
	if _, err := other.Print(t.Context(), order(3, "Burger"), b.begin); err == nil || b.times() != 0 || taken != 1 {
		t.Errorf("who is vouched for under another name gets tickets: %v, begun %d times", err, b.times())
	}
	if err := other.Check(t.Context()); err == nil {
		t.Error("the check finds nothing wrong with the name")
	}
	assert.NoError(t, os.WriteFile(ca, []byte("nothing"), 0o600))
	if _, err := p.Print(t.Context(), order(2, "Burger"), b.begin); !ticket.IsNotReady(err) {
		t.Errorf("with a file that holds none: %v", err)
	}
}
