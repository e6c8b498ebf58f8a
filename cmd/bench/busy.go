package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// quickStation takes a ticket as fast as the queue lets it: what is measured is the store.
type quickStation struct{ tickets atomic.Int64 }

func (s *quickStation) Print(ctx context.Context, _ ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	if err := begin(ctx); err != nil {
		return "", err
	}
	s.tickets.Add(1)
	return ticket.Sent, nil
}

// busyKitchen is row 3: orders come in at fixed moments while ten stations drain their lines.
// The commits it is compared with are made in the pauses, alone and at the same pace; so are
// orders that are not stored, which show what of it is the handler and the sleeping machine.
func (b *bench) busyKitchen(ctx context.Context) (finding, error) {
	rules, names := tenStations()
	letters, err := pairOrders(names)
	if err != nil {
		return finding{}, err
	}
	y, err := b.newYardstick(ctx, "row3", rules, letters[0])
	if err != nil {
		return finding{}, err
	}
	null, err := serve(forgets{}, prometheus.NewRegistry(), rules)
	if err != nil {
		return finding{}, errors.Join(err, y.close())
	}
	path := b.path("row3.db")
	k, err := b.kitchen(path, rules, nil)
	if err != nil {
		return finding{}, errors.Join(err, y.close(), null.close())
	}
	d := dispatch.New(dispatch.Options{Queue: dispatch.From(k.queue), Logger: logger()})
	var stations []*quickStation
	var lines []dispatch.Line
	for _, n := range names {
		s := &quickStation{}
		stations = append(stations, s)
		lines = append(lines, dispatch.Line{Name: n, Station: s, ExpireAfter: 4 * time.Hour})
	}
	d.Set(lines)
	e := &evening{kitchen: k, null: null, yardstick: y, letters: letters}
	for i := 0; i < pick(b, 12, 2) && err == nil; i++ {
		err = e.round(ctx, b)
	}
	c, err2 := k.commits()
	err = errors.Join(err, err2, d.Stop(ctx), k.close(), null.close(), y.close(), removeStore(path))
	if err != nil {
		return finding{}, err
	}
	slowest := stations[0].tickets.Load()
	for _, s := range stations {
		slowest = min(slowest, s.tickets.Load())
	}
	return e.finding(float64(slowest)/e.busy.Seconds(), c), nil
}

// eveningRate is how many orders come in a second.
const eveningRate = 50

// An evening is row 3 in rounds, so that the machine's moods fall on all of it.
type evening struct {
	kitchen, null *kitchen
	yardstick     *yardstick
	letters       []letter

	ack, nothing samples // at the pace of the orders
	awake        samples // ack, without those that were sent late
	commit       samples // at the same pace
	hot          samples // commits without pauses
	busy         time.Duration
}

func (e *evening) round(ctx context.Context, b *bench) error {
	began := time.Now()
	ack, err := b.pacedAt(ctx, e.kitchen, e.letters, eveningRate, pick(b, 6*time.Second, 3*time.Second))
	if err != nil {
		return err
	}
	e.busy += time.Since(began)
	if err := e.kitchen.idle(ctx); err != nil {
		return err
	}
	nothing, err := b.pacedAt(ctx, e.null, e.letters, eveningRate, 2*time.Second)
	if err != nil {
		return err
	}
	commit, err := e.yardstick.paced(pick(b, 200, 100), eveningRate)
	if err != nil {
		return err
	}
	hot, err := e.yardstick.commits(pick(b, 200, 100))
	e.ack, e.awake, e.nothing = append(e.ack, ack.took...), append(e.awake, ack.awake()...), append(e.nothing, nothing.took...)
	e.commit, e.hot = append(e.commit, commit...), append(e.hot, hot...)
	return err
}

func (e *evening) finding(perStation float64, c commits) finding {
	ratio := over(e.ack.p99(), e.commit.p50())
	return finding{
		Measured: fmt.Sprintf("ack p99 %s (p50 %s) ÷ commit p50 %s = %.2f, of %d; the commit's own p99 is %s = %.2f; "+
			"without the %d that were sent more than %v late the ack's p99 is %s = %.2f; "+
			"commits without pauses have p50 %s (p99 %s), which would make it %.2f; an ack that stores nothing p50 %s, p99 %s; "+
			"the slowest station settled %.1f tickets/s; %v",
			ms(e.ack.p99()), ms(e.ack.p50()), ms(e.commit.p50()), ratio, len(e.ack), ms(e.commit.p99()), over(e.commit.p99(), e.commit.p50()),
			len(e.ack)-len(e.awake), stall, ms(e.awake.p99()), over(e.awake.p99(), e.commit.p50()),
			ms(e.hot.p50()), ms(e.hot.p99()), over(e.ack.p99(), e.hot.p50()), ms(e.nothing.p50()), ms(e.nothing.p99()),
			perStation, c),
		Values: map[string]float64{"ack_p50": millis(e.ack.p50()), "ack_p99": millis(e.ack.p99()), "awake_ack_p99": millis(e.awake.p99()), "null_p50": millis(e.nothing.p50()),
			"null_p99": millis(e.nothing.p99()), "commit_p50": millis(e.commit.p50()), "commit_p99": millis(e.commit.p99()),
			"hot_commit_p50": millis(e.hot.p50()), "hot_commit_p99": millis(e.hot.p99()), "ratio": ratio,
			"tickets_per_second_and_station": perStation},
		Hit: ratio <= 3 && perStation >= 9.5,
	}
}

// pacedAt paces a kitchen with new connections: one that is silent for long loses its own.
func (b *bench) pacedAt(ctx context.Context, k *kitchen, letters []letter, rate int, lasts time.Duration) (paced, error) {
	cr, err := gather(ctx, k.addr, 64)
	if err != nil {
		return paced{}, err
	}
	p, err := b.pace(ctx, cr, letters, rate, lasts)
	return p, errors.Join(err, cr.close())
}

// waiting counts the jobs of all stations that are not finished.
func (k *kitchen) waiting() int {
	n := 0
	for _, s := range k.queue.Stations() {
		n += s.Pending + s.Held + s.Printing
	}
	return n
}

// idle waits until the queue has committed nothing for a while: the lines have stood still
// and old history is gone.
func (k *kitchen) idle(ctx context.Context) error {
	last, since := -1.0, time.Now()
	for time.Since(since) < 300*time.Millisecond {
		c, err := k.commits()
		if err != nil {
			return err
		}
		if c.n != last {
			last, since = c.n, time.Now()
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
