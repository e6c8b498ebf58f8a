package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

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
// The commits it is compared with are made in the pauses, alone and at the same pace.
func (b *bench) busyKitchen(ctx context.Context) (finding, error) {
	const rate = 50
	rules, names := tenStations()
	letters, err := pairOrders(names)
	if err != nil {
		return finding{}, err
	}
	y, err := b.newYardstick(ctx, "row3", rules, letters[0])
	if err != nil {
		return finding{}, err
	}
	path := b.path("row3.db")
	k, err := b.kitchen(path, rules, nil)
	if err != nil {
		return finding{}, errors.Join(err, y.close())
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
	var ack, commit, hot samples
	var busy time.Duration
	cr, err := gather(ctx, k.addr, 64)
	for i := 0; i < pick(b, 6, 2) && err == nil; i++ {
		var a, c, h samples
		began := time.Now()
		a, err = b.pace(ctx, cr, letters, rate, pick(b, 6*time.Second, 3*time.Second))
		busy += time.Since(began)
		if err == nil {
			err = k.idle(ctx)
		}
		if err == nil {
			c, err = y.paced(pick(b, 200, 100), rate)
		}
		if err == nil {
			h, err = y.commits(pick(b, 200, 100))
		}
		ack, commit, hot = append(ack, a...), append(commit, c...), append(hot, h...)
	}
	c, err2 := k.commits()
	err = errors.Join(err, err2, cr.close(), d.Stop(ctx), k.close(), y.close(), removeStore(path))
	if err != nil {
		return finding{}, err
	}
	slowest := stations[0].tickets.Load()
	for _, s := range stations {
		slowest = min(slowest, s.tickets.Load())
	}
	perStation := float64(slowest) / busy.Seconds()
	ratio := over(ack.p99(), commit.p50())
	return finding{
		Measured: fmt.Sprintf("ack p99 %s (p50 %s) ÷ commit p50 %s = %.2f, of %d; that commit's own p99 is %s = %.2f, of %d; commits without pauses have p50 %s, p99 %s, which would make it %.2f; the slowest station settled %.1f tickets/s; %v",
			ms(ack.p99()), ms(ack.p50()), ms(commit.p50()), ratio, len(ack), ms(commit.p99()), over(commit.p99(), commit.p50()), len(commit),
			ms(hot.p50()), ms(hot.p99()), over(ack.p99(), hot.p50()), perStation, c),
		Values: map[string]float64{"ack_p50": millis(ack.p50()), "ack_p99": millis(ack.p99()), "commit_p50": millis(commit.p50()),
			"commit_p99": millis(commit.p99()), "hot_commit_p50": millis(hot.p50()), "hot_commit_p99": millis(hot.p99()),
			"ratio": ratio, "tickets_per_second_and_station": perStation},
		Hit: ratio <= 3 && perStation >= 9.5,
	}, nil
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
