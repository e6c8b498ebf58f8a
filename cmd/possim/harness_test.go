package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/receiver/contract"
)

// testTime is for a step of a test; it is only reached by a test that fails.
const testTime = 2 * time.Minute

// possim runs the program until it ends.
func possim(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()

	var o, e bytes.Buffer
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// webhook answers every request with one status. came returns the requests since it was last called: the venue, the
// device and the body.
func webhook(t *testing.T, status int) (url string, came func() []string) {
	var mu sync.Mutex
	var all []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, r.Header.Get(contract.HeaderVenue)+" "+r.Header.Get(contract.HeaderDevice)+" "+string(body))
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		defer func() { all = nil }()
		return all
	}
}

// A session is one run of a command that listens.
type session struct {
	t     *testing.T
	first string // line of its output

	mu      sync.Mutex // guards the fields below
	changed chan struct{}
	shown   strings.Builder
	end     func() // ends it, and waits for the rest of its output
}

// start runs a command until the test ends. It must exit with 0, and without an error.
func start(t *testing.T, args ...string) *session {
	t.Helper()

	outR, out := io.Pipe()
	var errs bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, args, out, &errs)
		_ = out.Close()
	}()

	lines := bufio.NewScanner(outR)
	if !lines.Scan() {
		t.Fatalf("no output: %s", &errs)
	}
	s := &session{t: t, first: lines.Text(), changed: make(chan struct{})}

	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
			s.mu.Lock()
			s.shown.WriteString(lines.Text() + "\n")
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
		}
	}()
	s.end = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != exitOK || errs.Len() > 0 {
			t.Errorf("exit code %d, output %q", code, &errs)
		}
		<-read
	})
	t.Cleanup(s.end)
	return s
}

// shows waits until the output contains want.
func (s *session) shows(want string) {
	s.t.Helper()

	limit := time.After(testTime)
	for {
		s.mu.Lock()
		all, changed := s.shown.String(), s.changed
		s.mu.Unlock()
		if strings.Contains(all, want) {
			return
		}

		select {
		case <-changed:
		case <-limit:
			s.t.Fatalf("%q was not shown; this was:\n%s", want, all)
		}
	}
}

// dial connects to possim printer.
func (s *session) dial() net.Conn {
	s.t.Helper()

	address, _, _ := strings.Cut(strings.TrimPrefix(s.first, "tcp://"), " ")
	c, err := net.Dial("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(testTime))
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
