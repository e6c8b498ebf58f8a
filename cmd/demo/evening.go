package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/sim"
)

// evening sends orders. The first ones tell a story; then, unless once, whatever people eat.
func (d *demo) evening(ctx context.Context, s *sender, grill, bar *virtual.Printer) error {
	pause := d.every
	if d.once {
		pause = 0
	}
	for _, scene := range d.story(s, bar) {
		d.say("\n── %s", scene.caption)
		if err := scene.play(ctx); err != nil {
			return err
		}
		// Each scene is out before the next begins, so that what is drawn can be followed.
		if err := d.wait(ctx, grill, bar, scene.pieces); err != nil {
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
			settle(d.queue)
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// batch is how many orders follow the story when there is an end to it.
const batch = 6

// caption says what kind of an order the simulated service has sent.
func caption(kind string) string {
	switch kind {
	case "void":
		return "something is cancelled"
	case "refire":
		return "something is to be made again"
	case "split":
		return "an order that the service has split by its printers"
	}
	return "an order"
}

// wait waits until the printers have given out so many more pieces of paper.
func (d *demo) wait(ctx context.Context, grill, bar *virtual.Printer, pieces [2]int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for i, p := range []*virtual.Printer{grill, bar} {
		d.due[i] += pieces[i]
		if err := p.Wait(ctx, d.due[i]); err != nil {
			return fmt.Errorf("wait for %d pieces of paper from printer %d: %w", d.due[i], i, err)
		}
	}
	return nil
}

func rest(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// linger is longer than the daemon keeps a connection for the next ticket.
const linger = 1500 * time.Millisecond

// A scene is one thing that happens in kitchens.
type scene struct {
	caption string
	pieces  [2]int // of paper that come out of grill and bar
	play    func(context.Context) error
}

func (d *demo) story(s *sender, bar *virtual.Printer) []scene {
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
		order(23, "T2", by("Łukasz P."), item("Drinks", 1, "Ginger beer"), item("Entrees", 1, "宫保鸡丁", note("بدون فول سوداني"))),
	}
	return []scene{
		{"an order for two printers, with modifiers three deep", [2]int{1, 1}, func(ctx context.Context) error { return s.send(ctx, first) }},
		{"the service did not hear the answer and sends the same id again: nothing prints twice", [2]int{1, 1}, func(ctx context.Context) error {
			if err := s.send(ctx, twin); err != nil {
				return err
			}
			return s.send(ctx, twin.Again())
		}},
		{"one burger is cancelled: nobody can take it for an order", [2]int{1, 0}, func(ctx context.Context) error { return s.send(ctx, void) }},
		{"an item that no route wants comes out all the same", [2]int{1, 0}, func(ctx context.Context) error { return s.send(ctx, stray) }},
		{"the bar printer's cable is pulled in the middle of a ticket: the second try says that it may be a copy", [2]int{0, 2}, func(ctx context.Context) error {
			// Not the connection that is still open from the ticket before.
			if err := rest(ctx, linger); err != nil {
				return err
			}
			bar.ResetAfter(200, 1)
			return s.send(ctx, torn)
		}},
		{"the bar printer runs out of paper: its orders wait, nothing is tried in vain, and with a new roll they come out in order", [2]int{1, 2}, func(ctx context.Context) error {
			bar.Set(virtual.PaperOut, true)
			for _, o := range thirsty {
				if err := s.send(ctx, o); err != nil {
					return err
				}
			}
			if err := d.tell(ctx, "bar", func(p admin.Station) bool { return !p.Fine() }); err != nil {
				return err
			}
			bar.Refill()
			return nil
		}},
		{"the service names the server by an id only: the name comes from its employees, the time zone from its payroll periods", [2]int{1, 0}, func(ctx context.Context) error { return s.send(ctx, nameless) }},
		{"a dessert goes to the screen of pastry; while nobody looks at that, it comes out of the grill printer after 5 s", [2]int{}, func(ctx context.Context) error {
			if err := s.send(ctx, sweet); err != nil {
				return err
			}
			return d.served(ctx, sweet.ID)
		}},
	}
}

// served waits until the only ticket of an order is out, on a screen that somebody has opened or
// else on the grill's paper.
func (d *demo) served(ctx context.Context, id string) error {
	return until(ctx, "the ticket of "+id, func(ctx context.Context) (bool, error) {
		jobs, err := d.desk.Jobs(ctx, admin.Filter{Request: id, Limit: 1})
		if err != nil || len(jobs) != 1 || jobs[0].State.Open() {
			return false, err
		}
		d.say("   ticketrail jobs list: %s at %s %s", jobs[0].State, jobs[0].Station, jobs[0].Reason)
		if jobs[0].State != ticket.Shown {
			d.due[0]++
		}
		return true, nil
	})
}

// tell waits until the daemon says of a printer what it should, and shows that.
func (d *demo) tell(ctx context.Context, name string, so func(admin.Station) bool) error {
	return until(ctx, "what "+name+" says", func(ctx context.Context) (bool, error) {
		all, err := d.desk.Stations(ctx)
		for _, p := range all.Stations {
			if p.Name == name && so(p) {
				how := string(p.State)
				if p.Device != nil {
					how = strings.ReplaceAll(p.Device.State, "_", " ")
				}
				d.say("   ticketrail printers list: %s: %s, %d waiting; do: %s", p.Name, how, p.Pending+p.Printing, p.Advice)
				return true, nil
			}
		}
		return false, err
	})
}

// until asks until it is so, for a minute.
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

// order is a print request as the service sends them.
func order(number int, table string, server with, items ...map[string]any) sim.Order {
	record := map[string]any{
		"id": uuid.NewString(), "venueId": venueID, "checkNumber": number, "checkName": table,
		"orderType": "Dine in", "retryCount": 0, "items": items,
	}
	server(record)
	body, err := json.Marshal(map[string]any{
		"records": []any{record}, "status": "SUCCESS", "count": 1, "serverRequestTimestamp": time.Now().UTC().Format(time.RFC3339Nano),
	})
	if err != nil {
		panic(err) // made here
	}
	return sim.FileOrder(body, venueID, "BW-E-Tablet-01")
}

func by(name string) with { return func(r map[string]any) { r["checkOwner"] = name } }
func byID(id string) with { return func(r map[string]any) { r["checkOwnerEmployeeId"] = id } }

type with func(map[string]any)

func item(course string, quantity float64, name string, more ...with) map[string]any {
	it := map[string]any{"name": name, "quantity": quantity, "courseName": course, "childItems": []any{}}
	for _, w := range more {
		w(it)
	}
	return it
}

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

// settle gives what is already on paper a moment to be written down as such.
func settle(q *queue.Queue) {
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

// books prints the durable counters of every station and says whether they balance.
func (d *demo) books(q *queue.Queue) bool {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	states := ticket.States() // first what is still to come out, last where it went
	fmt.Fprint(w, "station\tput\treprinted\tmoved in\t=\t")
	for _, state := range states {
		fmt.Fprintf(w, "%s\t", strings.Replace(state.String(), ticket.Moved.String(), "moved out", 1))
	}
	fmt.Fprintln(w)
	open := 0
	for _, s := range q.Stations() {
		open += s.Pending + s.Printing + s.Held
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t=\t", s.Name, s.Books.Enqueued, s.Books.Reprinted, s.Books.MovedIn)
		for _, state := range states {
			fmt.Fprintf(w, "%d\t", s.Count(state))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	balance := q.Unaccounted() == 0 && (!d.once || open == 0)
	verdict := "they balance"
	if !balance {
		verdict = fmt.Sprintf("they do not balance: %d unaccounted, %d open", q.Unaccounted(), open)
	}
	d.say("\nthe books: %s\n%s", verdict, strings.Join(slices.Collect(strings.Lines(b.String())), ""))
	return balance
}
