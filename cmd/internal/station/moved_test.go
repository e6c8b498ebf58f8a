package station

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/config"
	"ticketrail/printer/transport"
)

func TestAPrinterWithAMACAddressIsDialedOnlyWhereItIs(t *testing.T) {
	const home, second, third = "127.0.9.1", "127.0.9.2", "127.0.9.3"
	type table map[string]string
	for name, c := range map[string]struct {
		up            []string // where something listens
		before, after table    // the neighbour table; after: once another address was tried
		notAsked      bool     // the networks were not asked lately
		others        []config.Printer
		want          []string // per dial, the host or a part of the error
		missing       bool
	}{
		"at home": {up: []string{home}, after: table{home: grillMAC}, want: []string{home, home}},
		"at home, behind a router": {up: []string{home, second}, after: table{second: grillMAC},
			want: []string{home, home}},
		"moved": {up: []string{second}, after: table{second: grillMAC},
			want: []string{"its MAC address " + grillMAC + " was last seen at " + second, second, second}},
		"another device at home": {up: []string{home, second}, after: table{home: otherMAC, second: grillMAC},
			want: []string{"has the MAC address " + otherMAC + " and not " + grillMAC, second, second}},
		"another device at home, the printer is off": {up: []string{home}, after: table{home: otherMAC},
			want: []string{"another device has this address", "another device has this address"}, missing: true},
		"old entry, another device there": {up: []string{second},
			before: table{second: grillMAC}, after: table{second: otherMAC},
			want: []string{"connection refused", second + ":9100 has the MAC address " + otherMAC,
				"connection refused"},
			missing: true},
		"old entry, and none after connecting": {up: []string{second}, before: table{second: grillMAC}, after: table{},
			want: []string{"connection refused", second + ":9100 has the MAC address (unknown)",
				"connection refused"},
			missing: true},
		"two addresses": {up: []string{second, third}, after: table{second: grillMAC, third: grillMAC},
			want:    []string{"connection refused", "is at " + second + " and " + third + ": it is not known which"},
			missing: true},
		"no entry": {after: table{third: otherMAC}, want: []string{"connection refused", "connection refused"},
			missing: true},
		"the networks were not asked": {up: []string{second}, after: table{second: grillMAC}, notAsked: true,
			want: []string{"connection refused", "connection refused"}, missing: true},
		"at the address of another printer": {up: []string{second}, after: table{second: grillMAC},
			others: []config.Printer{{Name: "bar", Address: "tcp://" + second}},
			want: []string{"connection refused", "is at " + second + ", the address of the printer bar in the " +
				"configuration: correct the address of both"}, missing: true},
		"at the address of a printer that moved too": {up: []string{second}, after: table{second: grillMAC},
			others: []config.Printer{{Name: "bar", Address: "tcp://" + second, MAC: otherMAC}},
			want:   []string{"connection refused", second}},
		"busy": {after: table{home: grillMAC}, want: []string{"connection refused", "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			up := newLAN(t, c.up...)
			now := c.before
			if now == nil {
				now = c.after
			}
			f := newFinder(slog.New(slog.DiscardHandler), func() []config.Printer { return c.others })
			f.neighbours = func() map[netip.Addr]string {
				out := map[netip.Addr]string{}
				for a, mac := range now {
					out[netip.MustParseAddr(a)] = mac
				}
				return out
			}
			if !c.notAsked {
				f.asked = time.Now()
			}
			conf := config.Printer{Name: "grill", Address: "tcp://" + home, MAC: grillMAC}
			_, m, err := openPrinter(conf, f, func(p config.Printer) (transport.Dialer, error) {
				d, err := up.open(p)
				return after{d, func() {
					if host, _ := hostOf(p); host != home {
						now = c.after
					}
				}}, err
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				conn, err := m.Dial(t.Context())
				if err != nil {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("dial %d: %v", i, err)
					}
					continue
				}
				if got := transport.Remote(conn).String(); got != want {
					t.Errorf("dial %d: connected to %s, want %s", i, got, want)
				}
				conn.Close()
			}
			if m.missing() != c.missing {
				t.Errorf("missing is %v", m.missing())
			}
		})
	}
}

func TestAPrinterThatMovesIsAnnouncedOnce(t *testing.T) {
	const home, away = "127.0.9.1", "127.0.9.2"
	var log bytes.Buffer
	f := newFinder(slog.New(slog.NewTextHandler(&log, nil)), func() []config.Printer { return nil })
	at := home
	f.neighbours = func() map[netip.Addr]string {
		return map[netip.Addr]string{netip.MustParseAddr(at): grillMAC}
	}
	f.asked = time.Now()
	up := newLAN(t, home, away)
	conf := config.Printer{Name: "grill", Address: "tcp://" + home, MAC: grillMAC}
	_, m, err := openPrinter(conf, f, func(c config.Printer) (transport.Dialer, error) {
		if host, _ := hostOf(c); host != at {
			return deadEnd{errors.New("no route")}, nil
		}
		return up.open(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, log, moved string }{
		{home, "", ""},
		{away, "level=WARN msg=\"printer was found at tcp://" + away, "was found at tcp://" + away +
			":9100, not at tcp://" + home + ":9100"},
		{home, "level=INFO msg=\"printer is at its configured address again\"", ""},
	} {
		at = c.at
		log.Reset()
		for range 6 { // in turn at both
			if conn, err := m.Dial(t.Context()); err == nil {
				conn.Close()
			}
		}
		if text, do := m.moved(); text != c.moved || (do == "") != (c.moved == "") {
			t.Errorf("at %s: %q %q", at, text, do)
		}
		if n := strings.Count(log.String(), "\n"); n > 1 || !strings.Contains(log.String(), c.log) {
			t.Errorf("at %s the log has\n%s", at, log.String())
		}
	}
}

func TestTheNetworksAreAskedOnceAMinuteForAllPrinters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFinder(slog.New(slog.DiscardHandler), nil)
		f.neighbours = func() map[netip.Addr]string { return nil }
		var asked atomic.Int64
		f.ask = func(context.Context, *movable) { asked.Add(1) }
		defer startLoop(f.run)()
		var all []*movable
		for _, name := range []string{"grill", "bar"} {
			c := config.Printer{Name: name, Address: "tcp://127.0.9.1", MAC: grillMAC}
			_, m, err := openPrinter(c, f, lan{}.open)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
		for range 145 { // 290 s
			for _, m := range all {
				if _, err := m.Dial(t.Context()); err == nil {
					t.Error("connected")
				}
			}
			time.Sleep(2 * time.Second)
		}
		if n := asked.Load(); n != 5 {
			t.Errorf("asked %d times in 290 s", n)
		}
		for _, m := range all {
			m.answered(m.home)
		}
		time.Sleep(10 * time.Minute)
		if n := asked.Load(); n != 5 {
			t.Error("asked although all answer")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := all[0].Dial(ctx); err == nil || all[0].missing() {
			t.Error("a poll that a ticket interrupts counts as a printer that does not answer")
		}
	})
}

func TestAMACAddressBelongsToOnePrinter(t *testing.T) {
	var conf config.Config
	for i, c := range []struct {
		address string
		mac     config.MAC
	}{
		{"tcp://10.0.9.1", grillMAC}, {"tcp://10.0.9.1:9101", grillMAC}, // a print server with two ports
		{"tcp://10.0.9.2", grillMAC}, {"tcp://10.0.9.3", otherMAC}, {"tcp://10.0.9.3", ""}, {"usb://", otherMAC},
		{"tcp://10.0.9.4", ""}, {"tcp://10.0.9.5", ""},
	} {
		p := config.DefaultPrinter()
		p.Name, p.Address, p.MAC = string(rune('a'+i)), c.address, c.mac
		conf.Printers = append(conf.Printers, p)
	}
	var got []string
	for _, p := range paperProblems(&conf) {
		if strings.HasSuffix(p.Path, ".mac") {
			got = append(got, p.Path+": "+p.Msg)
		}
	}
	want := []string{
		"printers[2].mac: 00:26:ab:12:34:56 is also that of printers[0], which has another address; " +
			"every printer has a MAC address of its own",
		"printers[5].mac: is only for a printer on the network (tcp://); remove it",
		"printers[4].mac: is none, and 00:26:ab:00:00:01 in printers[3], which is the same printer; " +
			"set the same value in both",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const (
	grillMAC = "00:26:ab:12:34:56"
	otherMAC = "00:26:ab:00:00:01"
)

// A lan has hosts of this machine that accept connections, on which nothing may be sent: at real addresses, but each
// at a port that was free. The others refuse.
type lan map[string]string // the address of a host

func newLAN(t *testing.T, hosts ...string) lan {
	t.Helper()
	out := lan{}
	for _, host := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		var clients sync.WaitGroup
		clients.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				clients.Go(func() {
					defer c.Close()
					if b, _ := io.ReadAll(c); len(b) > 0 {
						t.Errorf("%s got %q", host, b)
					}
				})
			}
		})
		t.Cleanup(func() { l.Close(); clients.Wait() })
		out[host] = "tcp://" + l.Addr().String()
	}
	return out
}

func (l lan) open(p config.Printer) (transport.Dialer, error) {
	host, _ := hostOf(p)
	if l[host] == "" {
		return deadEnd{os.NewSyscallError("connect", syscall.ECONNREFUSED)}, nil
	}
	return transport.Open(l[host])
}

// A deadEnd is where no connection can be made.
type deadEnd struct{ err error }

func (d deadEnd) Dial(context.Context) (transport.Conn, error) { return nil, d.err }

// after calls change when a connection was tried.
type after struct {
	transport.Dialer
	change func()
}

func (a after) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := a.Dialer.Dial(ctx)
	a.change()
	return c, err
}
