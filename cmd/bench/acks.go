package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const connections = 256

// durableAcks is row 1.
func (b *bench) durableAcks(ctx context.Context) (finding, error) {
	l, err := order()
	if err != nil {
		return finding{}, err
	}
	null, err := serve(forgets{}, prometheus.NewRegistry(), twoStations())
	if err != nil {
		return finding{}, err
	}
	y, err := b.newYardstick(ctx, "row1", twoStations(), l)
	if err != nil {
		return finding{}, errors.Join(err, null.close())
	}
	var durable, nothing, ratios []float64
	var commit samples
	var sum commits
	for round := range pick(b, 5, 2) {
		n, err1 := b.round(ctx, null, l)
		d, c, err2 := b.freshRound(ctx, l)
		s, err3 := y.commits(pick(b, 100, 50))
		if err := errors.Join(err1, err2, err3); err != nil {
			return finding{}, errors.Join(err, null.close(), y.close())
		}
		b.say("  round %d: durable %.0f/s (%v), storing nothing %.0f/s", round+1, d, c, n)
		durable, nothing, ratios = append(durable, d), append(nothing, n), append(ratios, d/n)
		commit = append(commit, s...)
		sum = commits{sum.n + c.n, sum.seconds + c.seconds, sum.changes + c.changes}
	}
	ratio := median(durable) / median(nothing)
	return finding{
		Measured: fmt.Sprintf("%.0f acks/s durable ÷ %.0f acks/s storing nothing = %.2f (rounds %s); %v; one commit alone p50 %s, p99 %s",
			median(durable), median(nothing), ratio, list(ratios), sum, ms(commit.p50()), ms(commit.p99())),
		Values: map[string]float64{"durable_per_second": median(durable), "null_per_second": median(nothing), "ratio": ratio,
			"commit_p50": millis(commit.p50()), "commit_p99": millis(commit.p99())},
		Hit: ratio >= 0.40,
	}, errors.Join(null.close(), y.close())
}

// round hammers a kitchen once with new connections.
func (b *bench) round(ctx context.Context, k *kitchen, l letter) (perSecond float64, err error) {
	cr, err := gather(ctx, k.addr, connections)
	if err != nil {
		return 0, err
	}
	perSecond, err = b.hammer(ctx, cr, l, pick(b, time.Second, time.Second/2), pick(b, 4*time.Second, 2*time.Second))
	return perSecond, errors.Join(err, cr.close())
}

// freshRound hammers a kitchen whose store is new, so that no round is slower for what the
// ones before it have left.
func (b *bench) freshRound(ctx context.Context, l letter) (perSecond float64, c commits, err error) {
	path := b.path("fresh.db")
	k, err := b.kitchen(path, twoStations(), nil)
	if err != nil {
		return 0, c, err
	}
	perSecond, err = b.round(ctx, k, l)
	c, err2 := k.commits()
	return perSecond, c, errors.Join(err, err2, k.close(), removeStore(path))
}

// oneConnection is row 2: an order, a commit, an order that is not stored, and again.
func (b *bench) oneConnection(ctx context.Context) (finding, error) {
	l, err := order()
	if err != nil {
		return finding{}, err
	}
	y, err := b.newYardstick(ctx, "row2", twoStations(), l)
	if err != nil {
		return finding{}, err
	}
	null, err := serve(forgets{}, prometheus.NewRegistry(), twoStations())
	if err != nil {
		return finding{}, errors.Join(err, y.close())
	}
	path := b.path("row2.db")
	k, err := b.kitchen(path, twoStations(), nil)
	if err != nil {
		return finding{}, errors.Join(err, y.close(), null.close())
	}
	t, err := b.turns(ctx, k, null, y, l, pick(b, 2000, 300))
	c, err2 := k.commits()
	if err := errors.Join(err, err2, k.close(), null.close(), y.close(), removeStore(path)); err != nil {
		return finding{}, err
	}
	ack, commit := t.ack, t.commit
	ratio := over(ack.p50(), commit.p50())
	return finding{
		Measured: fmt.Sprintf("ack p50 %s (p99 %s) ÷ commit p50 %s (p99 %s) = %.2f, of %d each; an ack that stores nothing p50 %s; the queue counted %v",
			ms(ack.p50()), ms(ack.p99()), ms(commit.p50()), ms(commit.p99()), ratio, len(ack), ms(t.null.p50()), c),
		Values: map[string]float64{"ack_p50": millis(ack.p50()), "ack_p99": millis(ack.p99()), "null_p50": millis(t.null.p50()),
			"commit_p50": millis(commit.p50()), "commit_p99": millis(commit.p99()), "ratio": ratio},
		Hit: ratio <= 1.5,
	}, nil
}

// taken is how long things took that took turns.
type taken struct{ ack, null, commit samples }

func (b *bench) turns(ctx context.Context, k, null *kitchen, y *yardstick, l letter, n int) (t taken, err error) {
	durable, err := dial(ctx, k.addr)
	if err != nil {
		return t, err
	}
	defer durable.conn.Close()
	forgetful, err := dial(ctx, null.addr)
	if err != nil {
		return t, err
	}
	defer forgetful.conn.Close()
	warm := n / 20
	for i := range warm + n {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		began := time.Now()
		err1 := durable.post(l, b.ids.Add(1))
		acked := time.Now()
		err2 := forgetful.post(l, b.ids.Add(1))
		forgot := time.Now()
		commit, err3 := y.commit()
		if err := errors.Join(err1, err2, err3); err != nil {
			return t, err
		}
		if i >= warm {
			t.ack = append(t.ack, acked.Sub(began))
			t.null = append(t.null, forgot.Sub(acked))
			t.commit = append(t.commit, commit)
		}
	}
	return t, nil
}

// fullStore is row 4.
func (b *bench) fullStore(ctx context.Context) (finding, error) {
	s, err := b.largeStore(ctx)
	if err != nil {
		return finding{}, err
	}
	l, err := order()
	if err != nil {
		return finding{}, err
	}
	full, err := b.kitchen(s.path, twoStations(), steppedClock{})
	if err != nil {
		return finding{}, err
	}
	err = full.idle(ctx)
	keys, waiting := s.keys, full.waiting()
	var empty, filled, ratios []float64
	for round := 0; round < pick(b, 5, 2) && err == nil; round++ {
		before, _ := full.commits()
		f, err1 := b.round(ctx, full, l)
		after, _ := full.commits()
		e, c, err2 := b.freshRound(ctx, l)
		err = errors.Join(err1, err2)
		b.say("  round %d: full %.0f/s (%v), empty %.0f/s (%v)", round+1, f, after.since(before), e, c)
		empty, filled, ratios = append(empty, e), append(filled, f), append(ratios, f/e)
	}
	if err := errors.Join(err, full.close()); err != nil {
		return finding{}, err
	}
	ratio := median(filled) / median(empty)
	return finding{
		Measured: fmt.Sprintf("%.0f acks/s ÷ %.0f acks/s when empty = %.2f (rounds %s); %d keys, %d jobs waiting, %s",
			median(filled), median(empty), ratio, list(ratios), keys, waiting, s.size()),
		Values: map[string]float64{"full_per_second": median(filled), "empty_per_second": median(empty), "ratio": ratio},
		Hit:    ratio >= 0.85,
	}, nil
}

func list(v []float64) string {
	s := ""
	for i, x := range v {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprintf("%.2f", x)
	}
	return s
}
