package httpserver

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func ok(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }

// run is serve on loopback.
func run(t *testing.T, srv *http.Server, o Options) (l net.Listener, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l, serve(t, l, srv, o)
}

// serve serves on l. stop shuts down and returns Serve's error.
func serve(t *testing.T, l net.Listener, srv *http.Server, o Options) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, srv, o) }()
	return func() error { cancel(); return <-ended }
}

func TestStoppingFinishesRequestsInProgressAndAcceptsNoOthers(t *testing.T) {
	entered, release, told := make(chan bool), make(chan bool), make(chan bool)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- true
		<-release
		ok(w, r)
	})}
	srv.RegisterOnShutdown(func() { close(told) })
	l, stop := run(t, srv, Options{Grace: time.Minute})
	answer := make(chan error, 1)
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		answer <- err
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	<-told
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("still listening")
		}
	}
	close(release)
	if err := <-answer; err != nil {
		t.Errorf("the request in progress: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestStoppingCutsOffRequestsThatTakeTooLong(t *testing.T) {
	entered := make(chan bool)
	l, stop := run(t, &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})}, Options{Grace: time.Millisecond})
	answer := make(chan error, 1)
	go func() { _, err := http.Get("http://" + l.Addr().String()); answer <- err }()
	<-entered
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-answer; err == nil {
		t.Error("answered")
	}
}

func TestHugeHeadersNeverReachTheHandler(t *testing.T) {
	l, stop := run(t, &http.Server{Handler: http.HandlerFunc(ok)}, Options{Grace: time.Minute})
	for _, pad := range []http.Header{{"X-Pad": {strings.Repeat("x", 32<<10)}},
		{"X-Pad": strings.Split(strings.Repeat("x,", 5000), ",")}} {
		req, err := http.NewRequest("GET", "http://"+l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = pad
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Error(resp.Status)
		}
	}
	_ = stop()
}

func TestAListenerThatFailsIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := Serve(t.Context(), l, &http.Server{}, Options{}); err == nil {
		t.Error("no error")
	}
}

func TestHTTP2IsSpokenThroughTLSOnly(t *testing.T) {
	a := newAuthority(t, "authority")
	srv := &http.Server{Handler: http.HandlerFunc(ok)}
	l, stop := run(t, srv, Options{Cert: load(t, tlsFiles(t, a)), MaxConnections: 2, Grace: time.Minute})
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool(), ServerName: "box"}, ForceAttemptHTTP2: true}
	resp, err := (&http.Client{Transport: tr}).Get("https://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(resp.Body); string(body) != "HTTP/2.0" {
		t.Errorf("through TLS: %s", body)
	}
	_ = resp.Body.Close()
	if err := stop(); err != nil {
		t.Error(err)
	}

	l, stop = run(t, &http.Server{Handler: http.HandlerFunc(http.NotFound)}, Options{Grace: time.Minute})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	_ = c.(*net.TCPConn).CloseWrite()
	if answer, _ := io.ReadAll(c); !strings.HasPrefix(string(answer), "HTTP/1.1 404 ") {
		t.Errorf("plain: %q", answer)
	}
	_ = stop()
}

// net/http waits here, not this package; this test shows that its wait ends for any client.
func TestAnHTTP2ConnectionThatCarriesNothingIsClosed(t *testing.T) {
	a := newAuthority(t, "authority")
	l, stop := run(t, &http.Server{IdleTimeout: 10 * time.Millisecond},
		Options{Cert: load(t, tlsFiles(t, a)), Grace: time.Minute})
	c, err := tls.Dial("tcp", l.Addr().String(),
		&tls.Config{RootCAs: a.pool(), ServerName: "box", NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Log(err) // closed is closed
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
