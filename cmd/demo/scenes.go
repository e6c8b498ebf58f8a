package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"ticketrail/cmd/internal/app"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/sim"
)

// sendOrders sends the scenes, and then random orders: six of them with --once, else until ctx ends.
//
// With --once there are no pauses, and each order is printed before the next one is sent, so that
// its tickets are below it.
func (d *demo) sendOrders(ctx context.Context, s *sim.Sender, bar *virtual.Printer) error {
	const pause, batch = 6 * time.Second, 6

	all := d.scenes(s, bar)
	orders := sim.NewOrders(sim.OrderOptions{Seed: d.seed, Venues: []string{venueID}, FreshIDs: true})
	captions := map[string]string{
		"order": "an order", "void": "an item is cancelled", "refire": "an item is to be made again",
	}

	for played := 0; !d.once || played < len(all)+batch; played++ {
		var now scene
		if played < len(all) {
			now = all[played]
		} else {
			order := orders.Next()
			now = scene{captions[order.Kind], func(ctx context.Context) error { return d.send(ctx, s, order) }}
		}

		d.say("\n── %s", now.caption)
		if err := now.play(ctx); err != nil {
			return err
		}

		// Each scene is over before the next begins, so that the output can be followed.
		if played < len(all) || d.once {
			if err := d.settle(ctx); err != nil {
				return err
			}
		}

		if !d.once {
			if err := rest(ctx, pause); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitForService waits until the daemon knows the venue's employees and time zone. A real kitchen
// does not wait: the ticket then shows the end of the employee's id instead of the name. Here the
// orders wait, so that the scene about the name has it.
func (d *demo) waitForService(ctx context.Context, a *app.App) error {
	return until(ctx, "the employees and the time zone", func(context.Context) (bool, error) {
		zone, ok := a.Names().Zone(venueID)
		if ok {
			d.say("  read from the service: %d employees, and the zone %s", a.Names().Count(venueID), zone)
		}
		return ok, nil
	})
}

// send posts one order as the service does, and prints the answer and how long it took. An order that is not
// accepted ends the demo: in here nothing may get lost.
func (d *demo) send(ctx context.Context, s *sim.Sender, o sim.Order) error {
	job := s.Send(ctx, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}

	last := job.Attempts[len(job.Attempts)-1]
	d.say("   POST %d B → %d in %.1f ms  %s", len(o.Body(0)), job.Status, float64(last.Took.Microseconds())/1000,
		bytes.TrimSpace(job.Answer))

	if !job.Accepted() {
		return fmt.Errorf("post order: %s", job.Problem)
	}
	return nil
}

// linger is longer than the daemon keeps an idle connection open (1 s).
const linger = 1500 * time.Millisecond

// A scene shows how the daemon handles one situation. Each leaves the kitchen as it found it, so
// scenes can be added anywhere.
type scene struct {
	caption string
	play    func(context.Context) error
}

// scenes are the situations that an operator asks about first: duplicates, voids, items without a
// route, an unplugged printer, no paper. The last ones are for the screens, so that there is time to
// open them.
//
// The orders are written out, not random, so that each shows only its caption's subject.
func (d *demo) scenes(s *sim.Sender, bar *virtual.Printer) []scene {
	send := func(orders ...sim.Order) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, o := range orders {
				if err := d.send(ctx, s, o); err != nil {
					return err
				}
			}
			return nil
		}
	}

	first := order(`"checkNumber":18,"checkName":"B10","checkOwner":"Zoë K.","items":[
		{"courseName":"Drinks","quantity":1,"name":"Jalapeño Margarita","note":"no salt"},
		{"courseName":"Grill","quantity":2,"name":"Burger","note":"allergy: sesame!","childItems":[
			{"name":"medium rare"},
			{"name":"side salad","childItems":[{"name":"dressing on the side","childItems":[{"name":"no garlic"}]}]}]},
		{"courseName":"Grill","quantity":0.5,"name":"Crème brûlée to share"}]`)
	twin := order(`"checkNumber":19,"checkName":"T4","checkOwner":"Jonathan A.","items":[
		{"courseName":"Grill","quantity":3,"name":"Smørrebrød"},
		{"courseName":"Drinks","quantity":2,"name":"Kölsch 0,2 l"}]`)
	void := order(`"checkNumber":18,"checkName":"B10","checkOwner":"Zoë K.","items":[
		{"courseName":"Grill","quantity":1,"name":"Burger","isVoid":true}]`)
	stray := order(`"checkNumber":20,"checkName":"Bar 2","items":[
		{"courseName":"Merchandise","quantity":1,"name":"T-shirt L"}]`)
	torn := order(`"checkNumber":21,"checkName":"T7","checkOwner":"Ana G.","items":[
		{"courseName":"Drinks","quantity":1,"name":"Espresso"},
		{"courseName":"Drinks","quantity":1,"name":"Tap water"}]`)
	nameless := order(fmt.Sprintf(`"checkNumber":24,"checkName":"T12","checkOwnerEmployeeId":%q,"items":[
		{"courseName":"Grill","quantity":2,"name":"Rigatoni alla Norma"}]`, sim.Staff(d.seed, venueID, 0).ID))

	thirsty := send(
		order(`"checkNumber":22,"checkName":"T9","items":[{"courseName":"Drinks","quantity":2,"name":"Lager"}]`),
		order(`"checkNumber":23,"checkName":"T2","checkOwner":"Łukasz P.","items":[
			{"courseName":"Drinks","quantity":1,"name":"Ginger beer"},
			{"courseName":"Grill","quantity":1,"name":"宫保鸡丁","note":"بدون فول سوداني"}]`))

	dinner := order(`"checkNumber":25,"checkName":"T5","checkOwner":"Ana G.","items":[
		{"courseName":"Appetizers","quantity":1,"name":"Oysters"},{"courseName":"Drinks","quantity":2,"name":"Lager"},
		{"courseName":"Entrees","quantity":2,"name":"Ribeye","note":"allergy: mustard!",
			"childItems":[{"name":"medium rare"},{"name":"no butter"}]},
		{"courseName":"Entrees","quantity":1,"name":"Barramundi"},
		{"courseName":"Desserts","quantity":2,"name":"Pavlova","childItems":[{"name":"passion fruit"}]}]`)
	more := order(`"checkNumber":25,"checkName":"T5","items":[
		{"courseName":"Entrees","quantity":1,"name":"Mushroom risotto"}]`)
	less := order(`"checkNumber":25,"checkName":"T5","items":[
		{"courseName":"Entrees","quantity":1,"name":"Barramundi","isVoid":true}]`)

	return []scene{
		{"an order for two printers, with modifiers three levels deep", send(first)},
		{"the answer is lost and the service sends the order again: it prints once", send(twin, twin)},
		{"one burger is cancelled: the ticket says VOID", send(void)},
		{"an item that matches no route prints at the fallback", send(stray)},
		{"the bar printer dies in mid-ticket: the copy says POSSIBLE DUPLICATE", func(ctx context.Context) error {
			// The fault is for a new connection, not for the one that is still open.
			if err := rest(ctx, linger); err != nil {
				return err
			}
			// In the middle: some lines are on paper, so the daemon cannot know whether the ticket
			// came out.
			bar.ResetAfter(200, 1)
			return d.send(ctx, s, torn)
		}},
		{"the bar printer has no paper: its tickets wait, and print after a refill", func(ctx context.Context) error {
			bar.Set(virtual.PaperOut, true)
			if err := thirsty(ctx); err != nil {
				return err
			}
			// The refill must come after the daemon has noticed, or there would be nothing to see.
			if err := d.waitForTrouble(ctx, "bar"); err != nil {
				return err
			}
			bar.Refill()
			return nil
		}},
		{"an order has only the server's id: ticketrail asks the service for the name", send(nameless)},
		{"an order for two screens and two printers; the pass shows every part of it", send(dinner)},
		{"the table orders more: on the hot line it joins the order", send(more)},
		{"the barramundi is cancelled: it is struck where it stands", send(less)},
	}
}

// waitForTrouble waits until a station needs a person, and prints the daemon's line about it, as ticketrail printers
// list does.
func (d *demo) waitForTrouble(ctx context.Context, name string) error {
	return until(ctx, "the state of "+name, func(ctx context.Context) (bool, error) {
		all, err := d.admin.Stations(ctx)
		for _, p := range all.Stations {
			if p.Name == name && !p.Fine() {
				d.say("   ticketrail printers list: %s: %d queued; to fix:\n      %s", p.Name, p.Pending+p.Printing,
					strings.ReplaceAll(p.Advice, "; ", ";\n      "))
				return true, nil
			}
		}
		return false, err
	})
}

// rest pauses between two orders; Ctrl-C ends the pause.
func rest(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until polls a condition for up to a minute. A minute is far longer than any scene takes: it ends
// a demo that hangs.
func until(ctx context.Context, what string, so func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if yes, err := so(ctx); yes || err != nil {
			return err
		}
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
	}
}

// order is a print request with one record as the service sends it. The fields are those that deployed services send.
func order(fields string) sim.Order {
	return sim.FileOrder(fmt.Appendf(nil, `{"records":[{"id":%q,"venueId":%q,"orderType":"Dine in","retryCount":0,`+
		`%s}],"status":"SUCCESS","count":1,"serverRequestTimestamp":%q}`, uuid.NewString(), venueID, fields,
		time.Now().UTC().Format(time.RFC3339Nano)), venueID, "BW-E-Tablet-01")
}

// settle waits until the daemon has stored the outcome of each ticket. A printer shows a ticket before
// the daemon has its confirmation.
func (d *demo) settle(ctx context.Context) error {
	return until(ctx, "the outcome of each ticket", func(context.Context) (bool, error) {
		for _, s := range d.queue.Stations() {
			if s.Pending+s.Printing > 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

// books prints the durable counters of each station and reports whether they balance: every ticket
// that was enqueued must be accounted for.
//
// It uses the same counters as the alert on unbalanced books. After Ctrl-C tickets may still be
// open, such as those for a printer without paper; they are counted on the right.
func (d *demo) books() bool {
	var lines strings.Builder
	open := 0
	for _, s := range d.queue.Stations() {
		open += s.Pending + s.Printing + s.Held
		var out []string
		for _, state := range ticket.States() {
			if count := s.Count(state); count > 0 {
				out = append(out, fmt.Sprintf("%d %s", count, state))
			}
		}

		fmt.Fprintf(&lines, "  %-8s  %d accepted + %d reprinted + %d moved in = %s\n", s.Name, s.Books.Enqueued,
			s.Books.Reprinted, s.Books.MovedIn, cmp.Or(strings.Join(out, " + "), "0"))
	}

	balance := d.queue.Unaccounted() == 0 && (!d.once || open == 0)
	verdict := "the books balance: every ticket is accounted for"
	if !balance {
		verdict = fmt.Sprintf("the books do not balance: %d unaccounted, %d open", d.queue.Unaccounted(), open)
	}

	d.say("\n%s\n%s", verdict, lines.String())
	return balance
}
