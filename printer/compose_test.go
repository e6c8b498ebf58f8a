package printer

import (
	"context"
	"strings"
	"testing"

	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

type noDialer struct{ t *testing.T }

func (d noDialer) Dial(context.Context) (transport.Conn, error) {
	d.t.Error("dialled for a ticket that cannot be composed")
	return nil, context.Canceled
}

func TestATicketThatCannotBeComposedIsBuriedAndTouchesNoPrinter(t *testing.T) {
	for name, draw := range map[string]func(ticket.Delivery) []byte{
		"panics":     func(ticket.Delivery) []byte { var a []int; return make([]byte, a[3]) },
		"panics nil": func(ticket.Delivery) []byte { panic(nil) },
		"empty":      func(ticket.Delivery) []byte { return nil },
	} {
		model, _ := profile.Lookup("generic-80mm")
		p := NewPaper(Options{Name: "grill", Dialer: noDialer{t}, Profile: model})
		p.draw = draw
		proof, err := p.Print(t.Context(), ticket.Delivery{Job: 1}, func(context.Context) error {
			t.Errorf("%s: begun", name)
			return nil
		})
		if proof != "" || !ticket.IsPermanent(err) || !strings.HasPrefix(err.Error(), "compose ticket: ") {
			t.Errorf("%s: %q, %v, want a permanent error", name, proof, err)
		}
	}
}
