package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"ticketrail/deploy/assert"
)

func TestAReceiverThatWasAwayIsToldEveryOutcomeAlsoAfterAKill(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	away, told, ids := true, map[string]int{}, map[string]string{} // by type
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var event struct{ Type string }
		body, err := io.ReadAll(r.Body)
		assert.True(t, err == nil && json.Unmarshal(body, &event) == nil, "it was sent", string(body), err)
		id, known := ids[event.Type]
		ids[event.Type] = r.Header.Get("webhook-id")
		assert.True(t, !known || ids[event.Type] == id, event.Type, id, ids[event.Type])
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		told[event.Type]++
	}))
	defer receiver.Close()
	k := newDaemon(t, "", "grill")
	secret := filepath.Join(k.dir, "whsec")
	writeFiles(t, map[string]string{secret: "whsec_QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD\n"})
	edit(t, k.conf, "\nroutes:", fmt.Sprintf("\noutcomes: { url: %q, secret_file: %s }\nroutes:", receiver.URL, secret))
	k.start()
	k.accept(newOrder("A1", "grill"))
	k.waitUntilPrinted()
	until := func(done func() bool) {
		t.Helper()
		must(t, eventually(func() error {
			mu.Lock()
			defer mu.Unlock()
			if !done() {
				return fmt.Errorf("it was asked %v and told %v", ids, told)
			}
			return nil
		}))
	}
	until(func() bool { return ids["ticket.accepted"] != "" })
	k.kill()

	mu.Lock()
	away = false
	mu.Unlock()
	k.start()
	until(func() bool { return told["ticket.accepted"] == 1 && told["ticket.out"] == 1 })
	k.stop()
}
