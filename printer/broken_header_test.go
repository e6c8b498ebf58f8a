package printer_test

import (
	"testing"
	"testing/synctest"

	"ticketrail/printer/virtual"
)

func TestACommandThatBrokeOffInItsHeaderSwallowsNoTicket(t *testing.T) {
	// After a command that broke off in its header, our questions must not be taken for the rest of the header:
	// read as the size of an image, they announce a quarter of a megabyte, and later tickets disappear in it.
	for _, head := range []string{
		"\x1dv", "\x1dv0", "\x1dv0\x00", "\x1dv0\x00\x30", "\x1dv0\x00\x30\x00",
		"\x1d(", "\x1d(L", "\x1d(k\x03", "\x1d8L", "\x1d8L\x10\x00", "\x1b*", "\x1b!", "\x1b",
		"\x1dv0\x00\x48\x00\x18\x00half of an image",
	} {
		for _, can := range []virtual.Capability{virtual.Everything, statusOnly, realTimeOnly} {
			withHarness(t, virtual.Options{Can: can, Kanji: true, Remembers: true}, nil, func(r *harness) {
				broken := func() {
					c, err := r.v.Dial(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if _, err := c.Write([]byte(head)); err != nil {
						t.Fatal(err)
					}
					_ = c.Close()
					synctest.Wait()
				}
				broken()
				d := orderOf("A1")
				d.Doubt = true // the broken ticket was this one, before a restart
				if o := r.printWith(r.t.Context(), r.p, d, nil); o.err != nil {
					t.Errorf("after % X: %v", head, o.err)
				}
				if o := r.print("A2"); o.err != nil {
					t.Errorf("after % X: %v", head, o.err)
				}
				r.wantPaper("A1! A2")
			})
		}
	}
}
