package ticket

import (
	"fmt"
	"strings"
	"testing"
)

func TestAVoidStrikesWhatItCertainlyMeans(t *testing.T) {
	order, again, voidReprint := of18(1, "2Fish 1Pie"), of18(1, "1Fish"), of18(1, "1Fish-")
	again.Job, again.Copy = 2, true
	voidReprint.Job, voidReprint.Copy = 10, true
	sameRecord := func(o Ordered) Ordered { o.Ticket.Record = "record-1"; return o }
	sameRequest := void18(9, "1Fish-")
	sameRequest.Ticket.Request = "request-2"
	cold := of18(1, "1Fish")
	cold.Station = "cold"
	one, two, void := of18(1, "1Fish"), of18(2, "1Pie"), void18(9, "1Fish-")
	for _, c := range []struct {
		name    string
		tickets []Ordered
		want    string
	}{
		{"of its record", []Ordered{order, sameRecord(correction18(2, 1, "1Fish-"))}, "1Fish 1Fish-2 1Pie, 2 request"},
		{"what is ordered after it stays", []Ordered{order, sameRecord(correction18(2, 1, "1Fish-")),
			of18(3, "2Fish 1Pie")}, "1Fish 1Fish-2 1Pie, 2Fish 1Pie, 2 request"},
		{"of the whole record", []Ordered{order, sameRecord(correction18(2, 1, ""))}, "2Fish-2 1Pie-2, 2 request"},

		{"of its request", []Ordered{one, two, correction18(9, 2, "1Pie-")}, "1Fish, 1Pie-9, 9 request"},
		{"of its whole request", []Ordered{one, two, correction18(9, 2, "")}, "1Fish, 1Pie-9, 9 request"},
		{"not of another request", []Ordered{one, two, correction18(9, 2, "1Fish-")}, "1Fish, 1Pie, 9 unmatched 1Fish"},
		{"a new order of the same request makes no match by names certain", []Ordered{one, two, sameRequest},
			"1Fish-9, 1Pie, 9 number"},

		{"by name, in the latest ticket", []Ordered{of18(1, "2Fish"), of18(2, "3Fish 1Pie"), void},
			"2Fish, 2Fish 1Fish-9 1Pie, 9 number"},
		{"by name, in two tickets", []Ordered{of18(1, "2Fish"), of18(2, "3Fish 1Pie"), void18(9, "4Fish-")},
			"1Fish 1Fish-9, 3Fish-9 1Pie, 9 number"},
		{"more than was ordered", []Ordered{of18(1, "2Fish"), of18(2, "3Fish 1Pie"), void18(9, "7Fish-")},
			"2Fish-9, 3Fish-9 1Pie, 9 number"},
		{"a dish that nobody ordered", []Ordered{of18(1, "2Fish"), of18(2, "3Fish 1Pie"), void18(9, "1Cake-")},
			"2Fish, 3Fish 1Pie, 9 unmatched 1Cake"},
		{"the same beside one that was", []Ordered{of18(1, "2Fish"), of18(2, "3Fish 1Pie"), void18(9, "1Cake- 1Pie-")},
			"2Fish, 3Fish 1Pie-9, 9 number 1Cake"},
		{"the whole order", []Ordered{of18(1, "2Fish"), of18(2, "3Fish 1Pie"), void18(9, "")},
			"2Fish-9, 3Fish-9 1Pie-9, 9 number"},

		{"neither of two dishes", []Ordered{of18(1, "1Fish!raw"), of18(2, "1Fish!salted"), void},
			"1Fish, 1Fish, 9 unmatched 1Fish"},
		{"not at another station", []Ordered{cold, void}, "1Fish, 9 unmatched 1Fish"},
		{"not before its dish", []Ordered{void18(1, "1Fish-"), of18(2, "1Fish")}, "1Fish, 1 unmatched 1Fish"},
		{"in an order, an earlier ticket", []Ordered{one, of18(2, "1Fish- 1Pie")}, "1Fish-2, 1Fish-0 1Pie, 2 number"},
		{"in an order, nothing of its own", []Ordered{of18(1, "1Fish- 1Pie")}, "1Fish-0 1Pie, 1 unmatched 1Fish"},

		{"a reprint with its ticket", []Ordered{one, again, void}, "1Fish-9, 1Fish-9, 9 number"},
		{"a reprint of what is void", []Ordered{one, void, voidReprint}, "1Fish-9, 1Fish-0, 9 number, 10 reprint"},
	} {
		if got := standing(c.tickets...); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAVeryLargeOrderIsStruckOnlyWhereThatIsCertain(t *testing.T) {
	large := of18(1, strings.Repeat("1Pie ", maxStruck)+"1Fish")
	if got := standing(large, void18(9, "1Fish-")); !strings.HasSuffix(got, "9 unmatched 1Fish") {
		t.Error(got[len(got)-60:])
	}
}

func TestAReprintOfAVoidThatIsNotHereStrikes(t *testing.T) {
	one, void := of18(1, "1Fish 1Pie"), void18(8, "1Fish-")
	void.Copy = true // it was held, and a person reprinted it here
	void.Ticket.Kind, void.Ticket.Request, void.Ticket.Record = Correction, "request-1", "record-1"
	if got := standing(one, void); got != "1Fish-8 1Pie, 8 request" {
		t.Error(got)
	}
	for _, other := range []func(*Ordered){
		func(o *Ordered) { o.Ticket.Received = o.Ticket.Received.Add(1) }, // the next correction of the order
		func(o *Ordered) { o.Station = "cold" },
		func(o *Ordered) { o.Ticket.Record = "record-2" },
		func(o *Ordered) { o.Ticket.Request = "request-2" },
	} {
		before, ticket := void, *void.Ticket
		before.Job, before.Ticket, ticket.Lines = 7, &ticket, parse("1Pie-")
		other(&before)
		if got := standing(one, before, void); !strings.HasPrefix(got, "1Fish-8 ") {
			t.Error(got)
		}
	}
	// It may also be an order that was cancelled elsewhere, and then the Fish here is wanted.
	void.Ticket.Kind, void.Ticket.Request, void.Ticket.Record = Order, "request-9", "record-9"
	if got := standing(one, void); got != "1Fish 1Pie, 8 unmatched 1Fish" {
		t.Error(got)
	}
}

func TestAVoidStrikesWhatWasAddedOrWhatWasThereBeforeButNotBoth(t *testing.T) {
	first := grill(dishes("2 Fish")...).Ticket
	added := grill(dishes("Fish", "Soup")...).Ticket
	added.Added = true
	void := grill(dishes("-Fish", "-Soup")...).Ticket
	void.Kind, void.Void = Correction, true
	lines, voids := Strike([]Ordered{
		{Job: 1, Station: "grill", Ticket: &first}, {Job: 2, Station: "grill", Ticket: &added},
		{Job: 3, Station: "grill", Ticket: &void},
	})
	struck := 0
	for _, l := range append(lines[0], lines[1]...) {
		if l.Name == "Fish" && l.Void {
			struck++
		}
	}
	if struck != 1 || !lines[1][1].Void || len(voids[0].Left) > 0 {
		t.Errorf("%d struck\n%+v\n%+v", struck, lines, voids)
	}
}

// standing is an order after Strike: its tickets, with - and the job for what is struck, and how.
func standing(tickets ...Ordered) string {
	lines, voids := Strike(tickets)
	var out []string
	for i, t := range lines {
		var words []string
		for _, l := range t {
			w := strings.Repeat(">", l.Depth) + l.Quantity + l.Name
			if l.Void {
				w += fmt.Sprint("-", l.By)
			}
			words = append(words, w)
		}
		if tickets[i].Ticket.Kind == Order && !tickets[i].Ticket.Void {
			out = append(out, strings.Join(words, " "))
		}
	}
	for _, v := range voids {
		w := fmt.Sprint(v.Job, " ", v.How)
		for _, l := range v.Left {
			w += " " + l.Quantity + l.Name
		}
		out = append(out, w)
	}
	return strings.Join(out, ", ")
}

// of18 is a ticket of order 18 in a request of its own.
func of18(job uint64, lines string) Ordered {
	t := order142(lines)
	t.Number, t.Request, t.Record = "18", fmt.Sprint("request-", job), fmt.Sprint("record-", job)
	return Ordered{Job: job, Station: "grill", Ticket: &t}
}

func void18(job uint64, lines string) Ordered {
	o := of18(job, lines)
	o.Ticket.Void = true
	return o
}

// correction18 is a correction of the request that ticket n of order 18 came with.
func correction18(job, n uint64, lines string) Ordered {
	o := void18(job, lines)
	o.Ticket.Kind, o.Ticket.Request = Correction, fmt.Sprint("request-", n)
	return o
}
