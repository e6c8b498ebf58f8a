package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/sim"
)

// sendOrders sends the scenes, and then random orders: six of them with --once, else until ctx ends.
//
// With --once there are no pauses, and each order is printed before the next one is sent, so that
// its tickets are below it.
func (d *demo) sendOrders(ctx context.Context, s *sender, bar *virtual.Printer) error {
	pause := d.every
	if d.once {
		pause = 0
	}
	for _, scene := range d.scenes(s, bar) {
		d.say("\n── %s", scene.caption)
		if err := scene.play(ctx); err != nil {
			return err
		}
		// Each scene is over before the next begins, so that the output can be followed.
		if err := d.settle(ctx); err != nil {
			return err
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
	}
	orders := sim.NewOrders(sim.OrderOptions{Seed: d.seed, Venues: []string{venueID}, Employees: staff, FreshIDs: true})
	for n := 0; !d.once || n < batch; n++ {
		o := orders.Next()
		d.say("\n── %s", caption(o.Kind))
		if err := s.send(ctx, o); err != nil {
			return err
		}
		if d.once {
			if err := d.settle(ctx); err != nil {
				return err
			}
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// batch is how many random orders follow the scenes with --once.
const batch = 6

// caption describes the kind of an order. The kinds are those of sim.Orders.
func caption(kind string) string {
	switch kind {
	case "void":
		return "an item is cancelled"
	case "refire":
		return "an item is to be made again"
	case "split":
		return "an order with one record for each printer"
	}
	return "an order"
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
// The orders are written out, not random, so that each shows only what its caption says.
func (d *demo) scenes(s *sender, bar *virtual.Printer) []scene {
	send := func(orders ...sim.Order) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, o := range orders {
				if err := s.send(ctx, o); err != nil {
					return err
				}
			}
			return nil
		}
	}
	first := order(18, "B10", by("Zoë K."),
		item("Drinks", 1, "Jalapeño Margarita", note("no salt")),
		item("Grill", 2, "Burger",
			child("medium rare"), child("side salad", child("dressing on the side", child("no garlic"))),
			note("allergy: sesame!")),
		item("Grill", 0.5, "Crème brûlée to share"),
	)
	twin := order(19, "T4", by("Jonathan A."), item("Grill", 3, "Smørrebrød"), item("Drinks", 2, "Kölsch 0,2 l"))
	void := order(18, "B10", by("Zoë K."), item("Grill", 1, "Burger", voided()))
	stray := order(20, "Bar 2", by("Ana G."), item("Merchandise", 1, "T-shirt L"))
	torn := order(21, "T7", by("Ana G."), item("Drinks", 1, "Espresso"), item("Drinks", 1, "Tap water"))
	nameless := order(24, "T12", byID(d.someone().ID), item("Grill", 2, "Rigatoni alla Norma"))
	thirsty := send(
		order(22, "T9", by("Zoë K."), item("Drinks", 2, "Lager")),
		order(23, "T2", by("Łukasz P."), item("Drinks", 1, "Ginger beer"),
			item("Grill", 1, "宫保鸡丁", note("بدون فول سوداني"))),
	)
	dinner := order(25, "T5", by("Ana G."),
		item("Appetizers", 1, "Oysters"), item("Drinks", 2, "Lager"),
		item("Entrees", 2, "Ribeye", child("medium rare"), child("no butter"), note("allergy: mustard!")),
		item("Entrees", 1, "Barramundi"),
		item("Desserts", 2, "Pavlova", child("passion fruit")))
	more := order(25, "T5", by("Ana G."), item("Entrees", 1, "Mushroom risotto"))
	less := order(25, "T5", by("Ana G."), item("Entrees", 1, "Barramundi", voided()))
	return []scene{
		{"an order for two printers, with modifiers three levels deep", send(first)},
		{"the answer is lost and the service sends the order again: it prints once", send(twin, twin.Again())},
		{"one burger is cancelled: the ticket says VOID", send(void)},
		{"an item that matches no route prints at the fallback", send(stray)},
		{"the bar printer is unplugged in mid-ticket: the copy says POSSIBLE DUPLICATE", func(
			ctx context.Context,
		) error {
			// The fault is for a new connection, not for the one that is still open.
			if err := rest(ctx, linger); err != nil {
				return err
			}
			// In the middle: some lines are on paper, so the daemon cannot know whether the ticket
			// came out.
			bar.ResetAfter(200, 1)
			return s.send(ctx, torn)
		}},
		{"the bar printer has no paper: its tickets wait, and print after a refill", func(ctx context.Context) error {
			bar.Set(virtual.PaperOut, true)
			if err := thirsty(ctx); err != nil {
				return err
			}
			// The refill must come after the daemon has noticed, or there would be nothing to see.
			if err := d.waitForStation(ctx, "bar", func(p admin.Station) bool { return !p.Fine() }); err != nil {
				return err
			}
			bar.Refill()
			return nil
		}},
		{"an order has only the server's id: ticketrail asks the service for the name", send(nameless)},
		{"an order for two screens and two printers; the pass shows every part of it", func(ctx context.Context) error {
			if err := s.send(ctx, dinner); err != nil {
				return err
			}
			return d.waitForOrder(ctx, dinner.ID)
		}},
		{"the table orders more: on the hot line it joins the order", send(more)},
		{"the barramundi is cancelled: it is struck where it stands", send(less)},
	}
}

// waitForOrder waits until all tickets of an order are finished, and prints what is known of each.
// For a screen that depends on whether the person who watches has opened its page.
func (d *demo) waitForOrder(ctx context.Context, id string) error {
	if err := d.settle(ctx); err != nil {
		return err
	}
	jobs, err := d.admin.Jobs(ctx, admin.Filter{Request: id})
	for _, j := range jobs {
		what := fmt.Sprintf("%s: %s; %s", j.Station, j.State, j.Reason)
		d.say("   ticketrail jobs list: %s", strings.TrimSuffix(what, "; ")) // most have no reason
	}
	return err
}

// waitForStation waits until a station is in a given state, and prints that state. The advice is
// the daemon's own, as ticketrail printers list shows it.
func (d *demo) waitForStation(ctx context.Context, name string, so func(admin.Station) bool) error {
	return until(ctx, "the state of "+name, func(ctx context.Context) (bool, error) {
		all, err := d.admin.Stations(ctx)
		for _, p := range all.Stations {
			if p.Name == name && so(p) {
				state := string(p.State)
				if p.Device != nil {
					state = strings.ReplaceAll(p.Device.State, "_", " ")
				}
				d.say("   ticketrail printers list: %s: %s, %d queued; to fix:\n      %s", p.Name, state,
					p.Pending+p.Printing, strings.ReplaceAll(p.Advice, "; ", ";\n      "))
				return true, nil
			}
		}
		return false, err
	})
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

// order is a print request as the service sends it. The fields are those that deployed services
// send.
func order(number int, table string, server with, items ...map[string]any) sim.Order {
	record := map[string]any{
		"id": uuid.NewString(), "venueId": venueID, "checkNumber": number, "checkName": table,
		"orderType": "Dine in", "retryCount": 0, "items": items,
	}
	server(record)
	body, err := json.Marshal(map[string]any{
		"records": []any{
			record,
		}, "status": "SUCCESS", "count": 1, "serverRequestTimestamp": time.Now().UTC().Format(time.RFC3339Nano),
	})
	if err != nil {
		panic(err) // a bug: the record is made here
	}
	return sim.FileOrder(body, venueID, "BW-E-Tablet-01")
}

func by(name string) with { return func(r map[string]any) { r["checkOwner"] = name } }
func byID(id string) with { return func(r map[string]any) { r["checkOwnerEmployeeId"] = id } }

// with adds fields to a record or an item.
type with func(map[string]any)

// item is a dish; its course decides which station gets it.
func item(course string, quantity float64, name string, more ...with) map[string]any {
	it := map[string]any{"name": name, "quantity": quantity, "courseName": course, "childItems": []any{}}
	for _, w := range more {
		w(it)
	}
	return it
}

// child adds a modifier, which may have modifiers itself.
func child(name string, more ...with) with {
	return func(it map[string]any) {
		c := map[string]any{"name": name, "quantity": 1, "childItems": []any{}}
		for _, w := range more {
			w(c)
		}
		it["childItems"] = append(it["childItems"].([]any), c)
	}
}

func note(text string) with { return func(it map[string]any) { it["note"] = text } }
func voided() with          { return func(it map[string]any) { it["isVoid"] = true } }

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
		var in, out []string
		count := func(side *[]string, n int, what string) {
			if n > 0 {
				*side = append(*side, fmt.Sprintf("%d %s", n, what))
			}
		}
		count(&in, int(s.Books.Enqueued), "accepted")
		count(&in, int(s.Books.Reprinted), "reprinted")
		count(&in, int(s.Books.MovedIn), "moved in")
		for _, state := range ticket.States() {
			count(&out, int(s.Count(state)), strings.Replace(string(state), string(ticket.Moved), "moved out", 1))
		}
		fmt.Fprintf(&lines, "  %-8s  %s = %s\n", s.Name, strings.Join(in, " + "), strings.Join(out, " + "))
	}
	balance := d.queue.Unaccounted() == 0 && (!d.once || open == 0)
	verdict := "the books balance: every ticket is accounted for"
	if !balance {
		verdict = fmt.Sprintf("the books do not balance: %d unaccounted, %d open", d.queue.Unaccounted(), open)
	}
	d.say("\n%s\n%s", verdict, lines.String())
	return balance
}
