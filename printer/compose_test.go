package printer

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

func TestATicketThatCannotBeComposedFailsPermanentlyAndIsNotBegun(t *testing.T) {
	for name, draw := range map[string]func(ticket.Delivery, bool) encodedTicket{
		"panics": func(ticket.Delivery, bool) encodedTicket {
			var a []int
			return encodedTicket{lines: a[3]}
		},
		"panics nil": func(ticket.Delivery, bool) encodedTicket { panic(nil) },
	} {
		model, _ := profile.Lookup("generic-80mm")
		dialer, err := transport.Open("file://" + filepath.Join(t.TempDir(), "grill.bin"))
		if err != nil {
			t.Fatal(err)
		}
		device := NewDevice(DeviceOptions{Name: "grill", Dialer: dialer})
		p := NewPaper(Options{Name: "grill", Device: device, Profile: model})
		p.render = draw
		proof, err := p.Print(t.Context(), ticket.Delivery{Job: 1}, func(context.Context) error {
			t.Errorf("%s: begun", name)
			return nil
		})
		if proof != "" || !ticket.IsPermanent(err) || !strings.HasPrefix(err.Error(), "compose ticket: ") {
			t.Errorf("%s: %q, %v, want a permanent error", name, proof, err)
		}
		if device.idle == nil {
			t.Errorf("%s: nobody closes the connection", name)
		}
		device.Retire()
	}
}
