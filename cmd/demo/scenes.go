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
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/sim"
)

// sendOrders sends the scenes, and then random orders: six of them with --once, else until ctx ends.
//
// With --once there are no pauses, and each order is printed before the next one is sent, so that
// its tickets are below it.
func (d *demo) sendOrders(ctx context.Context, s *sender, grill, bar *virtual.Printer) error {
	pause := d.every
	if d.once {
		pause = 0
	}
	for _, scene := range d.scenes(s, bar) {
		d.say("\n── %s", scene.caption)
		if err := scene.play(ctx); err != nil {
			return err
		}
		// Each scene is printed before the next begins, so that the output can be followed.
		if err := d.wait(ctx, grill, bar, scene.tickets); err != nil {
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
			waitUntilSettled(d.queue)
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

// wait waits until the printers have printed so many more tickets. It asks the printers and not the
// daemon: what counts is the paper.
func (d *demo) wait(ctx context.Context, grill, bar *virtual.Printer, tickets [2]int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for i, p := range []*virtual.Printer{grill, bar} {
		d.due[i] += tickets[i]
		if err := p.Wait(ctx, d.due[i]); err != nil {
			return fmt.Errorf("wait for %d tickets from printer %d: %w", d.due[i], i, err)
		}
	}
	return nil
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
	tickets [2]int // that grill and bar print
	play    func(context.Context) error
}

// scenes are the situations that an operator asks about first: duplicates, voids, items without a
// route, an unplugged printer, no paper, a closed screen.
//
// The orders are written out, not random, so that each shows only what its caption says.
func (d *demo) scenes(s *sender, bar *virtual.Printer) []scene {
	first := order(18, "B10", by("Zoë K."),
		item("Drinks", 1, "Jalapeño Margarita", note("no salt")),
		item("Entrees", 2, "Burger",
			child("medium rare"), child("side salad", child("dressing on the side", child("no garlic"))),
			note("allergy: sesame!")),
		item("Entrees", 0.5, "Crème brûlée to share"),
	)
	twin := order(19, "T4", by("Jonathan A."), item("Appetizers", 3, "Smørrebrød"), item("Drinks", 2, "Kölsch 0,2 l"))
	void := order(18, "B10", by("Zoë K."), item("Entrees", 1, "Burger", voided()))
	stray := order(20, "Bar 2", by("Ana G."), item("Merchandise", 1, "T-shirt L"))
	torn := order(21, "T7", by("Ana G."), item("Drinks", 1, "Espresso"), item("Drinks", 1, "Tap water"))
	nameless := order(24, "T12", byID(d.someone().ID), item("Entrees", 2, "Rigatoni alla Norma"))
	sweet := order(25, "T5", by("Ana G."), item("Desserts", 2, "Pavlova", child("passion fruit"), note("no nuts!")))
	thirsty := []sim.Order{
		order(22, "T9", by("Zoë K."), item("Drinks", 2, "Lager")),
		order(23, "T2", by("Łukasz P."), item("Drinks", 1, "Ginger beer"),
			item("Entrees", 1, "宫保鸡丁", note("بدون فول سوداني"))),
	}
	return []scene{
		{"an order for two printers, with modifiers three levels deep", [2]int{1, 1}, func(ctx context.Context) error {
			return s.send(ctx, first)
		}},
		{"the answer is lost and the service sends the order again: it prints once", [2]int{1, 1}, func(
			ctx context.Context,
		) error {
			if err := s.send(ctx, twin); err != nil {
				return err
			}
			return s.send(ctx, twin.Again())
		}},
		{"one burger is cancelled: the ticket says VOID", [2]int{1, 0}, func(ctx context.Context) error {
			return s.send(ctx, void)
		}},
		{"an item that matches no route prints at the fallback", [2]int{1, 0}, func(ctx context.Context) error {
			return s.send(ctx, stray)
		}},
		{
			"the bar printer is unplugged in mid-ticket: the copy says POSSIBLE DUPLICATE",
			[2]int{0, 2},
			func(ctx context.Context) error {
				// The fault is for a new connection, not for the one that is still open.
				if err := rest(ctx, linger); err != nil {
					return err
				}
				// In the middle: some lines are on paper, so the daemon cannot know whether the
				// ticket came out.
				bar.ResetAfter(200, 1)
				return s.send(ctx, torn)
			},
		},
		{"the bar printer has no paper: its tickets wait, and print after a refill", [2]int{1, 2}, func(
			ctx context.Context,
		) error {
			bar.Set(virtual.PaperOut, true)
			for _, o := range thirsty {
				if err := s.send(ctx, o); err != nil {
					return err
				}
			}
			// The refill must come after the daemon has noticed, or there would be nothing to see.
			if err := d.waitForStation(ctx, "bar", func(p admin.Station) bool { return !p.Fine() }); err != nil {
				return err
			}
			bar.Refill()
			return nil
		}},
		{"an order has only the server's id: ticketrail asks the service for the name", [2]int{1, 0}, func(
			ctx context.Context,
		) error {
			return s.send(ctx, nameless)
		}},
		{"a dessert is for a screen; its page is closed, so grill prints it after 5 s", [2]int{}, func(
			ctx context.Context,
		) error {
			if err := s.send(ctx, sweet); err != nil {
				return err
			}
			return d.waitForTicket(ctx, sweet.ID)
		}},
	}
}

// waitForTicket waits until the only ticket of an order is finished: shown on the screen, if its
// page is open, or else printed by grill. Which of the two is not known beforehand: it depends on
// whether the person who watches has opened the page.
func (d *demo) waitForTicket(ctx context.Context, id string) error {
	return until(ctx, "the ticket of "+id, func(ctx context.Context) (bool, error) {
		jobs, err := d.admin.Jobs(ctx, admin.Filter{Request: id, Limit: 1})
		if err != nil || len(jobs) != 1 || jobs[0].State.Open() {
			return false, err
		}
		what := fmt.Sprintf("%s: %s; %s", jobs[0].Station, jobs[0].State, jobs[0].Reason)
		d.say("   ticketrail jobs list: %s", strings.TrimSuffix(what, "; ")) // shown has no reason
		// Grill printed it, which wait must know before the next scene.
		if jobs[0].State != ticket.Shown {
			d.due[0]++
		}
		return true, nil
	})
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

// waitUntilSettled waits until the daemon has stored the outcome of each printed ticket. A printer
// shows a ticket before the daemon has its confirmation. After ten seconds the books are printed as
// they are, and say what is open.
func waitUntilSettled(q *queue.Queue) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		open := 0
		for _, s := range q.Stations() {
			open += s.Pending + s.Printing
		}
		if open == 0 {
			return
		}
	}
}

// books prints the durable counters of each station and reports whether they balance: every ticket
// that was enqueued must be accounted for.
//
// It uses the same counters as the alert on unbalanced books. After Ctrl-C tickets may still be
// open, such as those for a printer without paper; they are counted on the right.
func (d *demo) books(q *queue.Queue) bool {
	var lines strings.Builder
	open := 0
	for _, s := range q.Stations() {
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
			count(&out, int(s.Count(state)), strings.Replace(state.String(), ticket.Moved.String(), "moved out", 1))
		}
		fmt.Fprintf(&lines, "  %-6s  %s = %s\n", s.Name, strings.Join(in, " + "), strings.Join(out, " + "))
	}
	balance := q.Unaccounted() == 0 && (!d.once || open == 0)
	verdict := "the books balance: every ticket is accounted for"
	if !balance {
		verdict = fmt.Sprintf("the books do not balance: %d unaccounted, %d open", q.Unaccounted(), open)
	}
	d.say("\n%s\n%s", verdict, lines.String())
	return balance
}
