package sim

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// An Output is where the tickets of the endpoint under test come out. Only what comes out shows
// whether an order that was answered 200 is cooked, and cooked once.
type Output struct {
	// Count returns how often a text was on the tickets that came out so far. Of the empty text it
	// returns how many tickets there are. Required.
	Count func(ctx context.Context, text string) (int, error)
	// CountsTickets says that Count ignores the text and returns how many tickets there are.
	CountsTickets bool
	// Off switches the printer or display off and on: its port is closed meanwhile. Stall lets it
	// accept connections and do nothing else. Nil: it cannot be done.
	Off, Stall func(on bool) error
	// Within is how long a ticket is waited for while no other comes. Quiet is for how long nothing
	// more must come, so that a second ticket is not missed. Defaults: 30 s and 2 s.
	Within, Quiet time.Duration
}

const (
	defaultWithin = 30 * time.Second
	defaultQuiet  = 2 * time.Second
	// countPause is between two looks at the output. A command to count takes some time of its own.
	countPause = 100 * time.Millisecond
)

// await waits until what is counted is enough, and then for a while, in which more may come. It
// gives up when no ticket at all has come for as long as one may take: before the awaited one, a slow
// printer may have many others to print.
func (c *checker) await(enough func() (bool, error)) error {
	var deadline time.Time
	last := -1 // tickets
	for {
		done, err := enough()
		if err == nil && !done {
			var all int
			if all, err = c.o.Output.Count(c.ctx, ""); all != last {
				last, deadline = all, time.Now().Add(cmp.Or(c.o.Output.Within, defaultWithin))
			}
		}
		switch {
		case err != nil:
			return err
		case done || time.Now().After(deadline):
			sleep(c.ctx, cmp.Or(c.o.Output.Quiet, defaultQuiet))
			return nil
		}
		sleep(c.ctx, countPause)
	}
}

// seen waits until a text came out n times since it was counted before, and then for more. It
// returns how often it came.
func (c *checker) seen(text string, before, n int) (int, error) {
	count := func() (int, error) {
		now, err := c.o.Output.Count(c.ctx, text)
		return now - before, err
	}
	if err := c.await(func() (bool, error) {
		now, err := count()
		return now >= n, err
	}); err != nil {
		return 0, err
	}
	return count()
}

// came says how often a dish came out. Where one order is several tickets, it says so.
func (c *checker) came(n int) string {
	words := []string{"came out never", "came out once"}
	s := fmt.Sprintf("came out %d times", n)
	if n < len(words) {
		s = words[n]
	}
	if c.copies > 1 {
		s += fmt.Sprintf("; one order is %d", c.copies)
	}
	return s
}
