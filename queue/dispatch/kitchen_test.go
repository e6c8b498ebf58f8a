package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// A kitchen is a dispatcher over the fake queue, in a bubble.
type kitchen struct {
	*Dispatcher
	t    *testing.T
	q    *fakeQueue
	logs *logBook
	reg  *prometheus.Registry
}

// inKitchen runs f in a bubble. Whatever f leaves running is stopped at its end and must be
// gone then: the bubble fails otherwise.
func inKitchen(t *testing.T, f func(t *testing.T, k *kitchen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &kitchen{t: t, q: newFakeQueue(t), logs: &logBook{}, reg: prometheus.NewPedanticRegistry()}
		k.Dispatcher = New(Options{
			Queue:      From(k.q),
			Logger:     slog.New(slog.NewJSONHandler(k.logs, nil)),
			Registerer: k.reg,
		})
		t.Cleanup(func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := k.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
		f(t, k)
	})
}

// printer makes a working printer. It has to be Set.
func (k *kitchen) printer() *fakePrinter { return &fakePrinter{t: k.t} }

// pass lets the time go by and everything settle.
func (k *kitchen) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (k *kitchen) status(name string) Status {
	k.t.Helper()
	for _, s := range k.Status() {
		if s.Name == name {
			return s
		}
	}
	k.t.Fatalf("no status of %q", name)
	return Status{}
}

func (k *kitchen) wantPaper(p *fakePrinter, want ...string) {
	k.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), p.printed()); diff != "" {
		k.t.Errorf("what came out (-want +got):\n%s", diff)
	}
}

func (k *kitchen) wantEnds(want ...string) {
	k.t.Helper()
	k.q.mu.Lock()
	defer k.q.mu.Unlock()
	if diff := cmp.Diff(want, k.q.log); diff != "" {
		k.t.Errorf("how leases ended (-want +got):\n%s", diff)
	}
}

// stopNow is a Stop whose patience is at its end.
func (k *kitchen) stopNow() error {
	ctx, cancel := context.WithCancel(k.t.Context())
	cancel()
	return k.Stop(ctx)
}

// A logBook collects JSON log lines.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// lines returns "LEVEL message" of each line, and the last line's attributes.
func (b *logBook) lines(t *testing.T) (short []string, last map[string]any) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range strings.Lines(b.buf.String()) {
		last = map[string]any{}
		if err := json.Unmarshal([]byte(s), &last); err != nil {
			t.Fatal(err)
		}
		short = append(short, last["level"].(string)+" "+last["msg"].(string))
	}
	return short, last
}
