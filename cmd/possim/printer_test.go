package main

import (
	"bufio"
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A session is one run of possim printer.
type session struct {
	t       *testing.T
	address string // host:port
	keys    io.Writer
	errs    *bytes.Buffer

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	shown   strings.Builder
}

// simulate runs possim printer with args until the test ends.
func simulate(t *testing.T, args ...string) *session {
	t.Helper()
	in, keys := io.Pipe()
	outR, out := io.Pipe()
	s := &session{t: t, keys: keys, errs: new(bytes.Buffer), changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"printer"}, args...), in, out, s.errs)
		_ = out.Close()
	}()
	lines := bufio.NewScanner(outR)
	if !lines.Scan() {
		t.Fatalf("no output: %s", s.errs)
	}
	address, _, _ := strings.Cut(lines.Text(), " ")
	s.address = strings.TrimPrefix(address, "tcp://")
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
	t.Cleanup(func() {
		cancel()
		_ = keys.Close()
		if code := <-ended; code != exitOK || s.errs.Len() > 0 {
			t.Errorf("exit code %d, output %q", code, s.errs)
		}
		<-read
	})
	return s
}

// shows waits until the output contains want.
func (s *session) shows(want string) {
	s.t.Helper()
	s.showsAfter(0, want)
}

// showsAfter waits until the output contains want behind so many bytes.
func (s *session) showsAfter(n int, want string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), testTime)
	defer cancel()
	for {
		s.mu.Lock()
		all, changed := s.shown.String(), s.changed
		s.mu.Unlock()
		if strings.Contains(all[n:], want) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			s.t.Fatalf("%q was not shown; this was:\n%s", want, all)
		}
	}
}

// types types a line and waits for the answer.
func (s *session) types(line, want string) {
	s.t.Helper()
	s.mu.Lock()
	n := s.shown.Len()
	s.mu.Unlock()
	if _, err := io.WriteString(s.keys, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
	s.showsAfter(n, want)
}

func (s *session) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(testTime))
	return c
}

// ask sends a query and compares the answer.
func ask(t *testing.T, c net.Conn, question, want string) {
	t.Helper()
	if _, err := io.WriteString(c, question); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Errorf("the answer to % X is % X, %v, want % X", question, got[:n], err, want)
	}
}

func TestATicketIsShownAndWrittenAsAPicture(t *testing.T) {
	dir := t.TempDir()
	s := simulate(t, "--listen", "127.0.0.1:0", "--profile", "epson-tm-t88", "--name", "grill", "--png", dir)
	c := s.dial()
	ask(t, c, "\x1b@2 Burger\n\x07\x1dV\x42\x00\x1dr\x01", "\x00")
	s.shows("│ 2 Burger │")
	s.shows("problem: control byte 07")
	for end := time.Now().Add(testTime); ; time.Sleep(10 * time.Millisecond) { // it is written after the text
		b, err := os.ReadFile(filepath.Join(dir, "grill-0001.png"))
		if err == nil {
			var img image.Image
			if img, err = png.Decode(bytes.NewReader(b)); err == nil && img.Bounds().Dx() < 512 {
				t.Errorf("the picture has the size %v", img.Bounds())
			}
		}
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the picture: %v", err)
		}
	}
}

func TestTypedCommandsChangeThePrinter(t *testing.T) {
	s := simulate(t, "--listen", "127.0.0.1:0", "--name", "grill", "--condition", "cover_open")
	c := s.dial()
	ask(t, c, "\x10\x04\x02", "\x16")
	s.types("close cover", "grill: ready")
	ask(t, c, "\x10\x04\x02", "\x12")
	s.types("paper for 1", "grill: ready")
	ask(t, c, "1\n2\n\x1dV\x00\x10\x04\x01", "\x12")
	for _, k := range []struct{ line, want string }{
		{"paper out", "grill: paper_out\n"},
		{"hot", "grill: paper_out,overheated\n"},
		{"cool", "grill: paper_out\n"},
		{"refill", "grill: ready\n"},
		{"status", "0 problems"},
		{"paper gone", `"paper gone" is not a command`},
		{"help", "power cycle"},
	} {
		s.types(k.line, k.want)
	}
	s.shows("│ 2 ")
	s.types("reset", "grill: ready\n")
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open after a reset")
	}
}

func TestAUsageErrorNamesTheValidValues(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "name a command"},
		{[]string{"toaster"}, "unknown command"},
		{[]string{"printer", "--profile", "typewriter"}, "generic-80mm"},
		{[]string{"printer", "--condition", "on_fire"}, "cover_open"},
		{[]string{"printer", "--clone", "shy"}, "wrong_id"},
		{[]string{"printer", "--buffer", "-1"}, "0 or more"},
		{[]string{"printer", "now"}, "unknown command"},
	} {
		var errs bytes.Buffer
		if code := run(t.Context(), tt.args, strings.NewReader(""), io.Discard, &errs); code != exitUsage ||
			!strings.Contains(errs.String(), tt.want) {
			t.Errorf("%q: %d, %q, want %d and %q", tt.args, code, errs.String(), exitUsage, tt.want)
		}
	}
	var errs bytes.Buffer
	args := []string{"printer", "--listen", "nowhere:x"}
	if code := run(t.Context(), args, strings.NewReader(""), io.Discard, &errs); code != exitFailed {
		t.Errorf("an invalid address: %d, %q", code, errs.String())
	}
}
