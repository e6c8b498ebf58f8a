package printer_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"ticketrail/printer"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// Two stations end at one printer, over real connections, while orders, polls and reloads meet.
func TestOrdersTicketsAndReleasesMayMeet(t *testing.T) {
	for _, can := range []virtual.Ability{virtual.Everything, 0} {
		v := virtual.New(virtual.Options{Can: can, Kanji: true, Clients: 1, Hang: true})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var serving, others, lines sync.WaitGroup
		serving.Go(func() { _ = v.Serve(ctx, l) })
		dialer, err := transport.Open("tcp://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, v, dialer, nil)
		if o := r.print("T"); o.err != nil {
			t.Fatal(o.err)
		}
		done := make(chan struct{})
		for _, f := range []func(){r.d.Expect, r.d.Release, func() { _ = r.d.Status() }} {
			others.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						f()
					}
				}
			})
		}
		for i := range 2 {
			p := printer.NewPaper(printer.Options{Name: fmt.Sprint("station", i), Profile: mustProfile(t), Device: r.d})
			lines.Go(func() {
				for n := range 4 {
					r.d.Expect()
					if o := r.printWith(t.Context(), p, dish(fmt.Sprintf("S%dT%d", i, n)), nil); o.err != nil {
						t.Errorf("%s: %v", o.kind(), o.err)
					}
				}
			})
		}
		lines.Wait()
		close(done)
		others.Wait()
		r.d.Release()
		cancel()
		serving.Wait()
		if n := v.Out(); n != 9 {
			t.Errorf("%d tickets on paper, want 9", n)
		}
	}
}
