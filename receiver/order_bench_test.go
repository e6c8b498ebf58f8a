package receiver

import (
	"testing"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// BenchmarkOrder is the cost of an order of 2.7 kB from the body in memory to the tickets as they are stored:
// everything before the committer.
func BenchmarkOrder(b *testing.B) {
	grill := plan.Route{To: []string{"grill"}}
	drinks := plan.Route{When: `item.courseName == "Drinks"`, To: []string{"bar"}}
	for name, routes := range map[string][]plan.Route{"OneStation": {grill}, "AnExpression": {drinks, grill}} {
		b.Run(name, func(b *testing.B) {
			body := contract.Example("burger.json")
			p, err := plan.Compile(plan.Config{Fallback: "pass", Routes: routes})
			must(b, err)
			venue := plan.Venue{ID: venueID, Name: "Harbour Grill", Zone: "Australia/Melbourne"}
			b.ReportAllocs()
			for b.Loop() {
				request, err := contract.Open(body, contract.Lenient)
				if err != nil || contract.VenueDiffers(request, venueID) {
					b.Fatal(err)
				}
				planned := p.Split(request, venue, "T1", time.Now(), nil).Request
				for _, d := range planned.Drafts {
					if _, err := ticket.Marshal(d.Ticket); err != nil {
						b.Fatal(err)
					}
				}
				ticket.Shares(planned.Drafts)
			}
		})
	}
}
