package plan

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
)

const burger = `{"records":[{"id":"r","room":null,"checkNumber":18,"checkName":"B10","checkOwner":"Sarah M","items":[
	{"name":"Burger","quantity":1,"courseName":"Entrees","note":"no onion","categoryPriority":5,
		"childItems":[{"name":"Side Salad","quantity":1,"childItems":[{"name":"Ranch","quantity":1}]}]},
	{"name":"Fries","quantity":2,"courseName":"Entrees","categoryPriority":5},
	{"name":"Ale","quantity":2,"courseName":"Drinks","categoryPriority":1},
	{"displayName":"Cola\u001b[31m","quantity":1,"isVoid":true,"categoryPriority":1,"childItems":[{"name":"no ice"}]},
	{"sku":7,"size":null}]}],"status":"SUCCESS","count":1}`

func TestATraceSaysWhatEachRouteDid(t *testing.T) {
	p := compile(t, Config{Routes: []Route{
		{Venue: "elsewhere", When: `item.nowhere == 1`, To: []string{"x"}},
		{When: `item.corseName == "Drinks" or item.corse == 1 or record.check.number == 1 or item?.sku["a"] == 2`,
			To: []string{"bar"}},
		{When: `record.room == 1 or item.size == 1`, To: []string{"bar"}}, // null is not missing
		{When: `item.quantity + "x" == "y"`, To: []string{"bar"}},
		{When: `item.courseName == "Entrees" and record.checkNumber == 18`, To: []string{"grill"}},
	}})
	r := p.Traced().Split(parse(t, burger), harbour, "T1", noon, nil)
	got := r.Trace
	for _, want := range []string{
		"records[0].items[2] \"Ale\" → fallback (NO ROUTE)\n",
		"records[0].items[3] \"Cola\\x1b[31m\" → fallback (NO ROUTE)\n",
		"records[0].items[1] \"Fries\" → grill\n",
		"  routes[0] for another venue\n  routes[1] no match\n  routes[2] no match\n  routes[3] failed: " +
			"\"invalid operation: float64 + string (1:15)\"\n  routes[4] matched\n",
		"routes[1].when reads item.corse, which nothing in this body has\n",
		"routes[1].when reads item.corseName, which nothing in this body has\nroutes[1].when reads item.sku.a, " +
			"which nothing in this body has\nroutes[1].when reads record.check.number, which nothing in this " +
			"body has\n",
	} {
		assert.Contains(t, got, want)
	}
	if t.Failed() || strings.Count(got, ".when reads") != 4 {
		t.Logf("\n%s", got)
		t.Fail()
	}
	d := cmp.Diff(p.Split(parse(t, burger), harbour, "T1", noon, nil).Request, r.Request)
	assert.Equal(t, d, "", "a trace changes the plan")
}

func TestAnExpressionThatDoesNotReadItemIsEvaluatedOnceForEachRecord(t *testing.T) {
	p := compile(t, Config{Routes: []Route{{When: `any(record.items, .name + 1 == 2)`, To: []string{"bar"}},
		{When: `record.a == 1`, To: []string{"grill"}}}})
	r := p.Split(parse(t, `{"records":[{"id":"r","items":[{"name":"a"},{"name":"b"}]},{"a":1,"items":[{"name":`+
		`"c"}]}]}`), harbour, "T", noon, nil)
	assert.Equal(t, lines(r), "fallback: 1a? 1b? | grill: 1c")
	// A failure is counted for each item: the route matched none of them.
	assert.True(t, r.FailureCount == 3 && strings.HasPrefix(r.Failure,
		"routes[0].when: records[0].items[0]: failed at "), r.FailureCount, r.Failure)
}

func TestAPlanIsSafeForConcurrentUse(t *testing.T) {
	p := compile(t, Config{Routes: []Route{{When: `item.courseName == "Drinks"`, To: []string{"bar"}},
		{When: `any(record.items, .quantity > 1)`, To: []string{"grill"}}}})
	req := parse(t, burger)
	want := lines(p.Split(req, harbour, "T1", noon, nil))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				assert.Equal(t, lines(p.Traced().Split(req, harbour, "T1", noon, nil)), want)
			}
		})
	}
	wg.Wait()
}
