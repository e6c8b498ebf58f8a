package httpserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
)

func TestAnACMEServerThatRefusesIsAskedSeldom(t *testing.T) {
	var log queuetest.Log
	a, server := newTestACME(t, &log)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		time.Sleep(7*24*time.Hour - time.Second)
		synctest.Wait()
		for from := time.Duration(0); from < 24*time.Hour; from += time.Minute {
			// Let's Encrypt allows five failures.
			if n := server.within(start, from, from+time.Hour); n > 4 {
				t.Fatalf("in the hour after %v it is asked %d times", from, n)
			}
		}
		assert.Equal(t, server.within(start, 0, time.Hour), 4, "in the first hour it is asked")
		for from := 24 * time.Hour; from < 6*24*time.Hour; from += 4 * time.Hour {
			assert.Equal(t, server.within(start, from, from+4*time.Hour), 1, "in the four hours after", from)
		}
		assert.Contains(t, a.Problem(), "too many certificates")
		server.says("another " + strings.Repeat("x", 1<<20))
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		p := a.Problem()
		assert.True(t, strings.Contains(p, "another x") && len(p) <= 1000, "a new reason", len(p))
		server.says("")
		for now := time.Since(start); server.within(start, now, math.MaxInt64) == 0; synctest.Wait() {
			time.Sleep(time.Minute)
		}
		logged := log.String()
		cancel()
		err := <-ended
		assert.True(t, err == nil && log.String() == logged, "the end of the daemon counts as a failure", err, &log)
		a.tell(nil, 0)
		assert.Equal(t, a.Problem(), "", "after a success the problem is still")
	})
}

func TestACertificateIsRenewedWhenAThirdOfItsTimeIsLeft(t *testing.T) {
	for _, made := range []string{"certificate", "damaged file"} {
		t.Run(made, func(t *testing.T) {
			a, server := newTestACME(t, io.Discard)
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ca := &authority{ends: start.Add(90 * 24 * time.Hour)}
				cert, key := ca.sign(t, "box", false)
				if made == "damaged file" {
					cert = cert[:len(cert)/2]
				}
				assert.NoError(t, os.MkdirAll(filepath.Dir(a.o.Files.Cert), 0o700))
				replaceFile(t, a.o.Files.Cert, append(key, cert...))
				go a.Run(t.Context())
				time.Sleep(60*24*time.Hour - time.Minute)
				synctest.Wait()
				got, want := server.within(start, 0, math.MaxInt64) > 0, made == "damaged file"
				assert.Equal(t, got, want, "asked before two thirds of the time")
				time.Sleep(dueEvery + time.Minute)
				synctest.Wait()
				assert.True(t, server.within(start, 0, math.MaxInt64) != 0, "not asked after two thirds of the time")
			})
		})
	}
}

func TestABusyACMEServerIsAskedAFewTimesInAnAttempt(t *testing.T) {
	busy := &http.Response{StatusCode: http.StatusServiceUnavailable}
	n := 1
	for backoff(n, nil, busy) > 0 {
		n++
	}
	assert.Equal(t, n, maxRequests)
}

func TestOnlyTheACMEServerSeesTheProof(t *testing.T) {
	ca := newAuthority(t, "authority")
	files, dir := ca.files(t, "first"), t.TempDir()
	proof, key := ca.sign(t, "proof", false)
	replaceFile(t, filepath.Join(dir, serverName+"+token"), append(key, proof...))
	synctest.Test(t, func(t *testing.T) {
		c := load(t, files)
		c.proof.Store(&autocert.Manager{Cache: autocert.DirCache(dir)})
		for protos, want := range map[string]string{
			"": "first", "h2": "first", "acme-tls/1": "proof", "acme-tls/1 h2": "first", "h2 acme-tls/1": "first",
		} {
			got, err := handshake(c, ca.client(strings.Fields(protos)...))
			assert.True(t, err == nil && got == want, "a client that offers", protos, got, err, want)
		}

		c.proof.Store(nil)
		_, err := handshake(c, ca.client(acme.ALPNProto))
		assert.True(t, err != nil, "without an order the protocol of ACME servers is spoken")
	})
}

func TestAnAttemptThatIsOverOrdersNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := &refuses{why: "too many certificates"}
	request, err := http.NewRequest(http.MethodGet, "https://acme.example.com/dir", http.NoBody)
	assert.NoError(t, err)
	for range 2 {
		_, _ = attempt{ctx, server}.RoundTrip(request)
		cancel()
	}
	assert.Equal(t, len(server.asked), 1, "the ACME server is asked")
}

func TestWithoutAFolderThatCanBeWrittenNothingIsOrdered(t *testing.T) {
	a, server := newTestACME(t, io.Discard)
	replaceFile(t, filepath.Dir(filepath.Dir(a.o.Files.Cert)), nil) // a file where the folder should be
	err := a.renew(t.Context())
	assert.True(t, err != nil && len(server.asked) == 0, err, len(server.asked))
}

// refuses is an ACME server with too much to do.
type refuses struct {
	mu    sync.Mutex
	asked []time.Time
	why   string // empty: it does not answer
}

func (r *refuses) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.asked = append(r.asked, time.Now())
	why := r.why
	r.mu.Unlock()
	if why == "" {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	body := fmt.Sprintf(`{"type": "urn:ietf:params:acme:error:rateLimited", "detail": %q}`, why)
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (r *refuses) says(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = why
}

// within counts the requests between two times after the start.
func (r *refuses) within(start time.Time, from, to time.Duration) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.asked {
		if d := at.Sub(start); d >= from && d < to {
			n++
		}
	}
	return n
}

func newTestACME(t *testing.T, log io.Writer) (*ACME, *refuses) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "acme", "ca", serverName)
	a, err := NewACME(ACMEOptions{Name: serverName, Directory: "https://acme.example.com/dir",
		Files: Files{Cert: file, Key: file}, Log: slog.New(slog.NewTextHandler(log, nil))})
	assert.NoError(t, err)
	server := &refuses{why: "too many certificates"}
	a.through = server
	return a, server
}
