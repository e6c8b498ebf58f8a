package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// model is what all printers are: it answers everything it is asked.
const model = "epson-tm-t88"

// A kitchen is a daemon with simulated printers, which are as fast as the computer.
type kitchen struct {
	*daemon
	printers []*printer
	tickets  int // that have been ordered
}

// A printer is one that notes when tickets come.
type printer struct {
	*virtual.Printer

	mu  sync.Mutex  // guards out
	out []time.Time // when each ticket was out, in order, since the last look
}

// kitchen starts n printers and a daemon with a new store, has one ticket come out of each
// printer, so that it has been asked what it can do, and has the kitchen used.
func (b *bench) kitchen(ctx context.Context, n int, s setup, use func(*kitchen) error) error {
	k, store := &kitchen{}, b.path("kitchen.db")
	like, ok := profile.Lookup(model)
	if !ok {
		return fmt.Errorf("no profile %s", model)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		v, o := &printer{}, virtual.OptionsFor(like)
		o.Keep, o.Remembers = 1, true
		o.OnTicket = func(virtual.Ticket) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.out = append(v.out, time.Now())
		}
		v.Printer = virtual.New(o)
		serving.Go(func() { _ = v.Serve(ctx, l) })
		k.printers, s.printers = append(k.printers, v), append(s.printers, l.Addr().String())
	}
	err := b.daemon(ctx, store, s, func(d *daemon) error {
		k.daemon = d
		if _, _, err := k.pace(ctx, ordersForEach(n), n, time.Second); err != nil {
			return fmt.Errorf("the first tickets: %w", err)
		}
		return use(k)
	})
	for _, p := range k.printers {
		if list := p.Problems(); len(list) > 0 {
			err = errors.Join(err, fmt.Errorf("a printer complains of %d things, first of %s", len(list), list[0]))
		}
	}
	return errors.Join(err, os.Remove(store))
}

// ordersForEach is one order for each of n stations.
func ordersForEach(n int) (all []order) {
	for i := range n {
		all = append(all, newOrder(i, i))
	}
	return all
}

// settled waits until every ticket that was ordered is out, once, and the daemon knows it.
func (k *kitchen) settled(ctx context.Context) error {
	for began := time.Now(); ; {
		m, err := k.scrape()
		if err := errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		printed, confirmed, open := 0, int(m.sum("ticketrail_station_tickets_total", "outcome", ticket.Confirmed)), m.open()
		for _, p := range k.printers {
			printed += p.TicketCount()
		}
		if printed == k.tickets && confirmed == k.tickets && open == 0 {
			return nil
		}
		if time.Since(began) > time.Minute {
			return fmt.Errorf("a minute after %d tickets were ordered %d are on paper, %d confirmed, %d open", k.tickets, printed, confirmed, open)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// pace posts orders at a fixed rate, waits until every ticket of them is out, and returns how
// many tickets a second came out of each printer in time. That is as long as the load lasts,
// from the moment of the first order for it; orders[i] has a ticket for printer i.
func (k *kitchen) pace(ctx context.Context, orders []order, rate int, lasts time.Duration) (p paced, perSecond []float64, err error) {
	if p, err = pace(ctx, k.webhook, orders, rate, lasts); err != nil {
		return p, nil, err
	}
	for i := range p.took {
		k.tickets += orders[i%len(orders)].tickets
	}
	err = k.settled(ctx)
	for i := range orders {
		v := k.printers[i]
		v.mu.Lock()
		n, _ := slices.BinarySearchFunc(v.out, p.due(i).Add(lasts), time.Time.Compare)
		v.out = nil
		v.mu.Unlock()
		perSecond = append(perSecond, float64(n)/lasts.Seconds())
	}
	return p, perSecond, err
}

// questions is more than the bytes that the daemon asks a printer how it is with before a
// ticket, and less than a ticket has, which comes in one piece.
const questions = 64

// firstByte posts one order on a connection of its own, waits until it is settled, and returns
// how long the first byte of its ticket took.
func (k *kitchen) firstByte(ctx context.Context, o order) (took time.Duration, err error) {
	k.tickets += o.tickets
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = onConnections(ctx, k.webhook, 1, func(c *client) error {
		began, v := time.Now(), k.printers[0]
		before := v.BytesRead()
		err := errors.Join(c.post(o), v.WaitBytes(limited, before+questions))
		took = time.Since(began)
		return err
	})
	return took, errors.Join(err, k.settled(ctx))
}
