package push

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

// init makes rapid draw the same values on every machine. -rapid.seed=0 draws other ones at each run.
func init() { flag.Set("rapid.seed", "1") }

var update = flag.Bool("update", false, "write the golden files anew")

func TestDocumentsMatchThePublishedSchema(t *testing.T) {
	published, strict := schemas(t)
	for name, d := range examples() {
		t.Run(name, func(t *testing.T) {
			var original json.RawMessage
			if name == "everyday" {
				original = json.RawMessage(`{"id":"rec-1","items":[{"name":"Burger"}]}`)
			}
			got, err := json.MarshalIndent(NewDocument(d, original), "", "  ")
			assert.NoError(t, err)
			got = append(got, '\n')
			golden := filepath.Join("testdata", "documents", name+".json")
			assert.Golden(t, golden, string(got), *update)
			assert.NoError(t, fails(t, published, got))
			assert.NoError(t, fails(t, strict, got)) // the schema names all of it
		})
	}
}

func TestTheSchemaRefusesWhatIsNoTicket(t *testing.T) {
	published, _ := schemas(t)
	good, err := json.Marshal(NewDocument(examples()["everyday"], nil))
	assert.NoError(t, err)
	for _, change := range []string{
		`"version":1 → "version":2`, `"job":1017 → "job":"1017"`, `"id":"1017- → "id":"x1017-`,
		`"void":false → "void":0`,
		`"quantity":"2" → "quantity":2`, `"name":"Burger" → "name":""`, `"notes":[] → "notes":null`,
		`"depth":1 → "depth":-1`,
		`"Chips" → "Ch\u0007ips"`, `"lines" → "rows"`, `"received_at":"2026 → "received_at":"soon`,
	} {
		from, to, _ := strings.Cut(change, " → ")
		bad := bytes.Replace(good, []byte(from), []byte(to), 1)
		assert.True(t, !bytes.Equal(bad, good), change)
		assert.True(t, fails(t, published, bad) != nil, change)
	}
	newer := bytes.Replace(good, []byte(`"version"`), []byte(`"added_later":{"x":1},"version"`), 1)
	assert.NoError(t, fails(t, published, newer))
}

func TestWhateverATicketSaysItsDocumentFitsTheSchema(t *testing.T) {
	_, strict := schemas(t)
	rapid.Check(t, func(t *rapid.T) {
		d := ticket.Delivery{
			Job: rapid.Uint64Range(0, 1<<53).Draw(t, "job"), Station: "fresh", Attempt: 1, Ticket: anyTicket(t),
			Doubt: rapid.Bool().Draw(t, "doubt"), Reprint: rapid.Bool().Draw(t, "reprint"),
			For: rapid.SampledFrom([]string{"", "grill"}).Draw(t, "for"), Down: "printer",
			RefusedBy: rapid.SampledFrom([][]string{nil, {"grill", "\x1b"}}).Draw(t, "refused by"),
		}
		raw := rapid.SampledFrom([]string{"", "{", `{"a":[1,"<"]}`, "null"}).Draw(t, "original")
		got, err := json.Marshal(NewDocument(d, json.RawMessage(raw)))
		assert.NoError(t, err)
		assert.NoError(t, fails(t, strict, got))
		var back Document
		assert.NoError(t, json.Unmarshal(got, &back))
		assert.Equal(t, len(back.Lines), len(d.Ticket.Lines))
		for i, l := range d.Ticket.Lines {
			assert.True(t, back.Lines[i].Void == l.Void && back.Lines[i].Depth == l.Depth, back.Lines[i], l)
		}
	})
}

// schemas compiles the schema: as it is published, and strict, which refuses fields that the schema
// does not name.
func schemas(t *testing.T) (published, strict *jsonschema.Schema) {
	t.Helper()
	compile := func(change func(map[string]any)) *jsonschema.Schema {
		text, err := os.ReadFile("schema.json")
		assert.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		assert.NoError(t, err)
		eachObject(doc, change)
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		assert.NoError(t, c.AddResource("urn:test", doc))
		s, err := c.Compile("urn:test")
		assert.NoError(t, err)
		return s
	}
	return compile(func(map[string]any) {}), compile(func(o map[string]any) {
		delete(o, "$id")
		if _, ok := o["properties"]; ok {
			o["additionalProperties"] = false
		}
	})
}

// eachObject calls f for each object of a JSON value, the inner ones first.
func eachObject(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			eachObject(below, f)
		}
		f(v)
	case []any:
		for _, below := range v {
			eachObject(below, f)
		}
	}
}

// fails returns why a document does not match a schema.
func fails(t assert.T, s *jsonschema.Schema, doc []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	assert.NoError(t, err)
	return s.Validate(v)
}

// examples are a delivery of each kind.
func examples() map[string]ticket.Delivery {
	everyday := order(1017, "Burger")
	t := &everyday.Ticket
	t.Number, t.Server, t.Type, t.Guests = "#18", "Jonathan A.", "Dine In", "4"
	t.Course, t.Destination, t.Customer, t.Promised = "Mains", "GRILL-1", "Ana", "2026-02-06T19:30:00+11:00"
	t.MayCancel = "flow: CANCELLED"
	t.Device, t.Record, t.Notes = "POS-3", "rec-1", []string{"in a hurry\nallergic to sesame"}
	t.Lines = []ticket.Line{
		{Quantity: "2", Name: "Burger", Course: "Mains", Seat: "1"},
		{Depth: 1, Quantity: "1", Name: "no onions"},
		{Depth: 2, Quantity: "0.5", Name: "really"},
		{Quantity: "1", Name: "Chips", Void: true, NoRoute: true},
		{Quantity: "1", Name: "Soup", Refire: true, Notes: []string{"no cream"}, MayCancel: "step: VOIDED"},
	}
	void := order(1018, "Burger")
	void.Ticket.Void = true
	void.Ticket.Lines[0].Void = true
	unreadable := order(1019)
	unreadable.Ticket.Raw = `{"what":"?"}`
	forGrill := order(1020, "Burger")
	forGrill.Station, forGrill.For, forGrill.Down = "grill", "grill", "printer"
	forGrill.Reprint, forGrill.Ticket.Refire = true, true
	forGrill.Ticket.Later = ticket.LaterVoids{{Job: 13, Clock: "21:55"}}
	refused := order(1023, "Burger")
	refused.Station, refused.For, refused.RefusedBy = "fresh", "hot-line", []string{"hot-line", "cold"}
	hostile := order(1021, "<img onerror=alert(1)>", "\x1b@\x00", "", "A\u202eB\u200bC", "👩\u200d🍳")
	hostile.Ticket.Number, hostile.Ticket.Lines[2].Quantity = "\x00", ""
	slip := order(1022, "#18 Table B10, 21:49")
	slip.Ticket.Kind, slip.Ticket.Request, slip.Ticket.Venue = ticket.ExpiredList, "", ""
	return map[string]ticket.Delivery{
		"everyday": everyday, "void": void, "unreadable": unreadable, "stand-in": forGrill, "hostile": hostile,
		"slip": slip, "refused": refused,
	}
}

// anyTicket generates a ticket from hostile text.
func anyTicket(t *rapid.T) ticket.Ticket {
	tk := rapid.Make[ticket.Ticket]().Draw(t, "ticket")
	tk.Kind = rapid.SampledFrom([]ticket.Kind{ticket.Order, ticket.ExpiredList, ticket.Test}).Draw(t, "kind")
	tk.Received = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "received"), 999).UTC()
	hostile := []string{"", "<b>", "\x1b[2J", "\u202e", "a\nb\r\n", "\xff\xfe", "👩\u200d🍳", "می\u200cخواهم"}
	tk.Number = rapid.SampledFrom(hostile).Draw(t, "number")
	for i := range tk.Lines {
		tk.Lines[i].Depth = rapid.IntRange(0, 3).Draw(t, "depth")
		tk.Lines[i].Name = rapid.SampledFrom(hostile).Draw(t, "name")
	}
	return tk
}
