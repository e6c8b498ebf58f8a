package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ticketrail/receiver/sim"
)

// play shows what a relay is for, and then sends an order for each venue in turn: two with --once, else until ctx
// ends.
func (r *relayDemo) play(ctx context.Context, s *sender) error {
	harbour, villa := r.boxes[0], r.boxes[1]
	steps := []scene{
		{"each order is on two servers' disks before the answer; its box fetches it", func(ctx context.Context) error {
			return r.order(ctx, s, harbour, villa)
		}},
		{"the answer is lost and the service sends the order again: it prints once", func(ctx context.Context) error {
			o := r.next(harbour)
			if err := r.send(ctx, s, harbour, o); err != nil {
				return err
			}
			return s.send(ctx, o.Again())
		}},
		{"Villa Verde loses its power; its orders are answered 200 and wait", func(ctx context.Context) error {
			if err := villa.stop(); err != nil {
				return err
			}
			return r.order(ctx, s, villa, villa, harbour)
		}},
		{"one of the three servers is killed: the others go on", func(ctx context.Context) error {
			r.nodes.Kill(0)
			if err := r.order(ctx, s, villa, villa, harbour); err != nil {
				return err
			}
			if err := r.printed(ctx); err != nil {
				return err
			}
			if err := rest(ctx, 3*time.Second); err != nil { // so that there is an age to see
				return err
			}
			return r.status(ctx)
		}},
		{"the box of Villa Verde is back: what waited prints, in order", func(ctx context.Context) error {
			return villa.start(ctx)
		}},
		{"the server is back, and catches up", func(ctx context.Context) error {
			if err := r.nodes.Start(ctx, 0); err != nil {
				return err
			}
			if err := r.caughtUp(ctx); err != nil {
				return err
			}
			return r.status(ctx)
		}},
	}
	for _, one := range steps {
		r.say("\n── %s", one.caption)
		if err := one.play(ctx); err != nil {
			return err
		}
		if err := r.printed(ctx); err != nil {
			return err
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
	for n := 0; !r.once || n < len(r.boxes); n++ {
		r.say("\n── an order")
		if err := r.order(ctx, s, r.boxes[n%len(r.boxes)]); err != nil {
			return err
		}
		if err := r.printed(ctx); err != nil {
			return err
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *relayDemo) pause(ctx context.Context) error {
	if r.once {
		return ctx.Err()
	}
	return rest(ctx, r.every)
}

// next makes an order for a venue: one for its first printer, with a drink each third time.
func (r *relayDemo) next(b *box) sim.Order {
	r.number++
	items := []map[string]any{item("Grill", float64(r.number%3+1), dishes[r.number%len(dishes)])}
	if r.number%3 == 0 {
		items = append(items, item("Drinks", 2, "Lager"))
	}
	return orderOf(b.venue, r.number, fmt.Sprintf("T%d", r.number%9+1), by("Zoë K."), items...)
}

var dishes = []string{"Burger", "Smørrebrød", "Ribeye", "Barramundi", "Rigatoni alla Norma"}

// order sends one order for each of the boxes.
func (r *relayDemo) order(ctx context.Context, s *sender, boxes ...*box) error {
	for _, b := range boxes {
		if err := r.send(ctx, s, b, r.next(b)); err != nil {
			return err
		}
	}
	return nil
}

// send sends the newest order, and notes which printers must have it once.
func (r *relayDemo) send(ctx context.Context, s *sender, b *box, o sim.Order) error {
	if err := s.send(ctx, o); err != nil {
		return err
	}
	number, printers := strconv.Itoa(r.number), []string{b.stations[0]}
	if r.number%3 == 0 && len(b.stations) > 1 {
		printers = append(printers, b.stations[1])
	}
	for _, p := range printers {
		r.want[b.printer(p)] = append(r.want[b.printer(p)], number)
	}
	return nil
}

// printed waits until the boxes that are on have printed all that was answered 200.
func (r *relayDemo) printed(ctx context.Context) error {
	return until(ctx, "the tickets", func(context.Context) (bool, error) {
		for _, b := range r.boxes {
			if b.halt == nil {
				continue
			}
			for _, s := range b.app.Queue().Stations() {
				r.mu.Lock()
				done := len(r.paper[b.printer(s.Name)]) >= len(r.want[b.printer(s.Name)])
				r.mu.Unlock()
				if s.Pending+s.Printing > 0 || !done {
					return false, nil
				}
			}
		}
		return true, nil
	})
}

// status prints what "ticketrail relay status" tells of the venues and of the servers.
func (r *relayDemo) status(ctx context.Context) error {
	var lines []string
	err := until(ctx, "the state of the relay", func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		sites, err := r.asks.Sites(ctx)
		if err != nil {
			return false, nil // an election
		}
		state, err := r.asks.State(ctx)
		if err != nil || state.Leader == "" {
			return false, nil
		}
		lines = lines[:0]
		for _, one := range sites {
			b := r.boxes[slices.IndexFunc(r.boxes, func(b *box) bool { return b.venue == one.Venue })]
			line := fmt.Sprintf("%s: nothing waits", b.name)
			if one.Waiting > 0 {
				line = fmt.Sprintf("%s: %d wait, the oldest for %.0f s", b.name, one.Waiting,
					time.Since(one.Oldest).Seconds())
			}
			lines = append(lines, line)
		}
		slices.Sort(lines)
		up := 1
		for _, replica := range state.Replicas {
			if replica.Current && !replica.Offline {
				up++
			}
		}
		lines = append(lines,
			fmt.Sprintf("%d of %d servers have all %d requests", up, len(state.Replicas)+1, state.Messages))
		return true, nil
	})
	for _, line := range lines {
		r.say("   ticketrail relay status: %s", line)
	}
	return err
}

// caughtUp waits until every server has all requests.
func (r *relayDemo) caughtUp(ctx context.Context) error {
	return until(ctx, "the server", func(ctx context.Context) (bool, error) {
		state, err := r.asks.State(ctx)
		if err != nil {
			return false, nil
		}
		for _, replica := range state.Replicas {
			if !replica.Current || replica.Offline {
				return false, nil
			}
		}
		return true, nil
	})
}
