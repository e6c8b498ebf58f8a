package sim

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// An outputRow is one requirement that answers cannot show: what must come out, and how often. Each
// row orders a dish of its own, whose name is on no other ticket.
type outputRow struct {
	section, name, want string
	run                 func(*checker) (got string, v Verdict)
}

// comesOut makes a row: send makes requests with a dish of that name, which must come out as often
// as in so many orders. Its error says what was not accepted.
func comesOut(name, want string, orders int, send func(c *checker, dish string) error) outputRow {
	return outputRow{"6.4", "what comes out: " + name, want, func(c *checker) (string, Verdict) {
		return c.judgeOutput(orders, send, func(n int) Verdict { return verdict(n == orders*c.copies) })
	}}
}

// outputRows are section 6.4, judged by what comes out.
func outputRows(o CheckOptions) []outputRow {
	const once = "accepted each time; comes out as one order"
	return []outputRow{
		{"6.4", "what comes out: an order", "the dish", (*checker).firstOutput},
		{"6.4", "what comes out: two records in one request", "both dishes", (*checker).bothRecords},
		{"6.4", "what comes out: a modifier three levels down", "the modifier", (*checker).deepModifier},
		comesOut("the same request twice", once, 1, func(c *checker, dish string) error {
			p := c.postOf(c.dish(dish))
			return errors.Join(c.accept(p), c.accept(p))
		}),
		comesOut("retries, with a higher retryCount and another timestamp", once, 1,
			func(c *checker, dish string) (refused error) {
				o := c.dish(dish)
				for n := range contract.WebhookRetries + 1 {
					p := c.postOf(o)
					p.body = o.Body(n)
					refused = errors.Join(refused, c.accept(p))
				}
				return refused
			}),
		comesOut("the same request eight times at once", once, 1, func(c *checker, dish string) error {
			p := c.postOf(c.dish(dish))
			return atOnce(8, func(int) error { return c.accept(p) })
		}),
		comesOut("a retry after hanging up before the answer", "accepted; comes out as one order", 1,
			func(c *checker, dish string) error {
				p := c.postOf(c.dish(dish))
				c.sendAndHangUp(p)
				return c.accept(p)
			}),
		// By key and not by content: two guests may order the same.
		comesOut("the same dishes under another id", "both accepted; comes out as two orders", 2,
			func(c *checker, dish string) error {
				o := c.dish(dish)
				return errors.Join(c.accept(c.postOf(o)), c.accept(c.postOf(o.WithID(uuid.NewString()))))
			}),
		comesOut(fmt.Sprintf("%d orders at once", o.Concurrency), "all accepted; each comes out", o.Concurrency,
			func(c *checker, dish string) error {
				return atOnce(o.Concurrency, func(int) error { return c.accept(c.postOf(c.dish(dish))) })
			}),
		comesOut("an order that was refused at first, without its device", "accepted then; comes out as one order", 1,
			func(c *checker, dish string) error {
				p := c.postOf(c.dish(dish))
				incomplete := p
				incomplete.device = nil
				c.send(incomplete)
				return c.accept(p)
			}),
		comesOut("an order that is refused for its venue", "never", 0, func(c *checker, dish string) error {
			p := c.postOf(c.dish(dish))
			p.venue = []string{uuid.NewString()}
			c.send(p)
			return nil
		}),
		// 200 says that the order is stored, not that it is printed: a receiver that waits for the
		// printer loses orders while the printer has no paper.
		outOfOrder("the printer or display is off", func(o *Output) func(bool) error { return o.Off }),
		outOfOrder("the printer or display does not answer", func(o *Output) func(bool) error { return o.Stall }),
	}
}

// outOfOrder is a row whose order is sent while the output is out of order. It may come out twice: a
// printer that hung may have printed, and a second ticket is better than none.
func outOfOrder(name string, fault func(*Output) func(bool) error) outputRow {
	return outputRow{"6.4", "what comes out: an order while " + name, "accepted meanwhile; comes out afterwards",
		func(c *checker) (string, Verdict) {
			if c.o.Output == nil || fault(c.o.Output) == nil {
				return "nothing can make it so", Unseen
			}
			return c.judgeOutput(1, func(c *checker, dish string) error {
				if err := fault(c.o.Output)(true); err != nil {
					return notTried{err}
				}
				refused := c.accept(c.postOf(c.dish(dish)))
				if err := fault(c.o.Output)(false); err != nil {
					return notTried{err}
				}
				return refused
			}, func(n int) Verdict { return verdict(n >= c.copies) })
		}}
}

// judgeOutput sends a dish, waits until it came out as often as in so many orders, and has judge
// decide about how often it did.
func (c *checker) judgeOutput(
	orders int, send func(c *checker, dish string) error, judge func(n int) Verdict,
) (string, Verdict) {
	switch {
	case c.o.Output == nil:
		return "nothing sees what comes out", Unseen
	case c.copies == 0:
		return "not tried: the first order was not seen to come out", Unseen
	}
	dish := newDish()
	before, err := c.o.Output.Count(c.ctx, dish)
	if err != nil {
		return err.Error(), Unseen
	}
	if err := send(c, dish); err != nil {
		if _, ok := errors.AsType[notTried](err); ok {
			return err.Error(), Unseen
		}
		return strings.ReplaceAll(err.Error(), "\n", "; "), Fail
	}
	n, err := c.seen(dish, before, orders*c.copies)
	if err != nil {
		return err.Error(), Unseen
	}
	return c.came(n), judge(n)
}

// notTried is an error that is not the endpoint's: the test itself could not be made.
type notTried struct{ error }

// firstOutput learns how often a dish comes out for one order: an endpoint may print it at the
// station and at the pass. Without that, no other row can be judged.
func (c *checker) firstOutput() (string, Verdict) {
	if c.o.Output == nil {
		return "nothing sees what comes out", Unseen
	}
	tickets, err := c.o.Output.Count(c.ctx, "")
	if err != nil {
		return err.Error(), Unseen
	}
	c.copies = 1
	n := 0
	got, v := c.judgeOutput(1, func(c *checker, dish string) error { return c.accept(c.postOf(c.dish(dish))) },
		func(all int) Verdict { n = all; return verdict(n > 0) })
	c.copies = n
	if all, err := c.o.Output.Count(c.ctx, ""); err == nil && n == 0 && all > tickets {
		return fmt.Sprintf("%d tickets came, and none has the name of the dish as text", all-tickets), Unseen
	}
	return got, v
}

// bothRecords needs two dishes, one for each record. Tickets that are only counted cannot show
// whether one ticket has both.
func (c *checker) bothRecords() (string, Verdict) {
	second := newDish()
	got, v := c.judgeOutput(1, func(c *checker, dish string) error {
		o := c.dish(dish)
		return c.accept(c.changedRequest(o, func(q, r map[string]any) {
			other := maps.Clone(r)
			other[contract.FieldID], other[contract.FieldItems] = uuid.NewString(), list(item(second))
			q[contract.FieldRecords], q[contract.FieldCount] = list(r, other), 2
		}))
	}, func(n int) Verdict {
		if c.o.Output.CountsTickets && n < 2*c.copies && n > 0 {
			return Unseen
		}
		return verdict(n >= c.copies)
	})
	if v != Pass || c.o.Output.CountsTickets {
		return got, v
	}
	n, err := c.seen(second, 0, c.copies)
	if err != nil {
		return err.Error(), Unseen
	}
	return "the first " + got + "; the second " + c.came(n), verdict(n >= c.copies)
}

func (c *checker) deepModifier() (string, Verdict) {
	if c.o.Output != nil && c.o.Output.CountsTickets {
		return "the number of tickets does not show it", Unseen
	}
	return c.judgeOutput(1, func(c *checker, dish string) error {
		it := item(dish)
		for n := 3; n > 0; n-- {
			outer := item(fmt.Sprint("level ", n))
			outer[contract.FieldChildItems] = list(it)
			it = outer
		}
		return c.accept(c.changedRequest(c.dish(newDish()), func(_, r map[string]any) {
			r[contract.FieldItems] = list(it)
		}))
	}, func(n int) Verdict { return verdict(n >= c.copies) })
}

// newDish is a name that is nowhere else. It is short, so that no paper breaks it over two lines.
func newDish() string { return "K" + rand.Text()[:8] }

func item(name string) map[string]any {
	return map[string]any{contract.FieldName: name, "quantity": 1}
}

// dish is a new order of one item.
func (c *checker) dish(name string) Order {
	o := c.newOrder()
	o.request = o.changed(func(request map[string]any) {
		r := request[contract.FieldRecords].([]any)[0].(map[string]any)
		r[contract.FieldItems] = list(item(name))
		request[contract.FieldRecords], request[contract.FieldCount] = list(r), 1
	})
	return o
}

// accept sends a request that must be accepted.
func (c *checker) accept(p webhookPost) error {
	if r := c.send(p); !r.accepted() {
		return fmt.Errorf("not accepted: %s", r)
	}
	return nil
}

// atOnce calls f n times at the same time, and returns the errors.
func atOnce(n int, f func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
