package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// orderShapes are items, and members of records, as order formats of many services have them. Each must come out
// complete: every text, number and true flag is on the ticket, or in noise, which a cook does not need. Texts that the
// ticket must have are in want. Both are separated by bars.
var orderShapes = []struct{ shape, noise, want string }{
	// Allergies and notes.
	{`{"name":"Pad Thai","allergens":["sesame","nuts"]}`, "", "allergens: sesame, nuts"},
	{`{"name":"Pad Thai","allergens":[{"name":"sesame"},{"name":"nuts"}]}`, "", "allergens: sesame, nuts"},
	{`{"name":"Pie","allergens":[{"name":"nuts","severity":"high"}]}`, "", "allergens: nuts (severity: high)"},
	{`{"name":"Pie","allergyNotes":"severe peanut"}`, "", "allergyNotes: severe peanut"},
	{`"allergies":"celery","items":[{"name":"Pie"}]`, "", "allergies: celery"},
	{`{"name":"Pie","allergy":{"type":"nut","note":"carries an EpiPen"}}`, "", ""},
	{`{"name":"Pie","dietary":["vegan","halal"]}`, "", ""},
	{`{"name":"Pie","special_instructions":"no salt"}`, "", "no salt"},
	{`{"name":"Pie","kitchenNote":"well done"}`, "", "kitchenNote: well done"},
	{`"message":"birthday","items":[{"name":"Pie"}]`, "", ""},
	{`"instructions":"leave at the door","items":[{"name":"Pie"}]`, "", ""},
	{`"instructions":["ring","twice"],"items":[{"name":"Pie"}]`, "", ""},
	{`{"name":"Pie","notes":[{"text":"no nuts"}]}`, "", ""},
	{`{"Name":"Pie","COMMENT":"no nuts"}`, "", "Pie|no nuts"},
	{`{"name":"Mac &amp; Cheese","note":"Caf&eacute; style"}`,
		"Mac &amp; Cheese|Caf&eacute; style", "Mac & Cheese|Café style"},
	{`{"name":"Peanuts","allergyAlert":"peanuts"}`, "", "allergyAlert: peanuts"},
	{`{"name":"Pie","allergens":{"severity":"high","of":[{"name":"nuts"}]}}`,
		"", "allergens.severity: high|allergens.of: nuts"},
	{`{"name":"Pie","allergenIds":["NUTS","SOY"]}`, "", "allergenIds: NUTS, SOY"},
	{`{"name":"Pie","refundNote":"do not remake","tipNote":"share","discountReason":"allergy remake",` +
		`"imageText":"HAPPY BIRTHDAY"}`, "", "\nrefundNote: do not remake"},
	{`{"name":"Pie","a":1,"b":2,"c":3,"allergyInfo":{"nut":true,"egg":true,"severity":"HIGH"},` +
		`"allergyNote":"EpiPen"}`, "1|2|3", ""},
	{`{"name":"Steak","sauce":"none","unitOfMeasure":"NONE","note":"none","dairyAllergy":"none"}`,
		"NONE", "sauce: none"},
	{`{"name":"Pie","sequence":"before the soup"}`, "", ""},
	{`{"name":"Pizza","toppings":[{"name":"Ham","amount":"EXTRA"},{"name":"Egg","amount":"1.50"}]}`, "1.50", "EXTRA"},
	// Modifiers under other keys.
	{`{"name":"Burger","modifiers":[{"name":"Bacon"},{"name":"Cheese","quantity":2}]}`, "", "modifiers:|Bacon|Cheese"},
	{`{"name":"Pizza","toppings":[{"name":"Ham"},{"name":"Olives"}]}`, "", "toppings:"},
	{`{"name":"Pizza","toppings":["Ham","Olives"]}`, "", "toppings: Ham, Olives"},
	{`{"name":"Menu","components":[{"name":"Soup","note":"hot"}]}`, "", ""},
	{`"items":[{"name":"Mains","items":[{"name":"Steak"},{"name":"Fish"}]}]`, "", "Steak|Fish"},
	{`{"name":"Burger","modifierGroups":[{"name":"Cooking","modifiers":[{"name":"Rare"}]}]}`, "", ""},
	{`{"name":"Burger","modifierGroups":[{"group":"Cooking","modifiers":[{"name":"Rare"},{"name":"Leek",` +
		`"no":true}]}]}`, "", "modifierGroups: group: Cooking, modifiers: Rare, Leek (no: true)"},
	{`{"name":"A","modifiers":[{"name":"B","modifiers":[{"name":"C"}]}]}`, "", ""},
	{`{"name":"Steak","preparation":{"level":"rare","sauce":"pepper"}}`, "", ""},
	{`{"name":"Steak","customisation":{"toppings":[{"name":"Egg"}]}}`, "", ""},
	{`{"name":"Steak","sides":["Chips",{"name":"Salad"}]}`, "", ""},
	{`{"name":"Steak","sides":[["Chips"],["Salad"]]}`, "", "sides: Chips, Salad"},
	{`"items":[{"name":"Pie"}],"drinks":[{"name":"Latte"}]`, "", "\ndrinks\n|1 Latte"},
	{`{"productName":"Duck","modifiers":[{"modifierName":"Medium"},{"modifier_name":"Orange"}]}`,
		"", "1 Duck|1 Medium|1 Orange"},
	{`{"name":"Cod","groups":[{"groupName":"Side","options":[{"optionName":"Chips"}]}]}`, "", "1 Side|1 Chips"},
	// Items under other keys.
	{`"orderNumber":42,"items":[],"line_items":[{"name":"Latte"}]`, "", "Latte"},
	{`"orderNumber":42,"items":[],"lines":["1 Latte"]`, "", ""},
	{`"orderNumber":42,"items":[],"instructions":[{"command":"TEXT","value":"1x Latte","value2":"","format":"BOLD"},` +
		`{"command":"text","value":"1x Latte"},{"command":"LINE_FEED"}]`,
		"TEXT|text|BOLD|LINE_FEED", "1x Latte\n1x Latte"},
	{`"items":[{"name":"Pie"}],"instructions":[{"command":"TEXT","value":"Pie"}]`, "TEXT", ""},
	{`"items":[{"name":"Pie","note":"egg allergy"}],"instructions":[{"command":"TEXT","value":"** EGG ALLERGY **"},` +
		`{"command":"TEXT","value":"ALLERGIC:","value2":"nuts"}]`,
		"TEXT|** EGG ALLERGY **|ALLERGIC:", "\nALLERGIC: nuts\n"},
	// Cancellations.
	{`{"name":"Ribeye","isCancelled":true}`, "", "VOID Ribeye"},
	{`{"name":"Ribeye","change_type":"removed"}`, "", "VOID Ribeye"},
	{`{"name":"Ribeye","itemStatus":"Canceled"}`, "", "VOID Ribeye"},
	{`{"name":"Ribeye","voidDate":"2026-02-06"}`, "", "VOID Ribeye"},
	{`"type":"CANCEL","items":[{"name":"Ribeye"}]`, "", "VOID Ribeye"},
	{`"action":"REMOVED","items":[{"name":"Ribeye"}]`, "", "VOID Ribeye"},
	{`{"name":"Ribeye","lifecycle":"CANCELLED"}`, "", "cancelled? lifecycle: CANCELLED|1 Ribeye"},
	{`{"name":"Ribeye","cancelledByGuest":true}`, "", "cancelled? cancelledByGuest: true"},
	{`{"name":"Ribeye","isVoid":"perhaps"}`, "", "cancelled? isVoid: perhaps"},
	{`{"name":"Ribeye","state":"CANCELLED_BY_GUEST"}`, "", "cancelled? state: CANCELLED_BY_GUEST"},
	{`"parts":[{"type":"PICKUP","state":"CANCELED"}],"items":[{"name":"Ribeye"}]`,
		"", "cancelled? parts: type: PICKUP, state: CANCELED"},
	{`{"name":"Ribeye","isRefund":true,"price":5}`, "5", "cancelled? isRefund: true"},
	{`{"name":"Ribeye","status":"REFUNDED"}`, "", "cancelled? status: REFUNDED"},
	{`{"name":"Ribeye","rejected":true}`, "", "cancelled? rejected: true"},
	{`{"name":"Ribeye","refundStatus":"REFUNDED","paymentState":"CANCELLED"}`, "",
		"cancelled? refundStatus: REFUNDED, paymentState: CANCELLED"},
	{`{"name":"Ribeye","refundStatus":"NOT_REQUIRED","paymentStatus":"PAID","taxState":"CANCELLABLE"}`,
		"NOT_REQUIRED|PAID|CANCELLABLE", "cancelled? \n"},
	{`{"name":"Ribeye","isRefundable":true,"voidable":true}`, "true", "cancelled? \n"},
	{`{"name":"Ribeye","refundReason":"guest left at once"}`, "", "cancelled? refundReason: guest left at once"},
	{`{"name":"Ribeye","cancelNote":"guest left at once","refundNote":"void"}`,
		"", "cancelled? cancelNote: guest left at once, refundNote: void"},
	{`"estado":"ANULADO","items":[{"name":"Wein","storniert":true}]`,
		"", "cancelled? estado: ANULADO|cancelled? storniert: true"},
	{`{"code":"P1","lifecycle":"VOIDED"}`, "", "cancelled? lifecycle: VOIDED"},
	// Modifiers that take something away.
	{`{"name":"Burger","modifiers":[{"name":"Onion","preModifier":{"name":"NO"}}]}`, "", "[NO] Onion"},
	{`{"name":"Steak","options":[{"name":"Rare","selected":true},{"name":"Done","selected":false}]}`,
		"true", "1 Rare|[selected: false] Done"},
	{`{"name":"Burger","childItems":[{"name":"Onion","isIncluded":"no"},{"name":"Egg","added":0}]}`,
		"no|0", "[isIncluded: no] Onion|[added: 0] Egg"},
	{`{"name":"Burger","childItems":[{"name":"Egg","selected":"later"}]}`, "", "1 Egg|selected: later"},
	{`{"name":"Burger","childItems":[{"name":"Ham","omit":1},{"name":"Leek","isNo":"Y"}]}`,
		"1|Y", "[omit] Ham|[isNo] Leek"},
	{`{"name":"Burger","lineNo":1}`, "1", "1 Burger"},
	{`{"name":"Burger","childItems":[{"name":"Ham","type":"REMOVAL"},{"name":"Fig","modifierAction":"SUBTRACT"},` +
		`{"name":"Rye","operation":"-"},{"name":"Bun","status":"REMOVED"},{"name":"Nut","optionType":"exclusion"},` +
		`{"name":"Dip","preModifierName":"Hold"},{"name":"Pea","prefix":"ohne"},{"name":"Oil","modifier":"LESS"},` +
		`{"name":"Mint","modCode":"86"}]}`, "",
		"[REMOVAL] Ham|[SUBTRACT] Fig|[-] Rye|[REMOVED] Bun|[EXCLUSION] Nut|[HOLD] Dip|[OHNE] Pea|" +
			"[LESS] Oil|[86] Mint"},
	{`{"name":"Burger","exclusions":[{"name":"Egg"}],"without":["Leek"]}`, "", "exclusions: Egg|without: Leek"},
	{`{"name":"Burger","type":86,"status":"-","childItems":[{"name":"Bun","kind":"no"}]}`,
		"", "1 Burger|type: 86|status: -|1 Bun|kind: no"},
	{`{"name":"Burger","giftWrap":"no","actionRequired":"no","modifiers":{"Onion":"NO"}}`,
		"", "1 Burger|modifiers.Onion: NO"},
	{`{"name":"Burger","childItems":[{"name":"Onion","isRemoved":true}]}`, "true", "[isRemoved] Onion"},
	{`{"name":"Burger","childItems":[{"name":"Onion","no":true}]}`, "true", "[no] Onion"},
	{`{"name":"Burger","modifiers":[{"name":"Onion","modifierType":"remove"}]}`, "", "[REMOVE] Onion"},
	{`{"name":"Burger","modifiers":[{"name":"Onion","prefix":"EXTRA"}]}`, "", "prefix: EXTRA"},
	// Headers.
	{`"number":"141","items":[{"name":"Pie"}]`, "", "#141"},
	{`"order_number":141,"items":[{"name":"Pie"}]`, "", "#141"},
	{`"displayNumber":"A-17","items":[{"name":"Pie"}]`, "", "#A-17"},
	{`"orderNumber":1,"customer":{"name":"Ana","phone":"0400 000"},"items":[{"name":"Pie"}]`, "", ""},
	{`"pickupTime":"2026-02-06T19:30:00Z","items":[{"name":"Pie"}]`, "", "wanted 2026-02-06T19:30:00Z"},
	{`"servingTime":"2026-02-06T19:30:00Z","reservedFor":"2026-02-06T20:00:00Z","items":[{"name":"Pie"}]`, "", ""},
	{`"createdAt":"2026-02-06T19:30:00Z","items":[{"name":"Pie"}]`, "2026-02-06T19:30:00Z", ""},
	{`"delivery":{"street":"1 Quay St","floor":3},"items":[{"name":"Pie"}]`, "", ""},
	{`"isHeld":true,"items":[{"name":"Pie"}]`, "", "isHeld: true"},
	{`"status":"HOLD","items":[{"name":"Pie"}]`, "", "status: HOLD"},
	{`"numberOfGuests":2,"server":{"firstName":"Ana"},"items":[{"name":"Pie"}]`, "", "Ana\n\n2\n"},
	{`"orderNumber":4,"displayNumber":"4","roomNumber":4,"items":[{"name":"Egg","seat":2,"portions":2}]`,
		"", "#4|roomNumber: 4|portions: 2"},
	{`"checkNumber":18,"ticketNumber":5,"items":[{"name":"Pie"}]`, "", "#18|ticketNumber: 5"},
	{`"displayId":"5A3F9","channelOrderDisplayId":"88","items":[{"name":"Pie"}]`,
		"", "#5A3F9|channelOrderDisplayId: 88"},
	// Items.
	{`{"name":"Pie","course":1,"courseName":"Starters"}`, "1", "Starters"},
	{`{"name":"BRG","displayName":"Burger deluxe"}`, "", "displayName: Burger deluxe"},
	{`{"name":"Pie","displayName":"pie"}`, "pie", ""},
	{`{"name":"Steak","size":"large","weight":250,"unit":"g"}`, "", ""},
	{`{"name":"Steak","isGlutenFree":true,"spicy":true,"isAlcohol":false}`, "", "isGlutenFree: true|spicy: true"},
	{`{"menuItem":{"name":"Pie","category":"Bakery"},"quantity":1}`, "1", "Pie|menuItem.category: Bakery"},
	{`{"name":"Latte","variation_name":"Large","base_price_money":{"amount":450,"currency":"AUD"}}`, "450|AUD", ""},
	{`{"name":"Taco","quantity":{"amount":2,"unit":"kg"}}`, "", "2 Taco"},
	{`{"name":"Latte","quantity":"two"}`, "", "quantity: two"},
	{`{"name":"Pie","price":9.5,"unitPrice":"$9.50","tax":{"rate":10},"menuItemId":"m1","plu":"0815","sortOrder":3,` +
		`"taxable":true}`, "9.5|$9.50|10|m1|0815|3|true", ""},
	{`{"name":"Pie","backgroundColor":"#ff0000","textColor":"white","imageUrl":"https://x.example/p.png"}`,
		"#ff0000|white|https://x.example/p.png", ""},
	{`{"name":"Pie","linked":"6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11","worth":"$9.50","seen":"2026-02-06"}`,
		"6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11|$9.50|2026-02-06", ""},
	{`{"code":"P1","toppings":[{"name":"Ham"}]}`, "", ""},
	{`{"name":"Pie","discounts":[{"name":"Staff","amount":5}]}`, "Staff|5", ""},
}

func TestEveryTextOfAnOrderIsOnItsTicketOrKnownNoise(t *testing.T) {
	for _, c := range orderShapes {
		members := c.shape
		if strings.HasPrefix(c.shape, "{") {
			members = `"items":[` + c.shape + `]`
		}
		req := parse(t, `{"records":[{"id":"r",`+members+`}]}`)
		paper := paperOf(compile(t, Config{Fallback: "pass"}).Split(req, harbour, "T1", noon, nil).Request.Drafts)
		isVoid := strings.Contains(paper, "VOID") // it says nothing of the field by which it is one
		noise := strings.Split("r|"+c.noise, "|")
		for i := range req.Envelope {
			v := req.Envelope[i:]
			isLeaf := v.Kind() == '"' || v.Kind() == '0' || v.Kind() == 't'
			text := strings.ToLower(v.Text())
			assert.True(t, !isLeaf || isVoid || slices.Contains(noise, v.Text()) ||
				strings.Contains(strings.ToLower(paper), text), c.shape, text, paper)
		}

		for want := range strings.SplitSeq(c.want, "|") {
			assert.True(t, strings.Contains(paper, want), c.shape, want, paper)
		}
		for _, n := range noise[1:] {
			assert.True(t, n == "" || !strings.Contains(paper, ": "+n+"\n"), c.shape, n, paper)
		}
	}
}

func TestANumberThatIsATimeOfTheServicesOwnIsNoPartOfATicket(t *testing.T) {
	p := compile(t, Config{})
	said := func(member string) (ticket.Ticket, ticket.Digest) {
		tk := only(t, Config{}, "", `"name":"Pie"`+member)
		return tk, tk.Said()
	}
	_, plain := said("")
	for _, c := range [][2]string{
		{`"addedAt":1770000060`, ""}, {`"rung_at":"1770000060"`, ""}, {`"editDate":"1770000060123"`, ""},
		{`"openedOn":"1770000060.25"`, ""}, {`"log":{"time":1770000060}`, ""}, {`"at":[1770000060]`, ""},
		{`"addedAt":177000006`, "addedAt: 177000006"}, {`"addedAt":3770000060`, "addedAt: 3770000060"},
		{`"addedAt":"1770000060 kg"`, "addedAt: 1770000060 kg"}, {`"batch":1770000060`, "batch: 1770000060"},
		{`"heat":"1770000060"`, "heat: 1770000060"}, {`"serveAt":1770000060`, "serveAt: 1770000060"},
		{`"serve":{"time":1770000060123}`, "serve.time: 1770000060123"},
		{`"serve":[{"at":1770000060}]`, "serve: 1770000060"},
		{`"serve":{"date":"2026-02-06","time":"1770000060"}`, "serve.date: 2026-02-06/serve.time: 1770000060"},
	} {
		member, want := c[0], c[1]
		tk, digest := said("," + member)
		got := strings.Join(tk.Lines[0].Notes, "/")
		assert.True(t, got == want && (digest == plain) == (want == ""), member, got, want)
		all := p.Leaves(parse(t, `{"records":[{"id":"r","items":[{"name":"Pie",`+member+`}]}]}`))
		last := all[len(all)-1]
		assert.Equal(t, (last.Use == Noise), (want == ""), member, last.Use, want)
	}
}

func TestWhatTheEnvelopeCancelsMayBeCancelledInEachRecord(t *testing.T) {
	req := parse(t, `{"event":"order.cancelled","records":[{"id":"r","items":[{"name":"Pie"}]},`+
		`{"id":"s","items":[{"name":"Ale"}]}]}`)
	for i, d := range compile(t, Config{}).Split(req, harbour, "T1", noon, nil).Request.Drafts {
		assert.Equal(t, d.Ticket.MayCancel, "event: order.cancelled", i)
	}
}

func TestAnyTextOfAnyItemIsOnThePaper(t *testing.T) {
	p := compile(t, Config{Fallback: "pass"})
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		var draw func(depth int) string
		members := func(depth, most int) string {
			return drawList(rapid.IntRange(1, most).Draw(t, "members"), func() string {
				n++
				keys := []string{"a", "b", "items", "name", "text", "allergens", "void"}
				return fmt.Sprintf(`"%s%d":%s`, rapid.SampledFrom(keys).Draw(t, "key"), n, draw(depth+1))
			})
		}
		draw = func(depth int) string {
			switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
			case kind == 1 && depth < 5:
				elements := rapid.IntRange(1, 2).Draw(t, "elements")
				return "[" + drawList(elements, func() string { return draw(depth + 1) }) + "]"
			case kind == 2 && depth < 5:
				return "{" + members(depth, 2) + "}"
			}
			return `"text"`
		}
		item := members(0, maxItemRemainder)
		for _, item := range []string{`{"name":"Pie",` + item + `}`, `{"allergens":{` + item + `}}`, `{` + item + `}`} {
			req, err := contract.Open([]byte(`{"records":[{"id":"r","items":[`+item+`]}]}`), contract.Lenient)
			if err != nil {
				t.Fatalf("%v: %s", err, item)
			}
			everyTextComesOut(t, p, req)
		}
	})
}

func TestOfALongRemainderTheWarningsPrintFirst(t *testing.T) {
	item := `{"name":"Pie","a":"1","b":"2","c":"3","d":"4","e":"5","allergyNote":"nuts","lifecycle":"voided"}`
	r := split(t, Config{Fallback: "pass"}, `{"id":"r","items":[`+item+`]}`)

	tk := r.Request.Drafts[0].Ticket
	tk.NameMore(7)
	l := tk.Lines[0]
	got := l.MayCancel + "\n" + strings.Join(l.Notes, "\n")
	want := "lifecycle: voided\nallergyNote: nuts\na: 1\nb: 2\nand 3 more: job 7"
	assert.True(t, got == want && l.Unread == len(l.Notes), "the notes are", got, want, l.Unread)
}

// paperOf is the text of tickets, a fact a line.
func paperOf(drafts []ticket.Draft) string {
	var b strings.Builder
	for _, d := range drafts {
		t := d.Ticket
		t.NameMore(1)
		if t.Void {
			b.WriteString("VOID\n")
		}
		head := []string{"#" + t.Number, t.Table, t.Server, t.Type, t.Guests, t.Course, t.Destination, t.Customer,
			"wanted " + t.Promised, "cancelled? " + t.MayCancel}
		b.WriteString(strings.Join(append(head, t.Notes...), "\n") + "\n" + t.Raw + "\n")
		for _, l := range t.Lines {
			if l.Void {
				b.WriteString("VOID ")
			} else {
				b.WriteString(l.Quantity + " ")
			}
			fmt.Fprintf(&b, "%s\n%s\n%s\ncancelled? %s\n%s\n", l.Name, l.Seat, l.Course, l.MayCancel,
				strings.Join(l.Notes, "\n"))
		}
	}
	return b.String()
}

func TestEveryLineOfARecordOnHoldIsOnHold(t *testing.T) {
	r := split(t, Config{}, `{"id":"r","hold":true,"items":[{"name":"Pie","dips":[{"name":"Aioli"}]}],`+
		`"drinks":[{"name":"Latte"}]}`)
	for _, line := range r.Request.Drafts[0].Ticket.Lines {
		assert.True(t, line.Hold, line.Name)
	}
	names := lines(r)
	assert.True(t, strings.Contains(names, "Latte") && strings.Contains(names, "Aioli"), "the ticket has only", names)
}
