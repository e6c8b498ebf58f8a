package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ticketrail/receiver/contract"
)

func TestOrdersHaveTheVarietyOfARealEvening(t *testing.T) {
	wanted := []string{"Latin", "Greek", "Cyrillic", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Hebrew",
		"Thai", "Devanagari"}
	orders := NewOrders(OrderOptions{Seed: 1, Venues: []string{venueA, venueB}})
	known := map[string]string{}
	for _, v := range []string{venueA, venueB} {
		for n := range 25 {
			known[Staff(1, v, n).ID] = v
		}
	}
	kinds, ids, scripts, found := map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]int{}
	var look func(item contract.Value, depth int)
	look = func(item contract.Value, depth int) {
		name := item.Get("name").Text()
		for _, script := range wanted {
			if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Scripts[script], r) }) {
				scripts[script] = true
			}
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f && unicode.Is(unicode.Latin, r) }) {
			found["accents"]++
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
		if err != nil || len(p.Anomalies) > 0 || contract.VenueDiffers(p, o.Venue) || p.ID != o.ID {
			t.Fatalf("%v %v in %s", err, p.Anomalies, o.Body(0))
		}
		kinds[o.Kind]++
		for _, r := range p.Records {
			if ids[r.ID] {
				t.Fatalf("%s was there before", r.ID)
			}
			ids[r.ID] = true
			employee := r.Fields.Get("checkOwnerEmployeeId").Text()
			if known[employee] != o.Venue {
				t.Fatalf("%s does not work at %s", employee, o.Venue)
			}
			if r.Fields.Get("checkOwner") == nil {
				found["nameless"]++
			}
			for _, it := range r.Items {
				look(it, 1)
			}
			if len(r.Items) == 0 {
				t.Errorf("a record of %s is empty", o.ID)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, []string{"order", "refire", "void"}) ||
		kinds["void"] < 50 || kinds["refire"] < 25 {
		t.Errorf("kinds are %v", kinds)
	}
	if found["few"] < 0 || found["extras"] < 2 {
		t.Errorf("a choice is left out, or an extra always: %v", found)
	}
	if found["depth"] < 4 || found["notes"] < 160 || found["accents"] < 160 || found["nameless"] < 100 ||
		found["nameless"] > 500 {
		t.Errorf("found %v", found)
	}
	if len(scripts) != len(wanted) {
		t.Errorf("only %v are written, want %q", scripts, wanted)
	}
}

func TestTheSameSeedMakesTheSameOrdersAndStaff(t *testing.T) {
	menuOf := func(o OrderOptions) (all []string, ids []string) {
		o.Venues = []string{venueA}
		orders := NewOrders(o)
		for range 50 {
			n := orders.Next()
			first, _ := n.first()
			fields := maps.Clone(first)
			delete(fields, "id")
			all, ids = append(all, string(encode(fields))), append(ids, n.ID)
		}
		return all, ids
	}
	one, oneIDs := menuOf(OrderOptions{Seed: 1})
	same, sameIDs := menuOf(OrderOptions{Seed: 1})
	fresh, freshIDs := menuOf(OrderOptions{Seed: 1, FreshIDs: true})
	other, _ := menuOf(OrderOptions{Seed: 2})
	if !slices.Equal(one, same) || !slices.Equal(oneIDs, sameIDs) || slices.Equal(one, other) {
		t.Error("the seed does not decide")
	}
	staff, sameStaff, otherStaff := newService(), newService(), newService(func(o *Options) { o.Seed = 2 })
	if !slices.Equal(staff.Employees(venueA), sameStaff.Employees(venueA)) ||
		slices.Equal(staff.Employees(venueA), otherStaff.Employees(venueA)) ||
		staff.Employees(venueA)[0] == staff.Employees(venueB)[0] || staff.Employees(venueA)[7] != Staff(1, venueA, 7) {
		t.Error("the seed and the venue do not decide who works there")
	}
	if one[0] != fresh[0] || slices.Equal(oneIDs, freshIDs) {
		t.Error("fresh ids change the orders, or are not fresh")
	}
}

func TestAFileIsSentUnchangedAndThenAsARetry(t *testing.T) {
	text := []byte(
		"{ \"records\": [ {\"retryCount\": 1, \"id\": \"a\", \"items\": [], \"n\": 12345678901234567890} ] }\n",
	)
	o := FileOrder(text, venueA, "T1")
	if string(o.Body(0)) != string(text) || o.ID != "a" {
		t.Errorf("sends %s", o.Body(0))
	}
	p, err := contract.Open(o.Body(2), contract.Lenient)
	if err != nil || p.Records[0].Fields.Get("retryCount").Text() != "3" ||
		p.Records[0].Fields.Get("n").Text() != "12345678901234567890" {
		t.Errorf("retries with %s, %v", o.Body(2), err)
	}
	if again := o.Again(); strings.Contains(string(again.Body(0)), `"retryCount":1`) {
		t.Errorf("again it is %s", again.Body(0))
	}
	const more = `{"records":[{"id":"a","items":[]}]} and a beer`
	if o := FileOrder([]byte(more), venueA, "T1"); string(o.Body(1)) != more || string(o.Again().Body(0)) != more {
		t.Errorf("what is behind the JSON is not in a retry: %s", o.Body(1))
	}
	for _, text := range []string{"no JSON", "[]", "{}", `{"records":1}`, `{"records":[1]}`, ""} {
		o := FileOrder([]byte(text), venueA, "T1")
		if string(o.Body(0)) != text {
			t.Errorf("%q becomes %q", text, o.Body(0))
		}
		o.Body(1)
	}
}
