package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
)

func TestOrdersHaveTheVarietyOfARealEvening(t *testing.T) {
	scripts := []string{"Latin", "Greek", "Cyrillic", "Han", "Katakana", "Hangul", "Arabic", "Hebrew", "Thai",
		"Devanagari"}
	orders := NewOrders(OrderOptions{Seed: 1, Venues: []string{venueA, venueB}})
	ids, found, staff := map[string]bool{}, map[string]int{}, map[string]bool{}
	for n := range 25 {
		staff[Staff(1, venueA, n).ID] = true
	}
	var look func(item contract.Value, depth int)
	look = func(item contract.Value, depth int) {
		name := item.Get("name").Text()
		for _, script := range scripts {
			if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Scripts[script], r) }) {
				found[script]++
			}
		}
		if item.Get("note") != nil {
			found["notes"]++
		}
		if name == "Flat white" { // two choices and two extras
			n := 0
			for range item.Get("childItems").All() {
				n++
			}
			found["few"], found["extras"] = min(found["few"], n-2), max(found["extras"], n-2)
		}
		found["depth"] = max(found["depth"], depth)
		for child := range item.Get("childItems").All() {
			look(child, depth+1)
		}
	}
	for range 1000 {
		o := orders.Next()
		p, err := contract.Open(o.Body(0), contract.Strict)
		if err != nil || len(p.Anomalies) > 0 || contract.VenueDiffers(p, o.Venue) || p.ID != o.ID || ids[p.ID] {
			t.Fatalf("%v %v in %s", err, p.Anomalies, o.Body(0))
		}
		ids[p.ID] = true
		found[o.Kind]++
		r := p.Records[0]
		if o.Venue == venueA && !staff[r.Fields.Get("checkOwnerEmployeeId").Text()] {
			t.Fatalf("%s names nobody who works there", o.Body(0))
		}
		if r.Fields.Get("checkOwner") == nil {
			found["nameless"]++
		}
		for _, it := range r.Items {
			look(it, 1)
		}
	}
	for what, least := range map[string]int{"void": 50, "refire": 25, "order": 800, "notes": 160, "nameless": 100,
		"depth": 4, "few": 0, "extras": 2} {
		assert.True(t, found[what] >= least, what, found[what], least)
	}
	for _, script := range scripts {
		assert.True(t, found[script] != 0, "nothing is written in", script)
	}
}

func TestTheSameSeedMakesTheSameOrdersAndStaff(t *testing.T) {
	evening := func(o OrderOptions) (records, ids []string) {
		o.Venues = []string{venueA}
		orders := NewOrders(o)
		for range 50 {
			n := orders.Next()
			first, _ := n.first()
			fields := maps.Clone(first)
			delete(fields, "id")
			records, ids = append(records, string(encode(fields))), append(ids, n.ID)
		}
		return records, ids
	}
	one, oneIDs := evening(OrderOptions{Seed: 1})
	same, sameIDs := evening(OrderOptions{Seed: 1})
	fresh, freshIDs := evening(OrderOptions{Seed: 1, FreshIDs: true})
	other, _ := evening(OrderOptions{Seed: 2})
	assert.True(t, slices.Equal(one, same) && slices.Equal(oneIDs, sameIDs) && !slices.Equal(one, other),
		"the seed does not decide")
	assert.True(t, slices.Equal(one, fresh) && !slices.Equal(oneIDs, freshIDs),
		"fresh ids change the orders, or are not fresh")
	seventh := Staff(1, venueA, 7)
	assert.True(t, Staff(1, venueA, 0) != Staff(1, venueB, 0) && seventh == Staff(1, venueA, 7) && seventh != Staff(2,
		venueA, 7), "the seed and the venue do not decide who works there")
}

func TestAFileIsSentUnchangedAndThenAsARetry(t *testing.T) {
	text := []byte(
		"{ \"records\": [ {\"retryCount\": 1, \"id\": \"a\", \"items\": [], \"n\": 12345678901234567890} ] }\n",
	)
	o := FileOrder(text, venueA, "T1")
	assert.True(t, string(o.Body(0)) == string(text) && o.ID == "a", string(o.Body(0)))
	p, err := contract.Open(o.Body(2), contract.Lenient)
	assert.True(t, err == nil && p.Records[0].Fields.Get("retryCount").Text() == "3" &&
		p.Records[0].Fields.Get("n").Text() == "12345678901234567890", "retries with", string(o.Body(2)), err)
	const more = `{"records":[{"id":"a","items":[]}]} and a beer`
	o = FileOrder([]byte(more), venueA, "T1")
	assert.Equal(t, string(o.Body(1)), more, "what is behind the JSON is not in a retry")
	for _, text := range []string{"no JSON", "[]", "{}", `{"records":1}`, `{"records":[1]}`, ""} {
		o := FileOrder([]byte(text), venueA, "T1")
		assert.Equal(t, string(o.Body(0)), text)
		o.Body(1)
	}
}
