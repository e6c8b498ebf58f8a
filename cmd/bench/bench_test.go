package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/deploy/assert"
	"ticketrail/queue"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

func TestAQuantileIsOneOfTheSamplesRoundedUp(t *testing.T) {
	var s samples
	for i := 100; i >= 1; i-- { // descending
		s = append(s, time.Duration(i))
	}
	for p, want := range map[float64]time.Duration{0.01: 1, 0.07: 7, 0.50: 50, 0.99: 99, 0.991: 100, 1: 100} {
		assert.Equal(t, quantile(s, p), want, p)
	}
	assert.Equal(t, s[0], 100, "the samples were sorted in place")
	assert.Equal(t, (samples{5, 9}).p99(), 9, "p99 of two samples is")
	assert.Equal(t, (samples{}).p99(), 0, "p99 of nothing is")
}

func answer(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		status, len(body), body)
}

func TestOnlyAStoredNewRequestCounts(t *testing.T) {
	const stored = `{"status":"SUCCESS","duplicate":false,"jobs":1}`
	for name, c := range map[string]struct {
		wire string
		ok   bool
	}{
		"stored":          {answer("200 OK", stored), true},
		"a duplicate":     {answer("200 OK", `{"status":"SUCCESS","duplicate":true,"jobs":0}`), false},
		"refused":         {answer("503 Service Unavailable", `{"status":"ERROR","error":{"code":"too_slow"}}`), false},
		"stored, but 201": {answer("201 Created", stored), false},
		"empty":           {answer("200 OK", ""), false},
		"cut off":         {answer("200 OK", stored)[:110], false},
		"nothing":         {"", false},
	} {
		err := readAnswer(bufio.NewReader(strings.NewReader(c.wire)))
		assert.Equal(t, err == nil, c.ok, name, err)
	}
	const duplicate = `{"status":"SUCCESS","duplicate":true,"jobs":0}`
	two := bufio.NewReader(strings.NewReader(answer("200 OK", stored) + answer("200 OK", duplicate)))
	assert.NoError(t, readAnswer(two))
	assert.True(t, readAnswer(two) != nil, "the second answer on a connection was not read")
}

// opened is the order as the receiver reads it.
func (o order) opened(t *testing.T) contract.PrintRequest {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(o.withNewID())))
	assert.NoError(t, err)
	body, err := io.ReadAll(req.Body)
	assert.NoError(t, err)
	r, err := contract.Open(body, contract.Strict)
	assert.NoError(t, err)
	return r
}

func TestEachOrderHasANewIDAndMakesItsTickets(t *testing.T) {
	rules := plan.Config{Fallback: "none"}
	for i := range 2 {
		when := fmt.Sprintf("item.courseName == %q", station(i))
		rules.Routes = append(rules.Routes, plan.Route{When: when, To: []string{station(i)}})
	}
	p, err := plan.Compile(rules)
	assert.NoError(t, err)
	seen := map[string]bool{}
	for _, o := range []order{newOrder(0, 0), newOrder(1, 1), newOrder(0, 1)} {
		for range 2 {
			r := o.opened(t)
			assert.True(t, !seen[r.ID], r.ID)
			seen[r.ID] = true
			drafts := p.Split(r, plan.Venue{ID: venueID}, deviceID, time.Now(), nil).Request.Drafts
			assert.True(t, len(drafts) == o.tickets && drafts[0].Station != "none", len(drafts), drafts[0].Station,
				o.tickets)
		}
	}
}

func TestTheYardstickWritesAboutWhatAcceptingAnOrderWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.db")
	q, err := queue.Open(queue.Options{Path: path, Reserve: -1})
	assert.NoError(t, err)
	p, err := plan.Compile(plan.Config{Fallback: station(0)})
	assert.NoError(t, err)
	venue := plan.Venue{ID: venueID, Name: "Harbour Grill"}
	r := p.Split(newOrder(0, 0).opened(t), venue, deviceID, time.Now(), nil).Request
	if _, err := q.Accept(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	assert.NoError(t, q.Close())
	want, size := 0, 0
	for _, r := range records {
		want += r.key + r.value
	}
	db, err := bolt.Open(path, 0o600, nil)
	assert.NoError(t, err)
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, k *bolt.Bucket) error {
			if string(name) != "meta" { // written once, when the file is made
				size += leaves(k)
			}
			return nil
		})
	})
	assert.True(t, err == nil && size >= want*4/5 && size <= want*5/4, "an accepted order leaves", size, want, err)
	y := newYardstick(filepath.Join(t.TempDir(), "yardstick.db"))
	s, err := atRate([]order{newOrder(0, 1)}, 1000, 3*time.Millisecond).post(t.Context(), y)
	assert.True(t, err == nil && len(s) == 3 && y.n == 6, "3 orders of 2 tickets", len(s), y.n, err)
	assert.NoError(t, y.db.Close())
}

// leaves is the size of all keys and values.
func leaves(k *bolt.Bucket) (size int) {
	_ = k.ForEach(func(key, value []byte) error {
		if inner := k.Bucket(key); inner != nil {
			size += leaves(inner)
		} else {
			size += len(key) + len(value)
		}
		return nil
	})
	return size
}

func TestTicketsAreOpenUntilTheyArePrinted(t *testing.T) {
	m := metrics(`# TYPE ticketrail_queue_jobs gauge
ticketrail_queue_jobs{station="s00",state="pending"} 1
ticketrail_queue_jobs{state="held",station="s01"} 2
ticketrail_queue_jobs{station="s01",state="printing"} 4
ticketrail_queue_jobs{station="s01",state="sent"} 8
ticketrail_queue_jobs_more{state="held"} 1.6e+01
`)
	assert.Equal(t, m.open(), 7)
	assert.Equal(t, m.sum("ticketrail_queue_jobs_more{.*}"), 16, "the sum of the one series is")
}
