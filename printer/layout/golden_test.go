package layout

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func received() time.Time { return time.Date(2026, 2, 6, 10, 49, 48, 0, time.UTC) }

// rich is a ticket with every field and every kind of line.
func rich() ticket.Delivery {
	return ticket.Delivery{
		Job: 1017, Station: "grill", Attempt: 2, Doubt: true,
		Ticket: ticket.Ticket{
			Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", VenueName: "Harbour Grill",
			Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a",
			Number:  "18", Table: "B10", Server: "Jonathan A.", Type: "Dine In", Guests: "4", Destination: "GRILL-1",
			Notes:    []string{"Guest is allergic to sesame\nand in a hurry"},
			Received: received(), Zone: "Australia/Melbourne",
			Lines: []ticket.Line{
				{Quantity: "2", Name: "Crème brûlée", Course: "Desserts"},
				{Quantity: "2", Name: "Cheeseburger", Course: "Mains", Seat: "3",
					Notes: []string{"well done, no pink"}},
				{Depth: 1, Quantity: "1", Name: "No onion", Course: "Mains"},
				{Depth: 1, Quantity: "2", Name: "Extra cheddar", Course: "Mains"},
				{Depth: 1, Quantity: "1", Name: "Side salad", Course: "Mains"},
				{Depth: 2, Quantity: "1", Name: "Dressing on the side", Course: "Mains", Notes: []string{"no sesame!"}},
				{Depth: 3, Quantity: "1", Name: "Balsamic", Course: "Mains"},
				{Depth: 9, Quantity: "1", Name: "Aged twenty-five years in a barrel of juniper wood", Course: "Mains"},
				{Quantity: "1", Name: "Grilled barramundi with lemon butter, capers and kipfler potatoes",
					Course: "Mains"},
				{Quantity: "3", Name: "Steak frites", Course: "Mains", Void: true,
					Notes: []string{"guest changed their mind about the steak"}},
				{Depth: 1, Quantity: "1", Name: "Béarnaise sauce in a very small jug beside the plate",
					Course: "Mains", Void: true},
				{Quantity: "0.5", Name: "Roast chicken", Course: "Mains", Refire: true},
				{Depth: 1, Quantity: "1", Name: "Skin on", Refire: true},
				{Quantity: "1", Name: "Ice", NoRoute: true},
				{Quantity: "12", Name: `{"menuItemId":"a7c9","price":4.5}`, Raw: true, NoRoute: true},
			},
		},
	}
}

// everyday is an ordinary ticket.
func everyday() ticket.Delivery {
	return ticket.Delivery{Job: 5, Station: "bar", Attempt: 1, Ticket: ticket.Ticket{
		Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a", Number: "7", Table: "Table 12", Server: "Ana M.",
		Received: received(), Zone: "Europe/Lisbon",
		Lines: []ticket.Line{
			{Quantity: "2", Name: "Negroni"},
			{Quantity: "1", Name: "Old Fashioned"},
			{Depth: 1, Quantity: "1", Name: "Large cube"},
			{Quantity: "10", Name: "Lager 0,5 l"},
		},
	}}
}

func variants() map[string]ticket.Delivery {
	out := map[string]ticket.Delivery{"rich": rich(), "everyday": everyday()}
	d := everyday()
	d.Reprint = true
	d.Ticket.Void = true
	for i := range d.Ticket.Lines {
		d.Ticket.Lines[i].Void = true
	}
	out["void"] = d
	changed := everyday()
	changed.Reprint, changed.Ticket.Number, changed.Ticket.AlsoAt = true, "18", nil
	changed.Ticket.Changed = &ticket.Change{Order: "#18", Received: changed.Ticket.Received.Add(-time.Minute)}
	changed.Ticket.Lines = []ticket.Line{{Quantity: "1", Name: "Fish", Void: true}, {Quantity: "1", Name: "Steak"}}
	changed.Ticket.Later = ticket.LaterVoids{{Job: 13, Clock: "19:40"}}
	out["changed"] = changed
	nothing := everyday()
	nothing.Ticket.Changed, nothing.Ticket.Lines = &ticket.Change{Parts: 2, Part: 1}, nil
	nothing.Ticket.Notes = []string{ticket.NothingListed}
	out["nothing"] = nothing
	late := everyday()
	late.Ticket.Banners = []string{"LATE – refused at 10:49: records[0].retryCount: want an integer, got a string"}
	out["late"] = late
	out["slip"] = ticket.Delivery{Job: 90, Attempt: 1, Ticket: ticket.Ticket{
		Kind: ticket.ExpiredList, Received: received(), Zone: "Nowhere/Atlantis",
		Lines: []ticket.Line{
			{Quantity: "1", Name: "#18 Table B10, 18:02, job 71"},
			{Quantity: "1", Name: "#19 Table B11, 18:05, job 72"},
		},
	}}
	out["test"] = ticket.Delivery{Job: 91, Attempt: 1, Ticket: ticket.Ticket{Kind: ticket.Test, Received: received()}}
	r := everyday()
	r.Ticket.Refire, r.Ticket.Rush = true, true
	r.Ticket.Number, r.Ticket.Table = "", "The Very Long Name Of A Birthday Party"
	for i := range r.Ticket.Lines {
		r.Ticket.Lines[i].Refire, r.Ticket.Lines[i].NoRoute = true, true
	}
	out["refire-unrouted"] = r
	n := everyday()
	n.For, n.RefusedBy = "hot-line", []string{"hot-line", "fresh"}
	out["refused"] = n
	takeaway := everyday()
	takeaway.Ticket.Number, takeaway.Ticket.Table, takeaway.Ticket.Type = "UberEats 4F2A", "Priya", "Takeaway"
	out["takeaway"] = takeaway
	out["raw"] = ticket.Delivery{Job: 92, Attempt: 1, Ticket: ticket.Ticket{
		Request: "r", Received: received(),
		Raw: `{"id":"r","items":[],"hello":"world","list":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}`}}
	return out
}

func TestTicketsMatchTheGoldenFiles(t *testing.T) {
	for name, d := range variants() {
		for _, columns := range []int{48, 42, 32} {
			if name != "rich" && columns == 48 {
				continue
			}
			file := filepath.Join("testdata", fmt.Sprintf("%s-%d.txt", name, columns))
			t.Run(filepath.Base(file), func(t *testing.T) {
				assert.Golden(t, file, Plain(Compose(d, columns, "grill"), columns), *update)
			})
		}
	}
}
