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

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

func TestDiscoverTellsPrintersFromOtherProgramsAndPrintsNothing(t *testing.T) {
	slow.Test(t) // it waits for answers, and needs one port at several addresses
	d := Discovery{
		Networks: transport.Networks{Asked: []netip.Prefix{netip.MustParsePrefix("127.0.9.0/29")}},
	}
	paper := func(o virtual.Options) func(context.Context, net.Listener) {
		p := virtual.New(o)
		t.Cleanup(func() {
			assert.Equal(t, p.TicketCount(), 0, "tickets came out")
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
	onPort(t, "127.0.9.9", &d.port, func(ctx context.Context, l net.Listener) {
		if c, err := l.Accept(); err == nil {
			c.Close()
			t.Error("an address beyond the network was asked")
		}
	})
	found, err := d.Run(t.Context())
	assert.NoError(t, err)
	for i := range found {
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(found[i].Address, "tcp://"))
		found[i].Address = strings.TrimSuffix(found[i].Address, ":"+port)
	}
	found = slices.DeleteFunc(found, func(f FoundPrinter) bool {
		return !strings.HasPrefix(f.Address, "tcp://127.0.9.")
	})
	want := []FoundPrinter{
		{Address: "tcp://127.0.9.1", Model: "EPSON TM-T88V", Profile: "epson-tm-t88", State: "ready",
			BestProof: "confirmed"},
		{Address: "tcp://127.0.9.2", State: "cover open"},
		{Address: "tcp://127.0.9.3", State: "silent", BestProof: "sent"},
		{Address: "tcp://127.0.9.4", Program: "an SSH daemon (SSH-2.0-OpenSSH_9.2)"},
	}
	diff := cmp.Diff(want, found)
	assert.True(t, diff == "", diff)
	assert.Equal(t, strings.TrimLeft(<-clients, "\x00"), "\x10\x04\x01") // NULs print nothing
}

func TestAFoundPrinterGetsAMACAddressOfItsOwnOnly(t *testing.T) {
	found := []FoundPrinter{{Address: "tcp://10.0.9.1:9100"}, {Address: "tcp://10.0.9.2:9100"},
		{Address: "tcp://10.0.9.3:9100"}, {Address: "usb://04b8:0e28"}}
	addMACs(found, map[netip.Addr]string{
		netip.MustParseAddr("10.0.9.1"): "00:26:ab:12:34:56",
		netip.MustParseAddr("10.0.9.2"): "00:26:ab:00:00:01", // a repeater
		netip.MustParseAddr("10.0.9.3"): "00:26:ab:00:00:01",
	})
	got := ""
	for _, f := range found {
		got += f.YAML("p")
	}
	want := `  - name: "p"
    address: "tcp://10.0.9.1:9100"
    mac: "00:26:ab:12:34:56" # finds it again if its address changes
  - name: "p"
    address: "tcp://10.0.9.2:9100"
  - name: "p"
    address: "tcp://10.0.9.3:9100"
  - name: "p"
    address: "usb://04b8:0e28"
`
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "", diff)
}

// onPort serves with serve on the port of the first caller, at one of this box's own addresses.
func onPort(t *testing.T, host string, port *uint16, serve func(context.Context, net.Listener)) {
	t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(host), *port)))
	assert.NoError(t, err)
	*port = uint16(l.Addr().(*net.TCPAddr).Port)
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { serve(ctx, l) })
	t.Cleanup(func() { cancel(); l.Close(); serving.Wait() })
}
