package printer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// model is a simulated printer that has exactly the characters of a profile and answers every question.
func model(p profile.Profile, columns int) *virtual.Printer {
	pages := map[byte]string{}
	for _, c := range p.CodePages {
		pages[c.Number] = c.Name
	}
	return virtual.New(virtual.Options{Columns: columns, Kanji: p.Kanji, CodePages: pages, Can: virtual.Everything})
}

// orderFilledWith is a delivery with s in every field that comes from the service.
func orderFilledWith(s string) ticket.Delivery {
	return ticket.Delivery{Job: 1, Station: s, Attempt: 2, Doubt: true, Ticket: ticket.Ticket{
		Venue: s, VenueName: s, Device: s, Request: s, Record: s, Number: s, Table: s, Server: s, Type: s, Guests: s,
		Destination: s, Course: s, Notes: []string{s, s}, Zone: s, Raw: s,
		Lines: []ticket.Line{
			{Quantity: s, Name: s, Notes: []string{s}, Seat: s, Course: s},
			{Depth: 1, Quantity: "1", Name: s, Void: true},
			{Depth: 40, Quantity: "2", Name: s, Raw: true, NoRoute: true, Refire: true},
		},
	}}
}

// problemsOf prints d on a printer of every model and returns the problems that they record.
func problemsOf(t *testing.T, d ticket.Delivery) (all []string) {
	t.Helper()
	for _, name := range profile.Names() {
		p, _ := profile.Lookup(name)
		for _, columns := range []int{p.Columns, 16} {
			v := model(p, columns)
			dev := printer.NewDevice(printer.DeviceOptions{
				Name: "x", Dialer: v, Confirm: p.Confirm, Connection: connection,
			})
			out := printer.NewPaper(printer.Options{Name: d.Station + "x", Device: dev, Profile: p, Columns: columns})
			proof, err := out.Print(t.Context(), d, func(context.Context) error { return nil })
			dev.Retire()
			want := ticket.Confirmed
			if p.Confirm == profile.ByStatus {
				want = ticket.Processed
			}
			if err != nil || proof != want {
				all = append(all, fmt.Sprintf("%s, %d columns: %q, %v", name, columns, proof, err))
				continue
			}
			synctest.Wait()
			if n := v.TicketCount(); n != 1 {
				all = append(all, fmt.Sprintf("%s, %d columns: %d tickets", name, columns, n))
			}
			for _, s := range v.Problems() {
				all = append(all, fmt.Sprintf("%s, %d columns: %s", name, columns, s))
			}
		}
	}
	return all
}

func TestNoTextOfTheServiceIsACommand(t *testing.T) {
	var controls strings.Builder
	for r := range rune(0xA0) {
		controls.WriteRune(r)
	}
	for name, s := range map[string]string{
		"DrawerKick":     "Burger\x1bp\x00\x19\xfa",
		"Cut":            "Burger\x1dV\x00 and \x1di",
		"Start":          "\x1b@\x1b@",
		"PowerOff":       "\x10\x14\x02\x01\x08",
		"Realtime":       "\x10\x04\x01\x10\x05\x02",
		"EveryControl":   controls.String(),
		"RawBytes":       "\x80\x81\xfe\xff\x9b\x1b",
		"Lines":          "one\ntwo\r\nthree\u2028four\u2029five\vsix\fseven",
		"Bidi":           "\u202eevil\u2066x\u2069",
		"Scripts":        "宫保鸡丁 すし 김치 ต้มยำ עברית العربية Žižkov Ελλάδα Борщ 🌶️ €",
		"Combining":      "e\u0301\u0301\u0301\u200d\ufeff" + strings.Repeat("\u0300", 500),
		"LongWord":       strings.Repeat("x", 5000),
		"LongWide":       strings.Repeat("寿", 700),
		"Blank":          " \t \u00a0\u3000 ",
		"Empty":          "",
		"HalfCommand":    "\x1b",
		"DoubleByteTail": "\x1c&\xc4",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, o := range problemsOf(t, orderFilledWith(s)) {
					t.Error(o)
				}
			})
		})
	}
}
