package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	store "ticketrail/receiver/relay"
	"ticketrail/receiver/source"
)

func TestWithoutItsServersARelayAnswers503AlsoForAVenueItDoesNotKnow(t *testing.T) {
	slow.Test(t) // it waits for a server that is down
	c, a := opened(t)
	v := store.VenueEntry{ID: grill, Name: "Grill"}
	assert.NoError(t, a.Add(t.Context(), v, filepath.Join(c.dir, "grill.token")))
	r := c.start(true)
	if status := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Fatalf("an order is answered %d", status)
	}
	ready := func(want int) {
		t.Helper()
		c.until(fmt.Sprint("readyz says ", want), func() error {
			if status, text := r.get("/readyz"); status != want {
				return errors.New(text)
			}
			return nil
		})
	}
	ready(http.StatusOK)
	c.server.Stop()
	ready(http.StatusServiceUnavailable)
	for _, venue := range []string{grill, bar} {
		assert.Equal(t, r.post(venue, "b", "Fish"), http.StatusServiceUnavailable, venue)
	}
	late := c.start(false) // it waits for the servers
	if status, text := late.get("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("before it has seen the servers it says %s", text)
	}
	c.server.Start()
	for _, one := range []*runningRelay{r, late} {
		one.accepts(grill, "b")
		assert.Equal(t, one.settled(bar, "b", "Fish"), http.StatusForbidden, "the unknown venue")
	}

	c.edit("replicas: 1", "replicas: 9")
	r.reload <- syscall.SIGHUP
	c.until("a wrong file is refused", func() error {
		if _, text := r.get("/metrics"); !strings.Contains(text, "ticketrail_config_last_reload_successful 0") {
			return errors.New("the metrics say that it was loaded")
		}
		return nil
	})
	assert.Equal(t, r.settled(grill, "c", "Fish"), http.StatusOK, "after a wrong file")
}

// TestABoxFetchesThroughTheDoorOfTheWebhook, and its renewed token is the only one at once. The receiver's allow_from
// is for the service.
func TestABoxFetchesThroughTheDoorOfTheWebhook(t *testing.T) {
	c, a := opened(t)
	c.edit("receiver: {", "receiver: { allow_from: [ 192.0.2.0/24 ], ")
	file := filepath.Join(c.dir, "grill.token")
	assert.NoError(t, a.Add(t.Context(), store.VenueEntry{ID: grill, Name: "Grill"}, file))
	old, err := config.Source{TokenFile: file}.Token()
	assert.NoError(t, err)
	r := c.start(true)
	c.edit("allow_from: [ 192.0.2.0/24 ], ", "")
	r.reload <- syscall.SIGHUP
	r.accepts(grill, "a")
	took := make(chan source.Arrival, 10)
	next := func() (one source.Arrival) {
		for one = range took {
			if one.ID != "" { // a body that was refused before the reload is for the rejects of the box
				break
			}
		}
		return one
	}
	token := new(atomic.Value)
	token.Store(old)
	box := source.New(source.Options{URL: r.boxes, Venue: grill, Transport: source.Transport(), Logger: slog.Default(),
		Token:  func() (string, error) { return token.Load().(string), nil },
		Report: func() source.Report { return source.Report{} },
		Take:   func(_ context.Context, one source.Arrival) error { took <- one; return nil }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- box.Run(ctx) }()
	if one := next(); one.ID != "a" || one.Device != "T1" {
		t.Errorf("the box took %+v", one)
	}
	assert.NoError(t, c.admin().Renew(t.Context(), store.VenueEntry{ID: grill, Name: "Grill"}, file))
	c.until("the box is told that its token has ended", func() error {
		if err := box.Status().Err; !errors.Is(err, source.ErrToken) {
			return fmt.Errorf("its status is %v", err)
		}
		return nil
	})
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), old) {
		t.Errorf("the file has the token of before: %v", err)
	}
	r.settled(grill, "b", "Burger")
	now, err := config.Source{TokenFile: file}.Token()
	assert.NoError(t, err)
	token.Store(now)
	assert.Equal(t, next().ID, "b", "with the new token")
	cancel()
	assert.NoError(t, <-done)
}

func TestATokenReplacesAFileAndNoFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "grill.token")
	assert.NoError(t, os.WriteFile(file, []byte("old"), 0o644))
	if err := writeSecret(dir, "new"); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder: %v", err)
	}
	empty := t.TempDir()
	assert.True(t, writeSecret(empty, "new") != nil, "an empty folder is replaced")
	assert.NoError(t, writeSecret(file, "new"))
	text, err := os.ReadFile(file)
	if info, statErr := os.Stat(file); err != nil || statErr != nil || string(text) != "new\n" || info.Mode() != 0o600 {
		t.Errorf("%q, %v, %v %v", text, info, err, statErr)
	}
}
