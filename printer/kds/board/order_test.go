package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

// of18 is a ticket of order 18 in a request of its own. Lines are like "2 Fish"; with - they are void.
func of18(job uint64, lines ...string) ticket.Delivery {
	d := order(job)
	d.Ticket.Number, d.Ticket.Record = "18", fmt.Sprint("record-", job)
	for _, l := range lines {
		quantity, name, _ := strings.Cut(l, " ")
		name, void := strings.CutSuffix(name, "-")
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: quantity, Name: name, Void: void})
	}
	return d
}

// void18 is a cancellation for order 18 in a request of its own.
func void18(job uint64, lines ...string) ticket.Delivery { return voided(of18(job, lines...)) }

// ordersText is the board as a cook sees it: each order with its tickets, - for struck and + for done lines, and bands.
func ordersText(orders []*Order) (out []string) {
	for _, o := range orders {
		words := []string{o.Number}
		if o.State != Open {
			words[0] += " " + string(o.State)
		}
		if o.BumpedClock != "" {
			words = append(words, "of "+o.Number)
		}
		for _, k := range o.Tickets {
			w := fmt.Sprint(k.Job)
			if k.Added {
				w = "+" + w
			}
			for _, it := range k.Items {
				w += " " + it.Quantity + it.Name
				if it.Void {
					w += "-"
				}
				if it.Done {
					w += "+"
				}
			}
			words = append(words, "["+w+"]")
		}
		for _, v := range o.Voids {
			w := fmt.Sprint(map[bool]string{false: "VOID ", true: "CHANGED "}[v.Changed], v.Job)
			w = strings.TrimSpace(w + " " + strings.Join(v.Lines, ", "))
			if v.BumpedClock != "" {
				w += " bumped"
			}
			if v.AckedAt != 0 {
				w += " read"
			}
			words = append(words, "["+w+"]")
		}
		out = append(out, strings.Join(append(words, fmt.Sprint("left ", o.Left)), " "))
	}
	return out
}

func wantOrders(t *testing.T, b *Board, want ...string) {
	t.Helper()
	s := b.Snapshot()
	wantEqual(t, "orders", want, append(ordersText(s.Orders), ordersText(s.Recall)...))
}

func TestAVoidIsShownWithItsOrder(t *testing.T) {
	b := boardOf(t, of18(1, "2 Fish", "1 Pie"), order(9, "Soup"), void18(2, "1 Fish"))
	wantOrders(t, b, "#18 [1 2Fish 1Pie] [+2 1Fish-] [VOID 2 1 Fish] left 2", "#9 [9 1Soup] left 1")
	wantOutcome(t, b, press(b, Bump, 1, 0), Unacknowledged)
	wantOutcome(t, b, press(b, AckVoid, 1, 0), Done)
	wantOutcome(t, b, press(b, AckVoid, 1, 0), Already)
	wantOutcome(t, b, press(b, Bump, 1, 0), Done)
	wantJobs(t, b, "9 | 1 2")
	wantOutcome(t, b, press(b, AckVoid, 9, 0), Already)
}

func TestAVoidOfABumpedOrderSaysWhenThatWasBumped(t *testing.T) {
	b := boardOf(t, of18(1, "2 Fish", "1 Pie"))
	do(t, b, press(b, Bump, 1, 0))
	put(t, b, void18(2, "1 Pie"))
	wantOrders(t, b, "#18 of #18 [+2 1Pie-] [VOID 2 1 Pie bumped] left 0", "#18 bumped [1 2Fish 1Pie] left 0")
	do(t, b, press(b, AckVoid, 2, 0))
	do(t, b, press(b, Bump, 2, 0)) // what leaves at another time is recalled alone
	wantOrders(t, b, "#18 bumped [+2 1Pie-] [VOID 2 1 Pie bumped read] left 0", "#18 bumped [1 2Fish 1Pie] left 0")
}

func TestAChangedTicketTakesThePlaceOfTheOldOneAndMustBeRead(t *testing.T) {
	s := queuetest.NewStore()
	b := open(t, s)
	put(t, b, of18(1, "2 Fish", "1 Pie"), order(9, "Soup"))
	do(t, b, press(b, ItemDone, 1, 0))
	put(t, b, changed18(1, 2, "1 Pie"))
	want := []string{"#18 [2 1Pie] [CHANGED 2] left 1", "#9 [9 1Soup] left 1"}
	wantOrders(t, b, want...)
	k := card(b, 2)
	assert.True(t, k.Changed && k.Notes[0].Key == "replaces" && k.Notes[0].Text == "#18" && k.Notes[0].Clock != "", k)
	put(t, b, of18(1, "2 Fish", "1 Pie")) // the queue delivers it again
	b = open(t, s)
	wantOrders(t, b, want...)
	n, _ := b.Count()
	assert.Equal(t, n, 2)
	wantOutcome(t, b, press(b, Bump, 2, 0), Unacknowledged)
	wantOutcome(t, b, press(b, AckVoid, 2, 0), Done)
	wantOutcome(t, b, press(b, Bump, 2, 0), Done)
	nothing := changed18(1, 3)
	nothing.Ticket.Received = nothing.Ticket.Received.Add(time.Minute)
	put(t, b, nothing)
	wantOrders(t, b, "#9 [9 1Soup] left 1", "#18 [3] [CHANGED 3 bumped] left 0")
}

func TestTheTicketsOfOneChangeDoNotReplaceEachOther(t *testing.T) {
	b := boardOf(t, of18(1, "1 Fish"), changed18(1, 2, "1 Pie"), changed18(1, 3, "1 Tea"))
	wantOrders(t, b, "#18 [2 1Pie] [3 1Tea] [CHANGED 2] [CHANGED 3] left 2")
}

func TestAnAddOnJoinsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := boardOf(t, of18(1, "1 Fish"), order(9, "Soup"), of18(2, "1 Pie"))
		wantOrders(t, b, "#18 [1 1Fish] [+2 1Pie] left 2", "#9 [9 1Soup] left 1")
		wantOutcome(t, b, press(b, Bump, 1, 0), Done)
		put(t, b, of18(3, "1 Cake"))
		wantOrders(t, b, "#9 [9 1Soup] left 1", "#18 of #18 [+3 1Cake] left 1",
			"#18 bumped [1 1Fish] [+2 1Pie] left 0")
		time.Sleep(2 * time.Hour)
		put(t, b, order(10, "Tea"))
		do(t, b, press(b, Bump, 3, 0))
		time.Sleep(2 * time.Hour)
		put(t, b, of18(4, "1 Tea")) // the next day has the same numbers
		o := b.OrderWith(4)
		assert.True(t, o.BumpedClock == "" && !o.Tickets[0].Added, o)
	})
}

func TestWhatBelongsTogetherIsOneOrder(t *testing.T) {
	type change = func(*ticket.Ticket)
	set := func(fields ...string) change { // number, table, request, record; "=" is the same as before
		return func(t *ticket.Ticket) {
			for i, to := range []*string{&t.Number, &t.Table, &t.Request, &t.Record} {
				if fields[i] != "=" {
					*to = fields[i]
				}
			}
		}
	}
	check := func(id string, more change) change {
		return func(t *ticket.Ticket) {
			if t.Check = id; more != nil {
				more(t)
			}
		}
	}
	noNumber, noRecord := set("", "=", "=", "="), set("=", "=", "=", "")
	for what, c := range map[string]struct {
		a, b change
		want bool
	}{
		"the same number":                 {nil, nil, true},
		"another venue":                   {nil, func(t *ticket.Ticket) { t.Venue = "other" }, false},
		"another number":                  {nil, set("19", "=", "=", "="), false},
		"another table":                   {nil, set("=", "B11", "=", "="), false},
		"a number without a table":        {nil, set("=", "", "=", "="), true},
		"a table without a number":        {nil, noNumber, false},
		"the same table, no numbers":      {noNumber, set("", "b10", "=", "="), true},
		"a slip":                          {nil, func(t *ticket.Ticket) { t.Kind = ticket.ExpiredList }, false},
		"a correction of the same record": {nil, set("", "", "request", "record"), true},
		"another record of one request":   {noNumber, set("", "", "request", "="), false},
		"a request without records":       {noRecord, set("", "=", "request", ""), true},
		"one request with two numbers":    {noRecord, set("19", "=", "request", ""), false},
		"one check at another table":      {check("c", nil), check("c", set("19", "B11", "=", "=")), true},
		"two checks with one number":      {check("c", nil), check("d", nil), false},
		"two checks of one request": {
			check("c", set("=", "=", "request", "")), check("d", set("=", "=", "request", "")), false,
		},
		"two checks at one table": {check("c", noNumber), check("d", noNumber), false},
		"one without its check":   {check("c", nil), nil, true},
		"the check of another venue": {
			check("c", noNumber), check("c", func(t *ticket.Ticket) { t.Number, t.Venue = "", "other" }), false,
		},
	} {
		b := open(t, queuetest.NewStore())
		one, two := of18(1, "1 Fish"), of18(2, "1 Fish")
		one.Ticket.Request, one.Ticket.Record = "request", "record"
		for d, f := range map[*ticket.Delivery]change{&one: c.a, &two: c.b} {
			if f != nil {
				f(&d.Ticket)
			}
		}
		put(t, b, one, two)
		assert.Equal(t, b.OrderWith(1) == b.OrderWith(2), c.want, what)
	}
}

func TestAnOrderWhoseGuestsChangeTablesIsOneAndSaysSo(t *testing.T) {
	b := open(t, queuetest.NewStore())
	at := func(d ticket.Delivery, table string) ticket.Delivery {
		d.Ticket.Check, d.Ticket.Table = "c", table
		return d
	}
	put(t, b, at(of18(1, "2 Fish"), "4"), at(of18(2, "1 Pie"), "7"), at(void18(3, "1 Fish"), "9"))
	o := b.OrderWith(1)
	assert.True(t, o.Table == "Table 4 → 9" && len(o.Tickets) == 3 && o.MustAckVoid, o)
	put(t, b, at(of18(4, "1 Tea"), "4"))
	o = b.OrderWith(1)
	assert.Equal(t, o.Table, "Table 4")
}

func TestATableIsTheSameInAnyCaseAndForAnyTypeOfOrder(t *testing.T) {
	for first, second := range map[string]string{"Terrace 4": "TERRACE 4", "12": "12", "Table 12": "12"} {
		b := open(t, queuetest.NewStore())
		one, two := of18(1, "1 Fish"), of18(2, "1 Pie")
		one.Ticket.Table, two.Ticket.Table, one.Ticket.Type = first, second, "Takeaway"
		put(t, b, one, two)
		assert.Equal(t, b.OrderWith(2).Table, first, second)
	}
}

func TestWhoComesToATableThatGuestsHaveLeftIsAnOrderOfItsOwn(t *testing.T) {
	b := open(t, queuetest.NewStore())
	at := func(d ticket.Delivery, check, table string) ticket.Delivery {
		d.Ticket.Number, d.Ticket.Check, d.Ticket.Table = "", check, table
		return d
	}
	put(t, b, at(of18(1, "1 Fish"), "c", "4"), at(of18(2, "1 Pie"), "c", "7"), at(of18(3, "1 Tea"), "", "4"),
		at(of18(4, "1 Egg"), "", "7"))
	moved := b.OrderWith(2)
	assert.True(t, b.OrderWith(3) != moved && b.OrderWith(4) == moved, b.OrderWith(3), b.OrderWith(4))
}

func TestATableWithoutNumbersHasNewGuestsAfterItsOrderWasBumped(t *testing.T) {
	b := open(t, queuetest.NewStore())
	one, two := of18(1, "1 Fish"), of18(2, "1 Pie")
	one.Ticket.Number, two.Ticket.Number = "", ""
	put(t, b, one)
	do(t, b, press(b, Bump, 1, 0))
	put(t, b, two)
	o := b.OrderWith(2)
	assert.True(t, o.BumpedClock == "" && !o.Tickets[0].Added, o)
}

func TestPagesSayTheSentencesOfTheProgramThemselves(t *testing.T) {
	b := open(t, queuetest.NewStore())
	d := of18(1, "1 Fish")
	d.Ticket.MayCancel, d.Ticket.Lines[0].MayCancel, d.Ticket.Promised = "flow: CANCELLED", "step: VOIDED", "19:30"
	d.Ticket.Notes, d.Ticket.RefusedFor, d.Ticket.More = []string{ticket.NothingListed}, "want a UUID", 3
	d.Ticket.Lines[0].Notes, d.Ticket.Lines[0].More = []string{"and 2 more: job 9", "done on the screen"}, 2
	d.Ticket.NameMore(1)
	d.Ticket.Banners = []string{"LATE – refused at 21:40: as an earlier version said it"}
	// of a reprint: it was cancelled since
	d.Ticket.Later = ticket.LaterVoids{{Job: 13, Clock: "21:55"}, {}, {Text: "VOID at 21:56: job 14"}}
	put(t, b, d)
	want := [][]Text{
		{{Key: "may_cancel", Text: "flow: CANCELLED", Void: true},
			{Key: "later_void", Text: "13", Clock: "21:55", Void: true}, {Key: "later_voids", Void: true},
			{Text: "VOID at 21:56: job 14", Void: true}, {Key: "wanted", Text: "19:30"},
			{Key: "late_refused", Text: "want a UUID", Clock: "21:49"},
			{Text: "LATE – refused at 21:40: as an earlier version said it"}, {Key: "nothing_listed"},
			{Key: "more_unread", Text: "3"}},
		{{Key: "may_cancel", Text: "step: VOIDED", Void: true}, {Text: "and 2 more: job 9"},
			{Text: "done on the screen"}, {Key: "more_unread", Text: "2"}},
	}
	k := card(b, 1)
	wantEqual(t, "notes", want, [][]Text{k.Notes, k.Items[0].Notes})
}

func TestTheDayOfAnOrderThatIsWantedOnAnotherDayIsDataThatPagesSayInTheirLanguage(t *testing.T) {
	b := open(t, queuetest.NewStore())
	d, free := order(1, "Fish"), order(2, "Fish")
	d.Ticket.Promised = d.Ticket.Received.AddDate(0, 0, 1).Format(time.RFC3339)
	free.Ticket.Promised = "half past\nseven"
	put(t, b, d, free)
	want := [][]Text{{{Key: "wanted", Text: "21:49", Day: "2026-02-07"}}, {{Key: "wanted", Text: "half past seven"}}}
	wantEqual(t, "notes", want, [][]Text{card(b, 1).Notes, card(b, 2).Notes})
}

func TestAllergiesAreLiftedToTheHeadOfTheOrder(t *testing.T) {
	b := open(t, queuetest.NewStore())
	b.SetLook(Look{Alarms: func(s string) bool { return strings.Contains(s, "nut") }, AckAlarm: true,
		Colour: func(s string) string { return "red" }})
	d := of18(1, "1 Fish", "1 Pie", "1 nut cake")
	d.Ticket.Notes = []string{"nut allergy", "quick"}
	d.Ticket.Lines[1].Notes = []string{"no nuts"}
	d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Depth: 1, Quantity: "1", Name: "nuts", Void: true})
	put(t, b, d)
	want := []Alarm{{"nut allergy", 1}, {"no nuts", 1}, {"nut cake", 1}}
	o := b.OrderWith(1)
	wantEqual(t, "alarms", want, o.Alarms)
	k := o.Tickets[0]
	assert.True(t, k.Notes[0].Alarm && !k.Notes[1].Alarm && k.Items[3].Colour == "red" && k.Items[0].Colour == "", k)
	do(t, b, press(b, AckVoid, 1, 0))
	wantOutcome(t, b, press(b, Bump, 1, 0), Unacknowledged)
	wantOutcome(t, b, press(b, AckAlarm, 1, 0), Done)
	o = b.OrderWith(1)
	assert.True(t, o.AlarmAckedAt != 0 && !o.MustAckAlarm, o)
	put(t, b, of18(2, "1 nut roast"))
	wantOutcome(t, b, press(b, Bump, 1, 0), Unacknowledged) // the add-on has an allergy, too
	wantOutcome(t, b, press(b, AckAlarm, 1, 0), Done)
	put(t, b, void18(3, "1 nut roast"))
	o = b.OrderWith(2)
	assert.Equal(t, len(o.Alarms), 4, o.Alarms)
	do(t, b, press(b, AckVoid, 3, 0))
	wantOutcome(t, b, press(b, Bump, 1, 0), Done)
}

func TestAllDayCountsWhatIsStillToBeMade(t *testing.T) {
	b := open(t, queuetest.NewStore())
	with := func(job uint64, lines ...ticket.Line) ticket.Delivery {
		d := order(job)
		d.Ticket.Lines = lines
		return d
	}
	burger := ticket.Line{Quantity: "1", Name: "Burger", Course: "Mains"}
	of := func(quantity string) ticket.Line { l := burger; l.Quantity = quantity; return l }
	put(t, b,
		with(1, of("2"), ticket.Line{Depth: 1, Quantity: "1", Name: "no onions"},
			ticket.Line{Quantity: "0.1", Name: "Cake"},
			ticket.Line{Quantity: "1", Name: "Burger", Course: "Mains", Void: true}),
		with(2, of("3"), ticket.Line{Quantity: "0.2", Name: "Cake"}, ticket.Line{Quantity: "some", Name: "Bread"},
			burger),
		with(3, burger, ticket.Line{Depth: 1, Quantity: "1", Name: "no onions"},
			ticket.Line{Depth: 1, Quantity: "2", Name: "extra cheese", Void: true}),
		with(4, of("100")), with(5, ticket.Line{Quantity: "1", Name: "Burger", Course: "Kids"}),
		of18(18, "5 Tart"), void18(19, "4 Tart"))
	do(t, b, press(b, ItemDone, 2, 3))
	do(t, b, press(b, Bump, 4, 0))
	var got []string
	for _, c := range AllDay(b.Snapshot().Orders, "", time.Now()) {
		line := fmt.Sprint(c.Quantity, " ", c.Name, " in ", c.Orders, ":")
		for _, v := range c.Variants {
			line += fmt.Sprint(" ", v.Quantity, v.Course, v.Modifiers)
		}
		got = append(got, line)
	}
	want := []string{"7 Burger in 4: 3Mains[no onions] 3Mains[] 1Kids[]", "5 Tart in 1: 5[]", "0.3 Cake in 2: 0.3[]",
		"some Bread in 1: some[]"}
	wantEqual(t, "counts", want, got)
	assert.Equal(t, len(AllDay(b.Snapshot().Orders, "Mains", time.Now())), 1)
}

func TestATicketIsAnAddOnOnlyIfItIsTheFirstOfALaterRequest(t *testing.T) {
	b := open(t, queuetest.NewStore())
	for job, request := range []string{"first", "first", "later", "later"} {
		d := of18(uint64(job+1), "1 Fish")
		d.Ticket.Request, d.Ticket.Record = request, ""
		put(t, b, d)
	}
	var added []bool
	for _, k := range b.OrderWith(1).Tickets {
		added = append(added, k.Added)
	}
	assert.True(t, slices.Equal(added, []bool{false, false, true, false}), added)
}

// changed18 is a ticket that replaces the ticket of job old, one minute later.
func changed18(old, job uint64, lines ...string) ticket.Delivery {
	was, d := of18(old), of18(job, lines...)
	d.Ticket.Request, d.Ticket.Record = was.Ticket.Request, was.Ticket.Record
	d.Ticket.Received = was.Ticket.Received.Add(time.Minute)
	d.Ticket.Changed = &ticket.Change{Order: "#18", Received: was.Ticket.Received}
	return d
}
