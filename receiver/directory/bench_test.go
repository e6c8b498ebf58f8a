package directory

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"ticketrail/queue"
	"ticketrail/receiver/posapi"
	"ticketrail/receiver/sim"
)

// BenchmarkRefresh is 10,000 employees asked for over HTTP, page by page, and synced to disk.
func BenchmarkRefresh(b *testing.B) {
	const crowd = 10_000
	for _, limit := range []int{0, 100} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			service := sim.New(sim.Options{ClientID: "id", ClientSecret: "secret", Venues: []sim.Venue{{ID: harbour, Employees: crowd}}})
			server := httptest.NewServer(service.Handler())
			defer server.Close()
			c, err := posapi.New(posapi.Options{
				BaseURL: server.URL, ClientID: "id", Secret: func() (string, error) { return "secret", nil }, PageLimit: limit,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			q, err := queue.Open(queue.Options{Path: filepath.Join(b.TempDir(), "queue.db"), Reserve: -1})
			if err != nil {
				b.Fatal(err)
			}
			defer q.Close()
			d := New(Options{Source: c, Shelf: q.Shelf("directory"), Venues: []Venue{{ID: harbour}}})
			task := d.sorted()[0].tasks[0]
			for b.Loop() {
				if res, err := d.once(context.Background(), c, task); res != ok {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if s := New(Options{Shelf: q.Shelf("directory"), Venues: []Venue{{ID: harbour}}}).Status()[0]; s.Employees != crowd {
				b.Fatal(s)
			}
		})
	}
}
