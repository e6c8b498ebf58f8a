package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// orderShapes are records and items as order formats of many services have them. Each must come out complete: every
// text, number and true flag is on the ticket, or in noise, which a cook does not need. In it an item stands for a
// record that has it alone.
var orderShapes = []struct {
	name, record, item string
	noise              []string
	want               []string // texts of the ticket that the shape is about
}{
	// Allergies and notes.
	{name: "allergens as texts", item: `{"name":"Pad Thai","allergens":["sesame","nuts"]}`,
		want: []string{"allergens: sesame, nuts"}},
	{name: "allergens as objects", item: `{"name":"Pad Thai","allergens":[{"name":"sesame"},{"name":"nuts"}]}`,
		want: []string{"allergens: sesame, nuts"}},
	{name: "allergens with severities", item: `{"name":"Pie","allergens":[{"name":"nuts","severity":"high"}]}`,
		want: []string{"allergens: nuts (severity: high)"}},
	{name: "allergy notes", item: `{"name":"Pie","allergyNotes":"severe peanut"}`,
		want: []string{"allergyNotes: severe peanut"}},
	{name: "allergies of the record", record: `"allergies":"celery","items":[{"name":"Pie"}]`,
		want: []string{"allergies: celery"}},
	{name: "allergy object", item: `{"name":"Pie","allergy":{"type":"nut","note":"carries an EpiPen"}}`},
	{name: "dietary list", item: `{"name":"Pie","dietary":["vegan","halal"]}`},
	{name: "snake case note", item: `{"name":"Pie","special_instructions":"no salt"}`, want: []string{"no salt"}},
	{name: "kitchen note", item: `{"name":"Pie","kitchenNote":"well done"}`, want: []string{"kitchenNote: well done"}},
	{name: "message", record: `"message":"birthday","items":[{"name":"Pie"}]`},
	{name: "instructions as a text", record: `"instructions":"leave at the door","items":[{"name":"Pie"}]`},
	{name: "instructions as texts", record: `"instructions":["ring","twice"],"items":[{"name":"Pie"}]`},
	{name: "note wrapped in an object", item: `{"name":"Pie","notes":[{"text":"no nuts"}]}`},
	{name: "comment in capitals", item: `{"Name":"Pie","COMMENT":"no nuts"}`, want: []string{"Pie", "no nuts"}},
	{name: "entities", item: `{"name":"Mac &amp; Cheese","note":"Caf&eacute; style"}`,
		noise: []string{"Mac &amp; Cheese", "Caf&eacute; style"}, want: []string{"Mac & Cheese", "Café style"}},

	{name: "an allergy like its dish", item: `{"name":"Peanuts","allergyAlert":"peanuts"}`,
		want: []string{"allergyAlert: peanuts"}},
	{name: "lists among allergens", item: `{"name":"Pie","allergens":{"severity":"high","of":[{"name":"nuts"}]}}`,
		want: []string{"allergens.severity: high", "allergens.of: nuts"}},
	{name: "ids of allergens", item: `{"name":"Pie","allergenIds":["NUTS","SOY"]}`,
		want: []string{"allergenIds: NUTS, SOY"}},
	{name: "notes beside money and pictures", item: `{"name":"Pie","refundNote":"do not remake","tipNote":"share",` +
		`"discountReason":"allergy remake","imageText":"HAPPY BIRTHDAY"}`,
		want: []string{"\nrefundNote: do not remake"}},
	{name: "allergies of many kinds", item: `{"name":"Pie","a":1,"b":2,"c":3,"allergyInfo":{"nut":true,"egg":true,` +
		`"severity":"HIGH"},"allergyNote":"EpiPen"}`, noise: []string{"1", "2", "3"}},
	{name: "no sauce",
		item:  `{"name":"Steak","sauce":"none","unitOfMeasure":"NONE","note":"none","dairyAllergy":"none"}`,
		noise: []string{"NONE"}, want: []string{"sauce: none"}},
	{name: "a place in a text", item: `{"name":"Pie","sequence":"before the soup"}`},

	// Modifiers under other keys.
	{name: "modifiers", item: `{"name":"Burger","modifiers":[{"name":"Bacon"},{"name":"Cheese","quantity":2}]}`,
		want: []string{"modifiers:", "Bacon", "Cheese"}},
	{name: "toppings", item: `{"name":"Pizza","toppings":[{"name":"Ham"},{"name":"Olives"}]}`,
		want: []string{"toppings:"}},
	{name: "toppings as texts", item: `{"name":"Pizza","toppings":["Ham","Olives"]}`,
		want: []string{"toppings: Ham, Olives"}},
	{name: "components", item: `{"name":"Menu","components":[{"name":"Soup","note":"hot"}]}`},
	{name: "items in a course", record: `"items":[{"name":"Mains","items":[{"name":"Steak"},{"name":"Fish"}]}]`,
		want: []string{"Steak", "Fish"}},
	{name: "groups of modifiers",
		item: `{"name":"Burger","modifierGroups":[{"name":"Cooking","modifiers":[{"name":"Rare"}]}]}`},
	{name: "groups without names",
		item: `{"name":"Burger","modifierGroups":[{"group":"Cooking","modifiers":[{"name":"Rare"},` +
			`{"name":"Leek","no":true}]}]}`,
		want: []string{"modifierGroups: group: Cooking, modifiers: Rare, Leek (no: true)"}},
	{name: "nested modifiers", item: `{"name":"A","modifiers":[{"name":"B","modifiers":[{"name":"C"}]}]}`},
	{name: "modifier object", item: `{"name":"Steak","preparation":{"level":"rare","sauce":"pepper"}}`},
	{name: "list in an object", item: `{"name":"Steak","customisation":{"toppings":[{"name":"Egg"}]}}`},
	{name: "mixed list", item: `{"name":"Steak","sides":["Chips",{"name":"Salad"}]}`},
	{name: "list of lists", item: `{"name":"Steak","sides":[["Chips"],["Salad"]]}`,
		want: []string{"sides: Chips, Salad"}},
	{name: "children beside items", record: `"items":[{"name":"Pie"}],"drinks":[{"name":"Latte"}]`,
		want: []string{"\ndrinks\n", "1 Latte"}},

	{name: "names of products and modifiers",
		item: `{"productName":"Duck","modifiers":[{"modifierName":"Medium"},{"modifier_name":"Orange"}]}`,
		want: []string{"1 Duck", "1 Medium", "1 Orange"}},
	{name: "groups with names of groups",
		item: `{"name":"Cod","groups":[{"groupName":"Side","options":[{"optionName":"Chips"}]}]}`,
		want: []string{"1 Side", "1 Chips"}},

	// Items under other keys.
	{name: "line items beside empty items", record: `"orderNumber":42,"items":[],"line_items":[{"name":"Latte"}]`,
		want: []string{"Latte"}},
	{name: "texts beside empty items", record: `"orderNumber":42,"items":[],"lines":["1 Latte"]`},
	{name: "layout beside empty items", record: `"orderNumber":42,"items":[],"instructions":[` +
		`{"command":"TEXT","value":"1x Latte","value2":"","format":"BOLD"},{"command":"text","value":"1x Latte"},` +
		`{"command":"LINE_FEED"}]`,
		noise: []string{"TEXT", "text", "BOLD", "LINE_FEED"}, want: []string{"1x Latte\n1x Latte"}},
	{name: "layout beside items", record: `"items":[{"name":"Pie"}],"instructions":[{"command":"TEXT","value":"Pie"}]`,
		noise: []string{"TEXT"}},

	{name: "an allergy in the layout", record: `"items":[{"name":"Pie","note":"egg allergy"}],"instructions":[` +
		`{"command":"TEXT","value":"** EGG ALLERGY **"},{"command":"TEXT","value":"ALLERGIC:","value2":"nuts"}]`,
		noise: []string{"TEXT", "** EGG ALLERGY **", "ALLERGIC:"}, want: []string{"\nALLERGIC: nuts\n"}},
	// Cancellations.
	{name: "isCancelled", item: `{"name":"Ribeye","isCancelled":true}`, want: []string{"VOID Ribeye"}},
	{name: "change type", item: `{"name":"Ribeye","change_type":"removed"}`, want: []string{"VOID Ribeye"}},
	{name: "item status", item: `{"name":"Ribeye","itemStatus":"Canceled"}`, want: []string{"VOID Ribeye"}},
	{name: "void date", item: `{"name":"Ribeye","voidDate":"2026-02-06"}`, want: []string{"VOID Ribeye"}},
	{name: "type of the record", record: `"type":"CANCEL","items":[{"name":"Ribeye"}]`, want: []string{"VOID Ribeye"}},
	{name: "perhaps cancelled", item: `{"name":"Ribeye","lifecycle":"CANCELLED"}`,
		want: []string{"cancelled? lifecycle: CANCELLED", "1 Ribeye"}},
	{name: "a flag of somebody's own", item: `{"name":"Ribeye","cancelledByGuest":true}`,
		want: []string{"cancelled? cancelledByGuest: true"}},
	{name: "unreadable void", item: `{"name":"Ribeye","isVoid":"perhaps"}`,
		want: []string{"cancelled? isVoid: perhaps"}},

	{name: "status of a reason", item: `{"name":"Ribeye","state":"CANCELLED_BY_GUEST"}`,
		want: []string{"cancelled? state: CANCELLED_BY_GUEST"}},
	{name: "status in a list", record: `"parts":[{"type":"PICKUP","state":"CANCELED"}],"items":[{"name":"Ribeye"}]`,
		want: []string{"cancelled? parts: type: PICKUP, state: CANCELED"}},
	{name: "refund", item: `{"name":"Ribeye","isRefund":true,"price":5}`, noise: []string{"5"},
		want: []string{"cancelled? isRefund: true"}},
	{name: "status of a refund", item: `{"name":"Ribeye","status":"REFUNDED"}`,
		want: []string{"cancelled? status: REFUNDED"}},
	{name: "rejected", item: `{"name":"Ribeye","rejected":true}`, want: []string{"cancelled? rejected: true"}},
	{name: "refundable", item: `{"name":"Ribeye","isRefundable":true,"voidable":true}`, noise: []string{"true"},
		want: []string{"cancelled? \n"}},
	{name: "reason of a refund", item: `{"name":"Ribeye","refundReason":"guest left at once"}`,
		want: []string{"cancelled? refundReason: guest left at once"}},
	{name: "notes that speak of cancelling",
		item: `{"name":"Ribeye","cancelNote":"guest left at once","refundNote":"void"}`,
		want: []string{"cancelled? cancelNote: guest left at once, refundNote: void"}},
	{name: "cancelled in other languages", record: `"estado":"ANULADO","items":[{"name":"Wein","storniert":true}]`,
		want: []string{"cancelled? estado: ANULADO", "cancelled? storniert: true"}},
	{name: "cancelled without a name", item: `{"code":"P1","lifecycle":"VOIDED"}`,
		want: []string{"cancelled? lifecycle: VOIDED"}},

	// Modifiers that take something away.
	{name: "premodifier", item: `{"name":"Burger","modifiers":[{"name":"Onion","preModifier":{"name":"NO"}}]}`,
		want: []string{"[NO] Onion"}},
	{name: "chosen and not",
		item:  `{"name":"Steak","options":[{"name":"Rare","selected":true},{"name":"Done","selected":false}]}`,
		noise: []string{"true"}, want: []string{"1 Rare", "[selected: false] Done"}},
	{name: "not included",
		item:  `{"name":"Burger","childItems":[{"name":"Onion","isIncluded":"no"},{"name":"Egg","added":0}]}`,
		noise: []string{"no", "0"}, want: []string{"[isIncluded: no] Onion", "[added: 0] Egg"}},
	{name: "flags that are no booleans",
		item:  `{"name":"Burger","childItems":[{"name":"Ham","omit":1},{"name":"Leek","isNo":"Y"}]}`,
		noise: []string{"1", "Y"}, want: []string{"[omit] Ham", "[isNo] Leek"}},
	{name: "line number", item: `{"name":"Burger","lineNo":1}`, noise: []string{"1"}, want: []string{"1 Burger"}},
	{name: "removals in other words", item: `{"name":"Burger","childItems":[{"name":"Ham","type":"REMOVAL"},` +
		`{"name":"Fig","modifierAction":"SUBTRACT"},{"name":"Rye","operation":"-"},{"name":"Bun","status":"REMOVED"},` +
		`{"name":"Nut","optionType":"exclusion"},{"name":"Dip","preModifierName":"Hold"},` +
		`{"name":"Pea","prefix":"ohne"},{"name":"Oil","modifier":"LESS"},{"name":"Mint","modCode":"86"}]}`,
		want: []string{"[REMOVAL] Ham", "[SUBTRACT] Fig", "[-] Rye", "[REMOVED] Bun", "[EXCLUSION] Nut", "[HOLD] Dip",
			"[OHNE] Pea", "[LESS] Oil", "[86] Mint"}},
	{name: "lists of what is left out", item: `{"name":"Burger","exclusions":[{"name":"Egg"}],"without":["Leek"]}`,
		want: []string{"exclusions: Egg", "without: Leek"}},
	{name: "codes of types and states",
		item: `{"name":"Burger","type":86,"status":"-","childItems":[{"name":"Bun","kind":"no"}]}`,
		want: []string{"1 Burger", "type: 86", "status: -", "1 Bun", "kind: no"}},
	{name: "no as an answer",
		item: `{"name":"Burger","giftWrap":"no","actionRequired":"no","modifiers":{"Onion":"NO"}}`,
		want: []string{"1 Burger", "modifiers.Onion: NO"}},
	{name: "isRemoved", item: `{"name":"Burger","childItems":[{"name":"Onion","isRemoved":true}]}`,
		noise: []string{"true"}, want: []string{"[isRemoved] Onion"}},
	{name: "no", item: `{"name":"Burger","childItems":[{"name":"Onion","no":true}]}`,
		noise: []string{"true"}, want: []string{"[no] Onion"}},
	{name: "modifier type", item: `{"name":"Burger","modifiers":[{"name":"Onion","modifierType":"remove"}]}`,
		want: []string{"[REMOVE] Onion"}},
	{name: "extra", item: `{"name":"Burger","modifiers":[{"name":"Onion","prefix":"EXTRA"}]}`,
		want: []string{"prefix: EXTRA"}},

	// Headers.
	{name: "number as a text", record: `"number":"141","items":[{"name":"Pie"}]`, want: []string{"#141"}},
	{name: "number with an underscore", record: `"order_number":141,"items":[{"name":"Pie"}]`, want: []string{"#141"}},
	{name: "display number", record: `"displayNumber":"A-17","items":[{"name":"Pie"}]`, want: []string{"#A-17"}},
	{name: "customer", record: `"orderNumber":1,"customer":{"name":"Ana","phone":"0400 000"},"items":[{"name":"Pie"}]`},
	{name: "pickup time", record: `"pickupTime":"2026-02-06T19:30:00Z","items":[{"name":"Pie"}]`,
		want: []string{"wanted 2026-02-06T19:30:00Z"}},
	{name: "created", record: `"createdAt":"2026-02-06T19:30:00Z","items":[{"name":"Pie"}]`,
		noise: []string{"2026-02-06T19:30:00Z"}},
	{name: "delivery", record: `"delivery":{"street":"1 Quay St","floor":3},"items":[{"name":"Pie"}]`},
	{name: "hold", record: `"isHeld":true,"items":[{"name":"Pie"}]`, want: []string{"isHeld: true"}},
	{name: "status of a hold", record: `"status":"HOLD","items":[{"name":"Pie"}]`, want: []string{"status: HOLD"}},
	{name: "table and guests of a table service",
		record: `"numberOfGuests":2,"server":{"firstName":"Ana"},"items":[{"name":"Pie"}]`,
		want:   []string{"Ana\n\n2\n"}},
	{name: "equal numbers of different things",
		record: `"orderNumber":4,"displayNumber":"4","roomNumber":4,"items":[{"name":"Egg","seat":2,"portions":2}]`,
		want:   []string{"#4", "roomNumber: 4", "portions: 2"}},
	{name: "two numbers", record: `"checkNumber":18,"ticketNumber":5,"items":[{"name":"Pie"}]`,
		want: []string{"#18", "ticketNumber: 5"}},

	{name: "numbers under the key of an id",
		record: `"displayId":"5A3F9","channelOrderDisplayId":"88","items":[{"name":"Pie"}]`,
		want:   []string{"#5A3F9", "channelOrderDisplayId: 88"}},
	// Items.
	{name: "course as number and name", item: `{"name":"Pie","course":1,"courseName":"Starters"}`,
		noise: []string{"1"}, want: []string{"Starters"}},
	{name: "two names", item: `{"name":"BRG","displayName":"Burger deluxe"}`,
		want: []string{"displayName: Burger deluxe"}},
	{name: "equal names", item: `{"name":"Pie","displayName":"pie"}`, noise: []string{"pie"}},
	{name: "size and weight", item: `{"name":"Steak","size":"large","weight":250,"unit":"g"}`},
	{name: "flags", item: `{"name":"Steak","isGlutenFree":true,"spicy":true,"isAlcohol":false}`,
		want: []string{"isGlutenFree: true", "spicy: true"}},
	{name: "menu item", item: `{"menuItem":{"name":"Pie","category":"Bakery"},"quantity":1}`,
		noise: []string{"1"}, want: []string{"Pie", "menuItem.category: Bakery"}},
	{name: "variation",
		item:  `{"name":"Latte","variation_name":"Large","base_price_money":{"amount":450,"currency":"AUD"}}`,
		noise: []string{"450", "AUD"}},
	{name: "quantity in an object", item: `{"name":"Taco","quantity":{"amount":2,"unit":"kg"}}`,
		want: []string{"2 Taco"}},
	{name: "quantity in words", item: `{"name":"Latte","quantity":"two"}`, want: []string{"quantity: two"}},
	{name: "prices and ids", item: `{"name":"Pie","price":9.5,"unitPrice":"$9.50","tax":{"rate":10},` +
		`"menuItemId":"m1","plu":"0815","sortOrder":3,"taxable":true}`,
		noise: []string{"9.5", "$9.50", "10", "m1", "0815", "3", "true"}},
	{name: "screen", item: `{"name":"Pie","backgroundColor":"#ff0000","textColor":"white",` +
		`"imageUrl":"https://x.example/p.png"}`, noise: []string{"#ff0000", "white", "https://x.example/p.png"}},
	{name: "without a name", item: `{"code":"P1","toppings":[{"name":"Ham"}]}`},
	{name: "discount", item: `{"name":"Pie","discounts":[{"name":"Staff","amount":5}]}`, noise: []string{"Staff", "5"}},
}

func TestEveryTextOfAnOrderIsOnItsTicketOrKnownNoise(t *testing.T) {
	for _, c := range orderShapes {
		record := c.record
		if c.item != "" {
			record = `"items":[` + c.item + `]`
		}
		body := `{"id":"r",` + record + `}`
		paper := paperOf(split(t, Config{Fallback: "pass"}, body).Request.Drafts)

		var value any
		if err := json.Unmarshal([]byte(body), &value); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, leaf := range leaves(value) {
			isNoise := leaf == "r"
			for _, n := range c.noise {
				isNoise = isNoise || n == leaf
			}
			isVoid := strings.Contains(paper, "VOID") // it says nothing of the field by which it is one
			if !isNoise && !isVoid && !strings.Contains(strings.ToLower(paper), strings.ToLower(leaf)) {
				t.Errorf("%s: %q is not on the paper:\n%s", c.name, leaf, paper)
			}
		}
		for _, want := range c.want {
			if !strings.Contains(paper, want) {
				t.Errorf("%s: the paper lacks %q:\n%s", c.name, want, paper)
			}
		}
		for _, n := range c.noise {
			if strings.Contains(paper, ": "+n+"\n") {
				t.Errorf("%s: %q is noise, and on the paper:\n%s", c.name, n, paper)
			}
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
	for member, want := range map[string]string{
		`"addedAt":1770000060`: "", `"rung_at":"1770000060"`: "", `"editDate":"1770000060123"`: "",
		`"openedOn":"1770000060.25"`: "", `"log":{"time":1770000060}`: "",
		`"at":[1770000060]`:                                 "",
		`"addedAt":177000006`:                               "addedAt: 177000006",
		`"addedAt":3770000060`:                              "addedAt: 3770000060",
		`"addedAt":"1770000060 kg"`:                         "addedAt: 1770000060 kg",
		`"batch":1770000060`:                                "batch: 1770000060",
		`"heat":"1770000060"`:                               "heat: 1770000060",
		`"serveAt":1770000060`:                              "serveAt: 1770000060",
		`"serve":{"time":1770000060123}`:                    "serve.time: 1770000060123",
		`"serve":[{"at":1770000060}]`:                       "serve: 1770000060",
		`"serve":{"date":"2026-02-06","time":"1770000060"}`: "serve.date: 2026-02-06/serve.time: 1770000060",
	} {
		tk, digest := said("," + member)
		if got := strings.Join(tk.Lines[0].Notes, "/"); got != want || (digest == plain) != (want == "") {
			t.Errorf("%s prints %q, want %q", member, got, want)
		}
		all := p.Leaves(parse(t, `{"records":[{"id":"r","items":[{"name":"Pie",`+member+`}]}]}`))
		if last := all[len(all)-1]; (last.Use == Noise) != (want == "") {
			t.Errorf("%s is %s, and prints %q", member, last.Use, want)
		}
	}
}

func TestWhatTheEnvelopeCancelsMayBeCancelledInEachRecord(t *testing.T) {
	req := parse(t, `{"event":"order.cancelled","records":[{"id":"r","items":[{"name":"Pie"}]},`+
		`{"id":"s","items":[{"name":"Ale"}]}]}`)
	for i, d := range compile(t, Config{}).Split(req, harbour, "T1", noon, nil).Request.Drafts {
		if d.Ticket.MayCancel != "event: order.cancelled" {
			t.Errorf("ticket %d may be cancelled by %q", i, d.Ticket.MayCancel)
		}
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
	if got != want {
		t.Errorf("the notes are\n%s\nwant\n%s", got, want)
	}
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

// leaves are the texts, numbers and true flags of a JSON value.
func leaves(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			out = append(out, leaves(e)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, leaves(e)...)
		}
	case string:
		if v != "" {
			out = append(out, v)
		}
	case float64:
		out = append(out, fmt.Sprint(v))
	case bool:
		if v {
			out = append(out, "true")
		}
	}
	return out
}
