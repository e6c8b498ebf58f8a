package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	ticketsOpen = 200
	screensSeen = 5
)

// A showing is how much of it there is: orders come one after the other, each a while after the
// one before is on every page and the oldest was bumped.
type showing struct {
	open, pages, orders int
	after               time.Duration
}

// acceptToScreen is row 13: the whole daemon and real pages that draw, all on this machine. An
// order is timed from the moment it is sent until its ticket is in the books as shown, two
// commits after the first page has said that it holds the card; and until the frame with
// its card is out, at the first page and at all of them. A page says that it holds a card when
// it has laid it out, so either may come first: what counts is the later of the two.
func (b *bench) acceptToScreen(ctx context.Context) (finding, error) {
	return b.show(ctx, showing{open: ticketsOpen, pages: screensSeen, orders: pick(b, 200, 30), after: time.Second})
}

func (b *bench) show(ctx context.Context, s showing) (finding, error) {
	w, err := b.hang(ctx, s.open, s.pages)
	if err != nil {
		return finding{}, err
	}
	got, err := w.orders(ctx, b, s)
	if err := errors.Join(err, w.close()); err != nil {
		return finding{}, err
	}
	both, shown, all := got.both, got.shown, got.all
	return finding{
		Measured: fmt.Sprintf("order sent → acknowledged and drawn p99 %s, p50 %s, slowest %s of %d; in the books as shown p99 %s, p50 %s; "+
			"drawn on all %d pages p99 %s, p50 %s, slowest %s; %d open tickets; of what the rest of the machine used, Chromium %s took %.2f cores",
			ms(both.p99()), ms(both.p50()), ms(both.quantile(1)), len(both), ms(shown.p99()), ms(shown.p50()),
			s.pages, ms(all.p99()), ms(all.p50()), ms(all.quantile(1)), s.open, w.browser.version, w.browser.cores),
		Values: map[string]float64{"both_p50": millis(both.p50()), "both_p99": millis(both.p99()), "shown_p50": millis(shown.p50()), "shown_p99": millis(shown.p99()),
			"drawn_on_all_p50": millis(all.p50()), "drawn_on_all_p99": millis(all.p99()), "browser_cores": w.browser.cores},
		Hit: both.p99() <= 300*time.Millisecond,
	}, nil
}

// seen is how long after its order was sent a ticket was shown, by the books; and drawn too; and
// drawn on all pages.
type seen struct{ shown, both, all samples }

func (w *wall) orders(ctx context.Context, b *bench, s showing) (out seen, err error) {
	c, err := dial(ctx, w.webhook)
	if err != nil {
		return out, err
	}
	defer c.conn.Close()
	for i := range s.orders + s.orders/20 {
		shown, drawn, err := w.order(ctx, b, c)
		if err != nil {
			return out, err
		}
		if i >= s.orders/20 {
			out.shown, out.all = append(out.shown, shown), append(out.all, slices.Max(drawn))
			out.both = append(out.both, max(shown, slices.Min(drawn)))
		}
		if err := w.bumpOldest(ctx); err != nil {
			return out, err
		}
		if err := pause(ctx, s.after); err != nil {
			return out, err
		}
	}
	if n := w.log.otherwise(); n > 0 {
		return out, fmt.Errorf("%d tickets came out in another way than shown", n)
	}
	return out, nil
}

// order sends one and waits until every page has drawn it.
func (w *wall) order(ctx context.Context, b *bench, c *caller) (shown time.Duration, drawn []time.Duration, err error) {
	id := b.ids.Add(1)
	began := time.Now()
	if err := w.send(c, id); err != nil {
		return 0, nil, err
	}
	for {
		at, ok := w.log.of(id)
		pages := w.browser.saw(id)
		if ok && len(pages) >= w.browser.pages {
			for _, p := range pages {
				drawn = append(drawn, p.Sub(began))
			}
			return at.Sub(began), drawn, nil
		}
		if time.Since(began) > patience {
			return 0, nil, fmt.Errorf("after %v ticket %d is shown: %t, and drawn on %d of %d pages", patience, id, ok, len(pages), w.browser.pages)
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return 0, nil, err
		}
	}
}

func (w *wall) bumpOldest(ctx context.Context) error {
	list, err := w.open(ctx)
	if err != nil || len(list) == 0 {
		return errors.Join(err, errors.New("nothing is on the board to be bumped"))
	}
	return w.bump(ctx, list[0])
}
