package ticket

import (
	"fmt"
	"strings"
	"testing"
)

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

func TestAVoidOfTheSameRecordStrikesItsTicket(t *testing.T) {
	order, void := of18(1, "2Fish 1Pie"), void18(2, "1Fish-")
	void.Ticket.Kind, void.Ticket.Request, void.Ticket.Record = Correction, "request-1", "record-1"
	if got := standing(order, void); got != "1Fish 1Fish-2 1Pie, 2 request" {
		t.Error(got)
	}
	reprint := of18(3, "2Fish 1Pie")
	if got := standing(order, void, reprint); got != "1Fish 1Fish-2 1Pie, 2Fish 1Pie, 2 request" {
		t.Errorf("what is ordered after a void: %s", got)
	}
	void.Ticket.Lines = nil
	if got := standing(order, void); got != "2Fish-2 1Pie-2, 2 request" {
		t.Error(got)
	}
}

func TestAVoidOfAnotherRequestIsMatchedByName(t *testing.T) {
	for _, c := range []struct{ void, want string }{
		{"1Fish-", "2Fish, 2Fish 1Fish-9 1Pie, 9 number"}, // the latest ticket
		{"4Fish-", "1Fish 1Fish-9, 3Fish-9 1Pie, 9 number"},
		{"7Fish-", "2Fish-9, 3Fish-9 1Pie, 9 number"},
		{"1Cake-", "2Fish, 3Fish 1Pie, 9 unmatched 1Cake"},
		{"1Cake- 1Pie-", "2Fish, 3Fish 1Pie-9, 9 number 1Cake"},
		{"", "2Fish-9, 3Fish-9 1Pie-9, 9 number"},
	} {
		if got := standing(of18(1, "2Fish"), of18(2, "3Fish 1Pie"), void18(9, c.void)); got != c.want {
			t.Errorf("void of %q: %s, want %s", c.void, got, c.want)
		}
	}
}

func TestACorrectionMeansTicketsOfItsRequestOnly(t *testing.T) {
	for lines, want := range map[string]string{
		"1Fish-": "1Fish, 1Pie, 9 unmatched 1Fish", "1Pie-": "1Fish, 1Pie-9, 9 request", "": "1Fish, 1Pie-9, 9 request",
	} {
		void := void18(9, lines)
		void.Ticket.Kind, void.Ticket.Request = Correction, "request-2"
		if got := standing(of18(1, "1Fish"), of18(2, "1Pie"), void); got != want {
			t.Errorf("%q: %s, want %s", lines, got, want)
		}
	}
	// A new order of the same request makes no match by names certain.
	void := void18(9, "1Fish-")
	void.Ticket.Request = "request-2"
	if got := standing(of18(1, "1Fish"), of18(2, "1Pie"), void); got != "1Fish-9, 1Pie, 9 number" {
		t.Error(got)
	}
}

func TestAVoidThatCanMeanTwoDishesStrikesNeither(t *testing.T) {
	one, two := of18(1, "1Fish!raw"), of18(2, "1Fish!salted")
	if got := standing(one, two, void18(9, "1Fish-")); got != "1Fish, 1Fish, 9 unmatched 1Fish" {
		t.Error(got)
	}
	other := of18(1, "1Fish")
	other.Station = "cold"
	if got := standing(other, void18(9, "1Fish-")); got != "1Fish, 9 unmatched 1Fish" {
		t.Errorf("of another station: %s", got)
	}
	if got := standing(void18(1, "1Fish-"), of18(2, "1Fish")); got != "1Fish, 1 unmatched 1Fish" {
		t.Errorf("before its dish: %s", got)
	}
}

func TestAReprintIsStruckWithItsTicket(t *testing.T) {
	one, again := of18(1, "1Fish"), of18(1, "1Fish")
	again.Job, again.Copy = 2, true
	if got := standing(one, again, void18(9, "1Fish-")); got != "1Fish-9, 1Fish-9, 9 number" {
		t.Error(got)
	}
	again.Job, again.Ticket.Lines = 10, parse("1Fish-") // made after the void
	if got := standing(one, void18(9, "1Fish-"), again); got != "1Fish-9, 1Fish-0, 9 number, 10 reprint" {
		t.Errorf("a reprint of what is void: %s", got)
	}
}

func TestAVoidInAnOrderMeansAnEarlierTicket(t *testing.T) {
	if got := standing(of18(1, "1Fish"), of18(2, "1Fish- 1Pie")); got != "1Fish-2, 1Fish-0 1Pie, 2 number" {
		t.Error(got)
	}
	if got := standing(of18(1, "1Fish- 1Pie")); got != "1Fish-0 1Pie, 1 unmatched 1Fish" {
		t.Error(got)
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
