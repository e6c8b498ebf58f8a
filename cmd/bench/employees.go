package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"ticketrail/receiver/directory"
	"ticketrail/receiver/posapi"
	"ticketrail/receiver/sim"
)

// staff is how many people work at the venue of row 11: far more than at any, so that a chain
// that keeps all of them in one list is no surprise.
const staff = 10_000

// employees is row 11: the names of a venue, from the first question to the service until
// they would survive a power cut, and what it costs to look one up.
func (b *bench) employees(ctx context.Context) (finding, error) {
	path := b.path("row11.db")
	k, err := b.kitchen(path, twoStations(), nil)
	if err != nil {
		return finding{}, err
	}
	// The service's own page has 20; who may, asks for more.
	var took [2]samples
	var names *directory.Directory
	for range pick(b, 5, 2) {
		for i, limit := range []int{0, 100} {
			var d time.Duration
			if d, names, err = b.learn(ctx, k, limit); err != nil {
				return finding{}, errors.Join(err, k.close())
			}
			took[i] = append(took[i], d)
		}
	}
	// Others in this process allocate a little too.
	lookup, err := b.lookUp(ctx, names)
	if err := errors.Join(err, k.close(), removeStore(path)); err != nil {
		return finding{}, err
	}
	twenty, hundred := took[0], took[1]
	return finding{
		Measured: fmt.Sprintf("median %s, slowest %s of %d in pages of 20; in pages of 100 median %s; to look one up takes %d ns (p99 %d ns) and %.0f allocations",
			ms(twenty.p50()), ms(twenty.quantile(1)), len(twenty), ms(hundred.p50()), lookup.took.p50(), lookup.took.p99(), lookup.allocs),
		Values: map[string]float64{"pages_of_20": millis(twenty.p50()), "pages_of_20_slowest": millis(twenty.quantile(1)), "pages_of_100": millis(hundred.p50()),
			"lookup_p50": millis(lookup.took.p50()), "lookup_allocs": lookup.allocs},
		Hit: twenty.p50() <= 2*time.Second && lookup.allocs < 0.01,
	}, nil
}

// learn has a new directory ask a service that has never been asked, over a real socket, and
// keep what it says in a real queue.
func (b *bench) learn(ctx context.Context, k *kitchen, limit int) (time.Duration, *directory.Directory, error) {
	service := sim.New(sim.Options{ClientID: "id", ClientSecret: "secret", Venues: []sim.Venue{{ID: venueID, Employees: staff}}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	asked := make(chan time.Time, 1)
	var once sync.Once
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { asked <- time.Now() }) // it waits for some random seconds before it asks
		service.Handler().ServeHTTP(w, r)
	})}
	go server.Serve(l)
	defer server.Close()
	client, err := posapi.New(posapi.Options{
		BaseURL: "http://" + l.Addr().String(), ClientID: "id", Secret: func() (string, error) { return "secret", nil }, PageLimit: limit,
	})
	if err != nil {
		return 0, nil, err
	}
	defer client.Close()
	kept := keeper{k.queue.Shelf(fmt.Sprintf("directory%d", b.ids.Add(1))), make(chan time.Time, 1)}
	d := directory.New(directory.Options{Source: client, Shelf: kept, Venues: []directory.Venue{{ID: venueID, Zoned: true}}, Logger: logger()})
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	var asking sync.WaitGroup
	asking.Go(func() { d.Run(ctx) })
	defer asking.Wait()
	defer cancel()
	select {
	case at := <-kept.at:
		if s := d.Status()[0]; s.Employees != staff || !s.Whole || s.EmployeesErr != nil {
			return 0, nil, fmt.Errorf("%d employees were learned, want %d: %v", s.Employees, staff, s)
		}
		return at.Sub(<-asked), d, nil
	case <-ctx.Done():
		return 0, nil, fmt.Errorf("the list of employees did not come: %w: %v", context.Cause(ctx), d.Status())
	}
}

// A keeper is a shelf that says when something was on it for good.
type keeper struct {
	directory.Shelf
	at chan time.Time
}

func (k keeper) Put(ctx context.Context, key string, value []byte) error {
	err := k.Shelf.Put(ctx, key, value)
	if err == nil {
		select {
		case k.at <- time.Now():
		default:
		}
	}
	return err
}

func (b *bench) lookUp(ctx context.Context, d *directory.Directory) (figure, error) {
	var ids []string
	for i := range staff {
		ids = append(ids, sim.Staff(0, venueID, i).ID)
	}
	i, unknown := 0, 0
	f, err := b.each(ctx, 2000, func() {
		if _, ok := d.Name(venueID, ids[i]); !ok {
			unknown++
		}
		i = (i + 7) % len(ids) // never the one that the processor has at hand
	})
	if unknown > 0 {
		err = errors.Join(err, fmt.Errorf("%d look-ups found nobody", unknown))
	}
	return f, err
}
