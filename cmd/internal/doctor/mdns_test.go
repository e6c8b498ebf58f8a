package doctor

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/hashicorp/mdns"

	"ticketrail/deploy/slow"
)

func TestWhatAPrinterAnnouncesIsSafeToShow(t *testing.T) {
	for _, c := range []struct {
		entry mdns.ServiceEntry
		want  string
	}{
		{mdns.ServiceEntry{Name: `EPSON\ TM-m30._ipp._tcp.local.`}, "EPSON TM-m30"},
		{mdns.ServiceEntry{Name: "x._ipp._tcp", InfoFields: []string{"rp=ipp", "ty=TM-m30III"}}, "TM-m30III"},
		{mdns.ServiceEntry{Name: "a\x1b[2Jb\nc\u202e._printer._tcp.local."}, "a\ufffd[2Jb c"},
		{mdns.ServiceEntry{InfoFields: []string{"ty=" + strings.Repeat("é", 500)}},
			strings.Repeat("é", maxNameLength)},
	} {
		if got := announcedName(&c.entry); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.entry.Name, got, c.want)
		}
	}
}

func TestBrowseFindsAnAnnouncedPrinter(t *testing.T) {
	slow.Test(t) // it waits for answers, on a network with multicast
	zone, err := mdns.NewMDNSService("Kitchen", "_pdl-datastream._tcp", "local.", "kitchen.local.", 9100,
		[]net.IP{net.IPv4(10, 1, 2, 3)}, []string{"ty=EPSON TM-T88V"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := mdns.NewServer(&mdns.Config{Zone: zone})
	if err != nil {
		t.Fatal("this machine has no multicast:", err)
	}
	defer s.Shutdown()
	if got := browse(t.Context())[netip.MustParseAddr("10.1.2.3")]; got != "EPSON TM-T88V" {
		t.Errorf("got %q", got)
	}
}

func TestTheProfileOfAStatedModelIsProposed(t *testing.T) {
	for model, want := range map[string]string{
		"EPSON TM-T88V": "epson-tm-t88", "TM-U220B": "epson-tm-u220b", "EPSON TM-U220A": "epson-tm-u220",
		"BIXOLON SRP-350III": "bixolon-srp-350", "POS-80mm": "", "": "", "Xprinter XP-80": "",
	} {
		if got := profileOf(model); got != want {
			t.Errorf("%q: %q, want %q", model, got, want)
		}
	}
}
