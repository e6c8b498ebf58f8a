package doctor

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/printer/virtual"
)

// onPort serves with serve on the port of the first caller, at one of this box's own addresses.
func onPort(t *testing.T, host string, port *uint16, serve func(context.Context, net.Listener)) {
	t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(host), *port)))
	if err != nil {
		t.Fatal(err)
	}
	*port = uint16(l.Addr().(*net.TCPAddr).Port)
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { serve(ctx, l) })
	t.Cleanup(func() { cancel(); l.Close(); serving.Wait() })
}

func TestDiscoverTellsPrintersFromOtherProgramsAndPrintsNothing(t *testing.T) {
	d := Discovery{
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.9.0/29")},
		own:      []netip.Addr{netip.MustParseAddr("127.0.9.6")},
	}
	paper := func(o virtual.Options) func(context.Context, net.Listener) {
		p := virtual.New(o)
		t.Cleanup(func() {
			if n := p.TicketCount(); n > 0 {
				t.Errorf("%d tickets came out", n)
			}
		})
		return func(ctx context.Context, l net.Listener) { _ = p.Serve(ctx, l) }
	}
	clients := make(chan string, 10)
	onPort(t, "127.0.9.1", &d.port, paper(virtual.Options{Can: virtual.Everything}))
	onPort(t, "127.0.9.2", &d.port, paper(virtual.Options{Can: virtual.Everything, Condition: virtual.CoverOpen}))
	onPort(t, "127.0.9.3", &d.port, paper(virtual.Options{}))
	onPort(t, "127.0.9.4", &d.port, func(ctx context.Context, l net.Listener) {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n")
		b, _ := io.ReadAll(c)
		clients <- string(b)
	})
	// The box's own address, and one beyond the network.
	for _, host := range []string{"127.0.9.6", "127.0.9.9"} {
		onPort(t, host, &d.port, func(ctx context.Context, l net.Listener) {
			if c, err := l.Accept(); err == nil {
				c.Close()
				t.Errorf("%s was asked", host)
			}
		})
	}
	found, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(found[i].Address, "tcp://"))
		found[i].Address = strings.TrimSuffix(found[i].Address, ":"+port)
	}
	found = slices.DeleteFunc(found, func(f FoundPrinter) bool {
		return !strings.HasPrefix(f.Address, "tcp://127.0.9.")
	})
	want := []FoundPrinter{
		{Address: "tcp://127.0.9.1", Model: "EPSON TM-T88V", State: "ready", Ability: "confirmed"},
		{Address: "tcp://127.0.9.2", State: "cover open"},
		{Address: "tcp://127.0.9.3", State: "silent", Ability: "sent"},
		{Address: "tcp://127.0.9.4", Program: "an SSH daemon (SSH-2.0-OpenSSH_9.2)"},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if got := <-clients; got != "\x10\x04\x01" {
		t.Errorf("what is no printer got %q", got)
	}
}

func TestDiscoverAsksOnlyTheNetworksOfTheBox(t *testing.T) {
	own := []netip.Prefix{netip.MustParsePrefix("192.168.1.0/24"), netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		only        []string
		asks, large string // or the error
		err         string
	}{
		{nil, "192.168.1.0/24", "10.0.0.0/8", ""},
		{[]string{"10.0.3.0/24", "192.168.1.128/25"}, "10.0.3.0/24, 192.168.1.128/25", "no private IPv4 network", ""},
		{[]string{"10.7.0.0/16"}, "10.7.0.0/16", "no private IPv4 network", ""},
		{[]string{"10.0.0.0/15"}, "", "", "too many addresses"},
		{[]string{"192.168.2.0/24"}, "", "", "192.168.2.0/24 is no part of a network of this box, which has 192.168"},
		{[]string{"192.168.0.0/23"}, "", "", "no part of a network of this box"},
		{[]string{"8.8.8.8"}, "", "", `"8.8.8.8" is no IPv4 network; write it as`},
	} {
		var d Discovery
		err := d.choose(own, c.only)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v", c.only, err)
			}
		case err != nil || prefixes(d.Networks) != c.asks || prefixes(d.Large) != c.large:
			t.Errorf("%v: %v %v %v", c.only, d.Networks, d.Large, err)
		}
	}
	d := Discovery{Networks: own[:1]}
	if n := len(d.Addresses()); n != 255 { // 254 hosts and the box
		t.Errorf("%d addresses", n)
	}
}
