package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A recorder writes what goes over the wire into a folder: NNNN.request and NNNN.answer as they
// were sent, and a line for each in index.jsonl. Evidence for the vendor of an endpoint must be the
// bytes and not what a parser made of them.
//
// The webhook's path may be a secret, and an answer may set a cookie or repeat the path: these are
// replaced by [secret].
type recorder struct {
	dir     string
	through http.RoundTripper
	secrets *strings.Replacer

	mu    sync.Mutex // guards what follows
	n     int        // the last exchange that began
	index *os.File
	err   error // the first error of a file
}

// newRecorder makes the folder. It must be empty: a record of another run would be mixed with it.
func newRecorder(dir string, to *url.URL) (*recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	if old, err := os.ReadDir(dir); err != nil || len(old) > 0 {
		return nil, usageError{fmt.Errorf("--record: %s is not empty; name a new folder", dir)}
	}
	index, err := os.Create(filepath.Join(dir, "index.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return &recorder{dir: dir, index: index, secrets: secretsOf(to)}, nil
}

const (
	hidden = "[secret]"
	// minSecret is the length from which a part of the address is taken for a secret also where an
	// answer repeats it. Shorter ones are words.
	minSecret = 8
)

// secretsOf replaces the address's path, and each of its parts that could be a secret.
func secretsOf(to *url.URL) *strings.Replacer {
	var pairs []string
	if uri := to.RequestURI(); uri != "/" {
		pairs = append(pairs, " "+uri+" ", " /"+hidden+" ")
	}
	parts := strings.Split(to.Path, "/")
	for _, values := range to.Query() {
		parts = append(parts, values...)
	}
	for _, p := range parts {
		if len(p) >= minSecret {
			pairs = append(pairs, p, hidden, url.PathEscape(p), hidden, url.QueryEscape(p), hidden)
		}
	}
	return strings.NewReplacer(pairs...)
}

// secretHeader is a header whose value is a secret whatever it is.
var secretHeader = regexp.MustCompile(`(?im)^((?:set-)?cookie|(?:proxy-)?authorization):[^\r\n]*`)

func (r *recorder) clean(b []byte) []byte {
	return secretHeader.ReplaceAll([]byte(r.secrets.Replace(string(b))), []byte("$1: "+hidden))
}

// An exchange is one request and its answer.
type exchange struct {
	r     *recorder
	n     int
	began time.Time

	mu              sync.Mutex // guards what follows
	request, answer []byte
	ended           bool
}

// RoundTrip implements [http.RoundTripper].
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.n++
	x := &exchange{r: r, n: r.n, began: time.Now()}
	r.mu.Unlock()
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if c, ok := i.Conn.(*recordedConn); ok {
			c.begin(x)
		}
	}})
	resp, err := r.through.RoundTrip(req.WithContext(ctx))
	if err != nil {
		x.end(err)
		return nil, err
	}
	resp.Body = &recordedBody{resp.Body, x}
	return resp, nil
}

// end writes the files. What comes later on the connection is not part of the exchange.
func (x *exchange) end(failed error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended = true
	line := struct {
		N      int       `json:"n"`
		At     time.Time `json:"at"`
		TookMS float64   `json:"took_ms"`
		Error  string    `json:"error,omitempty"`
	}{N: x.n, At: x.began, TookMS: float64(time.Since(x.began).Microseconds()) / 1000}
	if failed != nil {
		line.Error = string(x.r.clean([]byte(failed.Error())))
	}
	b, err := json.Marshal(line)
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	name := filepath.Join(x.r.dir, fmt.Sprintf("%04d", x.n))
	_, err2 := x.r.index.Write(append(b, '\n'))
	x.r.err = errors.Join(x.r.err, err, err2,
		os.WriteFile(name+".request", x.r.clean(x.request), 0o600),
		os.WriteFile(name+".answer", x.r.clean(x.answer), 0o600))
}

// last is the number of the last exchange so far.
func (r *recorder) last() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// close returns the first error of a file.
func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(r.err, r.index.Close()); err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	return nil
}

// A recordedConn copies what it transfers to the exchange that has the connection. HTTP/1.1 has one
// at a time.
type recordedConn struct {
	net.Conn
	mu sync.Mutex
	x  *exchange // guarded by mu; nil: none yet
}

func (c *recordedConn) begin(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.x = x
}

func (c *recordedConn) add(b []byte, to func(*exchange) *[]byte) {
	c.mu.Lock()
	x := c.x
	c.mu.Unlock()
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		*to(x) = append(*to(x), b...)
	}
}

func (c *recordedConn) Write(b []byte) (int, error) {
	// Before it is sent: the answer may be here before Write has returned.
	c.add(b, func(x *exchange) *[]byte { return &x.request })
	return c.Conn.Write(b)
}

func (c *recordedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.add(b[:n], func(x *exchange) *[]byte { return &x.answer })
	return n, err
}

// A recordedBody ends its exchange when it is closed.
type recordedBody struct {
	io.ReadCloser
	x *exchange
}

func (b *recordedBody) Close() error {
	err := b.ReadCloser.Close()
	b.x.end(nil)
	return err
}
