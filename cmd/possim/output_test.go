package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/receiver/contract"
)

// A poster is an integrator that posts each order to a display until that takes it, and counts
// orders in a file. It never forgets an id.
type poster struct {
	display, file string
	sending       sync.WaitGroup
	stop          context.Context

	mu   sync.Mutex
	seen map[string]bool
}

func (p *poster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	q, err2 := contract.Open(body, contract.Strict)
	if err != nil || err2 != nil || r.Header.Get(contract.HeaderDevice) == "" ||
		r.Header.Get(contract.HeaderVenue) != sampleVenue {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[q.ID] {
		return
	}
	p.seen[q.ID] = true
	if f, err := os.OpenFile(p.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, q.ID)
		f.Close()
	}
	p.sending.Go(func() {
		for p.stop.Err() == nil {
			c := http.Client{Timeout: testTime}
			resp, err := c.Post(p.display, "application/json", bytes.NewReader(body))
			if err == nil {
				resp.Body.Close()
				return
			}
			select {
			case <-p.stop.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

func TestADisplayOrACommandShowsWhatComesOut(t *testing.T) {
	host := fmt.Sprintf("127.%d.%d.%d:9200", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	file := filepath.Join(t.TempDir(), "orders")
	for name, c := range map[string]struct {
		flags       []string
		pass, other string // rows that pass, and a line of the others
	}{
		"display": {
			[]string{"--listen-display", host}, "or display does not answer",
			"unseen  6.4  what comes out: orders while",
		},
		"command": {
			[]string{"--count-command", "wc -l < " + file}, "dishes under another id",
			"the number of tickets does not show it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := &poster{display: "http://" + host + "/", file: file, stop: ctx, seen: map[string]bool{}}
			s := httptest.NewServer(p)
			_, out, errs := possim(t, "", append([]string{
				"check", "--count", "5", "--concurrency", "4", "--quiet", "300ms", "--within", "2m", s.URL,
			}, c.flags...)...)
			cancel()
			s.Close()
			p.sending.Wait()
			passed := false
			for line := range strings.Lines(out) {
				passed = passed ||
					strings.HasPrefix(line, "pass    6.4  what comes out: ") && strings.Contains(line, c.pass)
			}
			if _, rest, _ := strings.Cut(out, "what comes out"); !passed || !strings.Contains(out, c.other) ||
				strings.Contains(rest, "FAIL") {
				t.Errorf("says\n%s%s", out, errs)
			}
		})
	}
}

func TestACommandThatPrintsNoNumberShowsNothing(t *testing.T) {
	for command, want := range map[string]string{
		"echo many": `said "many", which is not a number`, "echo oops >&2; exit 3": "oops", "echo -1": `said "-1"`,
	} {
		if n, err := countCommand(command).Count(t.Context(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d, %v", command, n, err)
		}
	}
}
