package queue

import (
	"testing"
	"time"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// prepareOrders returns a function that takes an order of 2.7 kB from the body in memory to the operation that is ready
// for the committer.
func prepareOrders(t testing.TB, routes ...plan.Route) func() {
	body, q := contract.Example("burger.json"), &Queue{}
	p, err := plan.Compile(plan.Config{Fallback: "pass", Routes: routes})
	must(t, err)
	at := plan.Venue{ID: venue, Name: "Harbour Grill", Zone: "Australia/Melbourne"}
	return func() {
		request, err := contract.Open(body, contract.Lenient)
		wantTrue(t, err == nil && !contract.VenueDiffers(request, venue), err)
		planned := p.Split(request, at, "T1", time.Now(), nil).Request
		must(t, errOf(q.newAcceptOp(&planned)))
	}
}

var (
	drinks = plan.Route{When: `item.courseName == "Drinks"`, To: []string{"bar"}}
	grill  = plan.Route{To: []string{"grill"}}
)

func BenchmarkOrder(b *testing.B) {
	for name, routes := range map[string][]plan.Route{"OneStation": {grill}, "AnExpression": {drinks, grill}} {
		b.Run(name, func(b *testing.B) {
			prepare := prepareOrders(b, routes...)
			b.ReportAllocs()
			for b.Loop() {
				prepare()
			}
		})
	}
}

func TestAnOrderIsReadyForTheCommitterAfterAtMost300Allocations(t *testing.T) {
	allocations := testing.AllocsPerRun(100, prepareOrders(t, drinks, grill))
	wantTrue(t, allocations <= 300, allocations)
}
