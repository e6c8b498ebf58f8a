package directory

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"ticketrail/queue"
	"ticketrail/receiver/posapi"
	"ticketrail/receiver/sim"
)

const crowd = 10_000

// a crowd of employees at a hundred venues.
func crowded(n int) (*Directory, []string) {
	var venues []Venue
	for i := range 100 {
		venues = append(venues, Venue{ID: fmt.Sprintf("6f1c8f5e-52ad-4a0b-9e9b-%012x", i)})
	}
	d := New(Options{Venues: venues})
	l := list{people: map[id]string{}, whole: true}
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("0B9D3F6A-8C1E-4E53-a3c1-%012X", i*7919))
		l.add(posapi.Employee{ID: ids[i], Name: fmt.Sprintf("Jonathan %d.", i)})
	}
	v := (*d.venues.Load())[idOf(venues[42].ID)]
	v.roll.Store(v.roll.Load().after(l, time.Hour))
	zone := "Australia/Melbourne"
	v.zone.Store(&zone)
	return d, append(ids, venues[42].ID)
}

func TestALookUpAllocatesNothing(t *testing.T) {
	d, ids := crowded(100)
	venue := ids[100]
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := d.Name(venue, ids[17]); !ok {
			t.Error("not known")
		}
		if _, ok := d.Name(venue, "17"); ok {
			t.Error("known")
		}
		if _, ok := d.Zone(venue); !ok {
			t.Error("no zone")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkName(b *testing.B) {
	d, ids := crowded(crowd)
	venue := ids[crowd]
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, ok := d.Name(venue, ids[i%crowd]); !ok {
			b.Fatal("not known")
		}
		i += 7
	}
}

func BenchmarkNameOfNobody(b *testing.B) {
	d, ids := crowded(crowd)
	venue := ids[crowd]
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := d.Name(venue, "0b9d3f6a-8c1e-4e53-a3c1-ffffffffffff"); ok {
			b.Fatal("known")
		}
	}
}

func BenchmarkZone(b *testing.B) {
	d, ids := crowded(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := d.Zone(ids[1]); !ok {
			b.Fatal("not known")
		}
	}
}

// BenchmarkRefresh is 10,000 employees asked for over HTTP, page by page, and synced to disk.
func BenchmarkRefresh(b *testing.B) {
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
			v := d.sorted()[0]
			for b.Loop() {
				if res, err := d.once(context.Background(), c, job{v, employees}); res != ok {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if s := d.Status()[0]; s.Employees != crowd || s.StoreErr != nil {
				b.Fatal(s)
			}
			if s := New(Options{Shelf: q.Shelf("directory"), Venues: []Venue{{ID: harbour}}}).Status()[0]; s.Employees != crowd {
				b.Fatal(s)
			}
		})
	}
}
