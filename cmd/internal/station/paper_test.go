package station

import (
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

func TestEachHeaderFieldOfTheConfigurationPrints(t *testing.T) {
	d := ticket.Delivery{Ticket: ticket.Ticket{
		VenueName: "Harbour Grill", Number: "18", Table: "B10", Type: "Dine In", Received: time.Unix(1770374988, 0),
		Server: "Ana", Guests: "4", Destination: "GRILL-1", Course: "Mains",
	}}
	none := len(layout.ComposeWith(d, layout.Options{Columns: 42, Header: []string{}}))
	for _, f := range config.HeaderFields() {
		// it and the rule below it
		if n := len(layout.ComposeWith(d, layout.Options{Columns: 42, Header: []string{f}})); n != none+2 {
			t.Errorf("%s takes %d lines of %d", f, n-none, n)
		}
	}
}
