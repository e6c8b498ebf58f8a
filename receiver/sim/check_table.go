package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

const (
	notDuplicate  = "200 or 202, not as a duplicate"
	onceForRepeat = "200 or 202 each; new only once, if the answers say"
)

// table is every requirement that is tried, in order. A usual order comes first: if that fails, the rest explains
// nothing. Where the contract leaves a choice, such as 401 or 403 for a missing header, both are right.
func table(o CheckOptions) []row {
	const venue, device = contract.HeaderVenue, contract.HeaderDevice
	const id, records = contract.FieldID, contract.FieldRecords
	unknown := func(p *webhookPost) { p.venue = []string{uuid.NewString()} }
	noDevice := func(p *webhookPost) { p.device = nil }
	type object = map[string]any
	first := func(record object) object { return record[fieldItems].([]any)[0].(object) }
	var off, stall func(bool) error
	if o.Output != nil {
		off, stall = o.Output.Off, o.Output.Stall
	}

	all := []row{
		{"6.1", "the address is HTTPS", "https, or an address of this machine", true, (*tester).address},
		{"6.1", "an order", notDuplicate, true, (*tester).firstOrder},
		// Many HTTP libraries add a charset by themselves.
		sent("6.1", "an order whose Content-Type has parameters", func(p *webhookPost) {
			p.contentType = contract.ContentType + "; charset=utf-8"
		}),
		// An endpoint that relies on Content-Length reads an empty body.
		sent("6.1", "an order sent in chunks, without a Content-Length", func(p *webhookPost) { p.chunked = true }),
		// A 2xx would say that an order was stored where there was none.
		{"6.1", "GET instead of POST", "not 2xx", false, func(t *tester) (string, Verdict) {
			reply := t.send(webhookPost{method: http.MethodGet, venue: o.Venues[:1], device: []string{o.Device}})
			return reply.String(), verdict(reply.Err == nil && reply.Status/100 != 2)
		}},

		refused("6.2", venue+" of an unknown venue", unknown, 403),
		refused("6.2", "no "+venue, func(p *webhookPost) { p.venue = nil }, 401, 403),
		refused("6.2", "a blank "+venue, func(p *webhookPost) { p.venue = []string{""} }, 401, 403),
		refused("6.2", venue+" that is not a UUID", func(p *webhookPost) { p.venue = []string{"grill"} }, 401, 403),
		refused("6.2", "no "+device, noDevice, 401, 403),
		refused("6.2", "a blank "+device, func(p *webhookPost) { p.device = []string{""} }, 401, 403),
		refused("6.2", "neither header", func(p *webhookPost) { p.venue, p.device = nil, nil }, 401, 403),
		// Names of headers are the same in any case (RFC 9110, section 5.1); HTTP/2 sends them in lower case.
		sent("6.2", "header names in capitals", func(p *webhookPost) { p.upperCase = true }),
		corrected("6.2", "an order after it was refused for its venue", unknown),
		corrected("6.2", "an order after it was refused without its device", noDevice),

		spoilt("half a body", func(b []byte) []byte { return b[:len(b)/2] }),
		spoilt("no body", func([]byte) []byte { return nil }),
		spoilt("a body that is not JSON", func([]byte) []byte { return []byte("<order><item>Burger</item></order>") }),
		// A parser that stops after the first value does not notice a body that was damaged on the way.
		spoilt("text after the JSON", func(b []byte) []byte { return append(bytes.Clone(b), " and a beer"...) }),
		spoilt("a list instead of an object", func(b []byte) []byte { return fmt.Appendf(nil, "[%s]", b) }),
		spoilt("null", func([]byte) []byte { return []byte("null") }),

		mismatch("no records", func(q, _ object) { delete(q, records) }),
		mismatch("records that are an object", func(q, r object) { q[records] = r }),
		mismatch("records without a record", func(q, _ object) { q[records] = []any{} }),
		mismatch("a record that is a string", func(q, _ object) { q[records] = []any{"Burger"} }),
		// Without an id a retry cannot be recognised: the order would be cooked four times.
		mismatch("no records[0].id", func(_, r object) { delete(r, id) }),
		mismatch("records[0].id that is a number", func(_, r object) { r[id] = 18 }),
		mismatch("records[0].id that is empty", func(_, r object) { r[id] = "" }),
		mismatch("no items", func(_, r object) { delete(r, fieldItems) }),
		mismatch("items that are a string", func(_, r object) { r[fieldItems] = "Burger" }),
		mismatch("an item that is a string", func(_, r object) { r[fieldItems] = []any{"Burger"} }),
		// A modifier that is dropped may be the allergy.
		mismatch("childItems that are a string", func(_, r object) { first(r)[fieldChildren] = "no onion" }),
		mismatch("a child that is a number", func(_, r object) { first(r)[fieldChildren] = []any{1} }),
		mismatch("a fault three levels down", func(_, r object) {
			first(r)[fieldChildren] = list(modifier("Salad", with(modifier("Dressing"), fieldChildren, "none")))
		}),
		corrected("6.3", "an order after it was refused for its schema", func(p *webhookPost) {
			p.body = bytes.Replace(p.body, []byte(`"items":[`), []byte(`"items":"Burger","were":[`), 1)
		}),

		// Orders that must be accepted whatever they contain: section 2.4 states only a few of the fields that services
		// send. A receiver that refuses unknown fields loses every order on the day when the service adds a field.
		content("modifiers eight levels deep", func() []object { // real payloads have three; the contract sets no limit
			it := modifier("level eight")
			for range 6 {
				it = modifier("level", it)
			}
			return []object{item("Burger", it)}
		}),
		// Services send null where there are no modifiers.
		content("childItems that are null", func() []object {
			return []object{with(item("Soup"), fieldChildren, nil)}
		}),
		// A message to the kitchen, or a check that is cancelled as a whole.
		content("a record without an item", func() []object { return nil }),
		content("a name of 70 letters", func() []object {
			return []object{item("Slow roasted shoulder of lamb with rosemary, garlic and potatoes")}
		}),
		content("keys that differ only in case", func() []object {
			return []object{with(with(item("Soup"), "NAME", "PLU"), "QUANTITY", "each")}
		}),
		content("a refire", func() []object {
			return []object{with(with(item("Soup"), "isRefire", true), fieldNote, "was cold")}
		}),
		content("modifiers with a quantity and a note", func() []object {
			return []object{item("Burger", with(item("Bacon"), fieldNote, scripts()[0].unique("crisp")))}
		}),
		content(fmt.Sprintf("a large party: %d items", party), largeParty),
		accepted("6.3", "unknown fields", func(t *tester) webhookPost {
			return t.changed(func(q, r object) {
				q["tide"], r["moon"] = object{"height": 1.5}, []any{"full", nil, true}
			})
		}),
		accepted("6.3", "two records", func(t *tester) webhookPost {
			return t.postOf(t.orderOf(t.newRecord(item("Steak")), t.newRecord(item("Lemonade"))))
		}),
		// Only the id says whether an order is new: an earlier attempt may never have arrived.
		sent("6.3", "the third retry of an order whose first attempts were lost", func(p *webhookPost) {
			p.body = bytes.Replace(p.body, []byte(`"retryCount":0`), []byte(`"retryCount":3`), 1)
		}),

		// The same order more than once. On a bad network that is common: the service repeats a request whenever it has
		// no answer within 5 s. Whether it prints once is seen on paper, and in answers with a field "duplicate".
		{"6.4", "the same request twice", onceForRepeat, false, func(t *tester) (string, Verdict) {
			post := t.plain()
			return judgeRepeats(t.send(post), t.send(post))
		}},
		{"6.4", "retries: a higher retryCount, another timestamp", onceForRepeat, false, (*tester).retries},
		{"6.4", "the same request eight times at once", onceForRepeat, false, (*tester).atOnce},
		{"6.4", "retries after hanging up before the answer",
			"200 or 202 each; the last a duplicate, if the answers say", false, (*tester).hungUp},
		// The opposite mistake: recognising an order by its content. Two guests may order the same.
		accepted("6.4", "the same dishes and number under another id", func(t *tester) webhookPost {
			record := t.newRecord(item("Burger"), item("Soup"))
			t.send(t.postOf(t.orderOf(record)))
			record[id] = uuid.NewString()
			return t.postOf(t.orderOf(record))
		}),

		// 200 says that the order is stored, not that it is printed: a receiver that waits for the printer loses orders
		// while the printer has no paper.
		{"6.4", fmt.Sprintf("%d orders while the printer is off for %s", offOrders, offFor), "all accepted meanwhile",
			true, outOfOrder(off, offOrders, offFor)},
		{"6.4", "5 orders while the printer does not answer", "all accepted meanwhile", true,
			outOfOrder(stall, 5, stalledFor)},
		{"6.4", "orders while it is killed", "some accepted; it answers again", true, (*tester).killed},
		{"6.4", "the first order again after the restart", "accepted, as a duplicate if the answer says", true,
			(*tester).knowsAfterRestart},
		{"6.3", "orders in four scripts, and a void of each", "all accepted", true, (*tester).voids},
		{"6.1", fmt.Sprintf("a burst of %d orders, %d at a time", o.Burst, burstAtOnce),
			"all accepted, each new only once, each answer within " + contract.WebhookTimeout.String(), true,
			(*tester).burst},
	}

	for _, v := range o.Venues[1:] {
		other := sent("6.2", "an order of venue "+v, func(p *webhookPost) { p.venue = []string{v} })
		all = slices.Insert(all, slices.IndexFunc(all, func(r row) bool { return r.section == "6.3" }), other)
	}

	return all
}

// accepted is a row whose request is new and must be accepted: an endpoint that takes it for a duplicate
// loses the order.
func accepted(section, name string, build func(*tester) webhookPost) row {
	return row{section, name, notDuplicate, false, func(t *tester) (string, Verdict) { return t.sendNew(build(t)) }}
}

// sent is a usual order that is sent in another way.
func sent(section, name string, change func(*webhookPost)) row {
	return accepted(section, name, func(t *tester) webhookPost { return t.varied(change) })
}

// content is an order of unusual items.
func content(name string, items func() []map[string]any) row {
	return accepted("6.3", name, func(t *tester) webhookPost { return t.postOf(t.newOrder(items()...)) })
}

// corrected is a row that sends a spoilt request first. It must leave nothing behind: if its id was
// remembered, the corrected order would be taken for a duplicate and never print.
func corrected(section, name string, spoil func(*webhookPost)) row {
	return accepted(section, name, func(t *tester) webhookPost {
		post := t.plain()
		first := post

		spoil(&first)
		t.send(first)
		return post
	})
}

// refused is a usual order that is sent in a wrong way and must be answered with one of some statuses.
func refused(section, name string, change func(*webhookPost), statuses ...int) row {
	return denied(section, name, func(t *tester) webhookPost { return t.varied(change) }, statuses...)
}

func denied(section, name string, build func(*tester) webhookPost, statuses ...int) row {
	return row{section, name, listed(statuses, " or "), false, func(t *tester) (string, Verdict) {
		reply := t.send(build(t))
		return reply.String(), verdict(slices.Contains(statuses, reply.Status))
	}}
}

func listed(statuses []int, between string) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(statuses), "[]"), " ", between)
}

// spoilt is a body that is no JSON object (section 6.3, status 400).
func spoilt(name string, spoil func([]byte) []byte) row {
	return refused("6.3", name, func(p *webhookPost) { p.body = spoil(p.body) }, http.StatusBadRequest)
}

// mismatch is a body that is no print request as in section 2.4.
func mismatch(name string, change func(request, record map[string]any)) row {
	return denied("6.3", name, func(t *tester) webhookPost { return t.changed(change) }, http.StatusBadRequest)
}

// totalRows are about all requests.
func totalRows() []row {
	return []row{
		{"6.3", "all of the above: the status", "only " + listed(listedStatuses, ", "), true,
			func(t *tester) (string, Verdict) {
				if len(t.unknownStatuses) == 0 {
					return "only these", Pass
				}
				return "also " + listed(t.unknownStatuses, ", "), Fail
			}},
		{"6.1", "all of the above: the time", "each answer within " + contract.WebhookTimeout.String(), true,
			func(t *tester) (string, Verdict) {
				got := fmt.Sprintf("slowest %s, %d late", t.slowest.Round(10*time.Microsecond), t.late)
				if t.late > 0 {
					got += ", first at: " + cmp.Or(t.lateIn, "?")
				}
				if t.late >= tooLate {
					got += "; the check ended there"
				}
				return got, verdict(t.late == 0)
			}},
	}
}
