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
)

func TestAReceiverThatWasAwayIsToldEveryOutcomeAlsoAfterAKill(t *testing.T) {
	var mu sync.Mutex
	away, told := true, map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var event struct{ Type string }
		body, err := io.ReadAll(r.Body)
		if away || err != nil || json.Unmarshal(body, &event) != nil {
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
	k.kill()

	mu.Lock()
	away = false
	mu.Unlock()
	k.start()
	err := eventually(func() error {
		mu.Lock()
		defer mu.Unlock()
		if told["ticket.accepted"] != 1 || told["ticket.out"] != 1 {
			return fmt.Errorf("it was told %v", told)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	k.stop()
}
