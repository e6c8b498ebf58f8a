package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// rows are all requirements, in the order in which they are checked. A simple order comes first: if
// that fails, the rest explains nothing.
func rows(o CheckOptions) []row {
	var all []row
	all = append(all, addressRows(o)...)
	all = append(all, headerRows(o)...)
	all = append(all, invalidJSONRows()...)
	all = append(all, schemaRows()...)
	all = append(all, contentRows()...)
	all = append(all, repeatRows()...)
	return append(all, totalRows(o)...)
}

// addressRows are section 6.1: address, method and media type.
func addressRows(o CheckOptions) []row {
	return []row{
		{"6.1", "the address is HTTPS", "https, or an address of this machine", func(*checker) (string, bool) {
			// An endpoint under test is mostly on this machine, without a certificate.
			u, err := url.Parse(o.URL)
			if err != nil {
				return "no URL", false
			}
			ip, _ := netip.ParseAddr(u.Hostname())
			return u.Scheme, u.Scheme == "https" || ip.IsLoopback() || u.Hostname() == "localhost"
		}},
		acceptedRow("6.1", "an order", func(c *checker) webhookPost { return c.postOf(c.newOrder()) }),
		// Many HTTP libraries add a charset by themselves.
		acceptedRow("6.1", "an order whose Content-Type has parameters", func(c *checker) webhookPost {
			p := c.postOf(c.newOrder())
			p.contentType = contract.ContentType + "; charset=utf-8"
			return p
		}),
		// An endpoint that relies on Content-Length reads an empty body.
		acceptedRow("6.1", "an order sent in chunks, without a Content-Length", func(c *checker) webhookPost {
			p := c.postOf(c.newOrder())
			p.chunked = true
			return p
		}),
		// A 2xx would say that an order was stored where there was none.
		{"6.1", "GET instead of POST", "not 2xx", func(c *checker) (string, bool) {
			p := c.postOf(c.newOrder())
			p.method, p.body = http.MethodGet, nil
			r := c.send(p)
			return r.String(), r.err == nil && r.status/100 != 2
		}},
	}
}

// headerRows are section 6.2: the headers that name the venue and the device.
//
// A refused request must leave nothing behind: if its id was remembered, the corrected order would
// be taken for a duplicate and never print.
func headerRows(o CheckOptions) []row {
	with := func(change func(*webhookPost)) func(*checker) webhookPost {
		return func(c *checker) webhookPost {
			p := c.postOf(c.newOrder())
			change(&p)
			return p
		}
	}
	// The contract lists 401 and 403 for headers (section 6.3), and asks for 403 only for an
	// unknown venue.
	const missing, no = http.StatusUnauthorized, http.StatusForbidden
	venue, device := contract.HeaderVenue, contract.HeaderDevice
	all := []row{
		refusedRow("6.2", venue+" of an unknown venue",
			with(func(p *webhookPost) { p.venue = []string{uuid.NewString()} }), no),
		refusedRow("6.2", "no "+venue, with(func(p *webhookPost) { p.venue = nil }), missing, no),
		refusedRow("6.2", "a blank "+venue, with(func(p *webhookPost) { p.venue = []string{""} }), missing, no),
		refusedRow("6.2", venue+" that is not a UUID",
			with(func(p *webhookPost) { p.venue = []string{"harbour-grill"} }), missing, no),
		refusedRow("6.2", "no "+device, with(func(p *webhookPost) { p.device = nil }), missing, no),
		refusedRow("6.2", "a blank "+device, with(func(p *webhookPost) { p.device = []string{""} }), missing, no),
		refusedRow("6.2", "neither header", with(func(p *webhookPost) { p.venue, p.device = nil, nil }), missing, no),
		// Names of headers are the same in any case (RFC 9110, section 5.1); HTTP/2 sends them in
		// lower case.
		acceptedRow("6.2", "header names in capitals", with(func(p *webhookPost) { p.upperCase = true })),
		{
			"6.2",
			"an order after it was refused for its venue",
			"200 or 202, not as a duplicate",
			func(c *checker) (string, bool) {
				p := c.postOf(c.newOrder())
				unknown := p
				unknown.venue = []string{uuid.NewString()}
				c.send(unknown)
				return c.sendNew(p)
			},
		},
		{
			"6.2",
			"an order after it was refused without its device",
			"200 or 202, not as a duplicate",
			func(c *checker) (string, bool) {
				p := c.postOf(c.newOrder())
				incomplete := p
				incomplete.device = nil
				c.send(incomplete)
				return c.sendNew(p)
			},
		},
	}
	for _, v := range o.Venues[1:] {
		all = append(all,
			acceptedRow("6.2", "an order of venue "+v, with(func(p *webhookPost) { p.venue = []string{v} })))
	}
	return all
}

// sendNew sends a request that must not be taken for a duplicate.
func (c *checker) sendNew(p webhookPost) (string, bool) {
	r := c.send(p)
	dup, _ := r.duplicate()
	return r.String(), r.accepted() && !dup
}

// invalidJSONRows are section 6.3, status 400: the body is not JSON. Each body is that of a good
// order, spoilt in one way.
func invalidJSONRows() []row {
	body := func(name string, spoil func([]byte) []byte) row {
		return refusedRow("6.3", name, func(c *checker) webhookPost {
			p := c.postOf(c.newOrder())
			p.body = spoil(p.body)
			return p
		}, http.StatusBadRequest)
	}
	return []row{
		body("half a body", func(b []byte) []byte { return b[:len(b)/2] }),
		body("no body", func([]byte) []byte { return nil }),
		body("a body that is not JSON", func([]byte) []byte { return []byte("<order><item>Burger</item></order>") }),
		// A parser that stops after the first value does not notice a body that was damaged on the
		// way.
		body("text after the JSON", func(b []byte) []byte { return append(bytes.Clone(b), " and a beer"...) }),
		body("a list instead of an object", func(b []byte) []byte { return append(append([]byte("["), b...), ']') }),
		body("null", func([]byte) []byte { return []byte("null") }),
	}
}

// schemaRows are section 6.3, status 400: JSON, but not a print request as in section 2.4.
func schemaRows() []row {
	fault := func(name string, change func(request, record map[string]any)) row {
		return refusedRow("6.3", name,
			func(c *checker) webhookPost { return c.changedRequest(c.newOrder(), change) }, http.StatusBadRequest)
	}
	const records, id = contract.FieldRecords, contract.FieldID
	const items, children = contract.FieldItems, contract.FieldChildItems
	item := func(r map[string]any) map[string]any { return r[items].([]any)[0].(map[string]any) }
	return []row{
		fault("no records", func(q, _ map[string]any) { delete(q, records) }),
		fault("records that are an object", func(q, r map[string]any) { q[records] = r }),
		fault("records without a record", func(q, _ map[string]any) { q[records] = []any{} }),
		fault("a record that is a string", func(q, _ map[string]any) { q[records] = []any{"Burger"} }),
		// Without an id a retry cannot be recognised: the order would be cooked four times.
		fault("no records[0].id", func(_, r map[string]any) { delete(r, id) }),
		fault("records[0].id that is a number", func(_, r map[string]any) { r[id] = 18 }),
		fault("records[0].id that is empty", func(_, r map[string]any) { r[id] = "" }),
		fault("no items", func(_, r map[string]any) { delete(r, items) }),
		fault("items that are a string", func(_, r map[string]any) { r[items] = "Burger" }),
		fault("an item that is a string", func(_, r map[string]any) { r[items] = []any{"Burger"} }),
		// A modifier that is dropped may be the allergy.
		fault("childItems that are a string", func(_, r map[string]any) { item(r)[children] = "no onion" }),
		fault("a child that is a number", func(_, r map[string]any) { item(r)[children] = []any{1} }),
		fault("a fault three levels down", func(_, r map[string]any) {
			item(r)[children] = []any{
				map[string]any{"name": "Salad", children: []any{map[string]any{"name": "Dressing", children: "none"}}},
			}
		}),
		{
			"6.3",
			"an order after it was refused for its schema",
			"200 or 202, not as a duplicate",
			func(c *checker) (string, bool) {
				o := c.newOrder()
				c.send(c.changedRequest(o, func(_, r map[string]any) { r[items] = "Burger" }))
				return c.sendNew(c.postOf(o))
			},
		},
	}
}

// changedRequest is the request of an order with one change.
func (c *checker) changedRequest(o Order, change func(request, record map[string]any)) webhookPost {
	p := c.postOf(o)
	var request map[string]any
	if err := json.Unmarshal(p.body, &request); err != nil {
		panic(err) // a bug: the body was encoded by this package
	}
	change(request, request[contract.FieldRecords].([]any)[0].(map[string]any))
	p.body = encode(request)
	return p
}

// contentRows are requests that must be accepted whatever they contain: section 2.4 states only a
// few of the fields that services send.
//
// A receiver that refuses what it does not know loses every order on the day when the service adds
// a field.
func contentRows() []row {
	with := func(name string, change func(request, record map[string]any)) row {
		return acceptedRow("6.3", name, func(c *checker) webhookPost { return c.changedRequest(c.newOrder(), change) })
	}
	const items, children = contract.FieldItems, contract.FieldChildItems
	return []row{
		with("unknown fields", func(q, r map[string]any) {
			q["tide"], r["moon"] = map[string]any{"height": 1.5}, []any{"full", nil, true}
		}),
		with("two records", func(q, r map[string]any) {
			q[contract.FieldRecords] = list(r,
				map[string]any{contract.FieldID: uuid.NewString(), items: list(map[string]any{"name": "Lemonade"})})
			q[contract.FieldCount] = 2
		}),
		// Real payloads have three; the contract sets no limit.
		with("modifiers eight levels deep", func(_, r map[string]any) {
			it := map[string]any{"name": "level 8"}
			for n := 7; n > 0; n-- {
				it = map[string]any{"name": fmt.Sprint("level ", n), children: list(it)}
			}
			r[items] = list(it)
		}),
		// Services send null where there are no modifiers.
		with("childItems that are null",
			func(_, r map[string]any) { r[items] = list(map[string]any{"name": "Soup", children: nil}) }),
		// A message to the kitchen, or a check that is cancelled as a whole.
		with("a record without an item", func(_, r map[string]any) { r[items] = []any{} }),
		with("every script, accents, emoji", func(_, r map[string]any) {
			r[items] = list(
				map[string]any{"name": "Crème brûlée, Żurek, Борщ, Σαλάτα, 宫保鸡丁, 김치, شاورما, שניצל, ผัดไทย, पनीर 🌶"},
			)
		}),
		with("a void", func(_, r map[string]any) {
			r[items] = list(map[string]any{"name": "Soup", contract.FieldIsVoid: true},
				map[string]any{"name": "Tea", "quantity": -1})
		}),
		with("a refire", func(_, r map[string]any) {
			r[items] = list(map[string]any{"name": "Soup", "isRefire": true, "note": "was cold"})
		}),
		with("a large party: 300 items", func(_, r map[string]any) {
			party := make([]any, 300)
			for n := range party {
				party[n] = map[string]any{
					"name":   fmt.Sprint("Canapé ", n),
					"note":   strings.Repeat("no nuts ", 10),
					children: list(map[string]any{"name": "No fish"}),
				}
			}
			r[items] = party
		}),
		// Only the id says whether an order is new: what was sent before may never have arrived.
		with("the third retry of an order whose first attempts were lost",
			func(_, r map[string]any) { r[contract.FieldRetryCount] = contract.WebhookRetries }),
	}
}
