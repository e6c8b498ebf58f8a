package transport

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
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
)

func TestAPrinterWithAMACAddressIsDialedOnlyWhereItIs(t *testing.T) {
	const home, second, third = "127.0.9.1", "127.0.9.2", "127.0.9.3"
	type table = map[string]string
	for name, c := range map[string]struct {
		up            []string // where something listens
		before, after table    // the neighbour table; after: once another address was tried
		others        []Known
		want          []string // per dial, the host or a part of the error
		missing       bool
	}{
		"at home": {up: []string{home}, after: table{home: grillMAC}, want: []string{home, home}},
		"at home, behind a router": {up: []string{home, second}, after: table{second: grillMAC},
			want: []string{home, home}},
		"moved": {up: []string{second}, after: table{second: grillMAC},
			want: []string{"connection refused", second, second}},
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
		"an old entry, back at home": {up: []string{home}, before: table{home: otherMAC, second: grillMAC},
			after: table{home: grillMAC},
			want:  []string{"another device", "connection refused", home, home}},
		"moved on meanwhile": {up: []string{third}, before: table{second: grillMAC}, after: table{third: grillMAC},
			want: []string{"connection refused", "connection refused", "connection refused", third}},
		"two addresses": {up: []string{second, third}, after: table{second: grillMAC, third: grillMAC},
			want:    []string{"connection refused", "is at " + second + " and " + third + ": it is not known which"},
			missing: true},
		"no entry": {up: []string{third}, after: table{third: otherMAC},
			want:    []string{"connection refused", "connection refused"},
			missing: true},
		"at the address of another printer": {up: []string{second}, after: table{second: grillMAC},
			others: []Known{{Name: "bar", Address: "tcp://" + second}},
			want: []string{"connection refused", "is at " + second + ", the address of the printer bar in the " +
				"configuration: correct the address of both"}, missing: true},
		"at the address of a printer that moved too": {up: []string{second}, after: table{second: grillMAC},
			others: []Known{{Name: "bar", Address: "tcp://" + second, MAC: otherMAC}},
			want:   []string{"connection refused", second}},
		"busy": {after: table{home: grillMAC}, want: []string{"connection refused", "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			up := newLAN(t, c.up...)
			now := c.before
			if now == nil {
				now = c.after
			}
			f := follow(t, func() table { return now }, io.Discard, c.others...)
			f.open = func(d tcpDialer) Dialer {
				return after{up.open(d), func() {
					if d != f.home {
						now = c.after
					}
				}}
			}
			for i, want := range c.want {
				conn, err := f.Dial(t.Context())
				if err != nil {
					assert.True(t, strings.Contains(err.Error(), want), i, err)
					continue
				}
				got := Remote(conn).String()
				assert.True(t, got == want, i, got, want)
				conn.Close()
			}
			assert.Equal(t, f.tried != (tcpDialer{}), c.missing)
		})
	}
}

func TestAPrinterThatMovesIsAnnouncedOnce(t *testing.T) {
	const home, away = "127.0.9.1", "127.0.9.2"
	var log bytes.Buffer
	at := home
	f := follow(t, func() map[string]string { return map[string]string{at: grillMAC} }, &log)
	up := newLAN(t, home, away)
	f.open = func(d tcpDialer) Dialer {
		if d.ip().String() != at {
			return deadEnd{errors.New("no route")}
		}
		return up.open(d)
	}
	for _, at = range []string{home, away, home} {
		for range 6 { // in turn at both
			if conn, err := f.Dial(t.Context()); err == nil {
				conn.Close()
			}
		}
		text, do := f.Moved()
		assert.True(t, (text != "") == (at == away) && (do != "") == (at == away), at, text, do)
	}

	first, second, _ := strings.Cut(log.String(), "\n")
	moved := "level=WARN msg=\"printer was found at tcp://" + away + ":9100, not at tcp://" + home + ":9100\""
	assert.Contains(t, first, moved)
	assert.Contains(t, second, "printer is at its configured address again")
	assert.Equal(t, strings.Count(second, "\n"), 1)
}

func TestTheNetworksAreAskedOnceAMinuteForAllPrinters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grill := follow(t, func() map[string]string { return nil }, io.Discard)
		bar := follow(t, nil, io.Discard)
		bar.search = grill.search
		asked := 0
		grill.search.ask = func(context.Context, *Follower) { asked++; time.Sleep(5 * time.Second) }
		for range 145 { // 290 s
			for _, f := range []*Follower{grill, bar} {
				_, err := f.Dial(t.Context())
				assert.True(t, err != nil, "connected")
			}
			time.Sleep(2 * time.Second)
		}
		synctest.Wait()
		assert.Equal(t, asked, 5)
		grill.answered(grill.home)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := grill.Dial(ctx) // a poll that a ticket interrupts says nothing about the printer
		assert.True(t, err != nil && grill.tried == tcpDialer{}, err, grill.tried)
		grill.search.Close()
		time.Sleep(time.Hour)
		_, err = grill.Dial(t.Context())
		assert.True(t, err != nil && asked == 5, "asked after the end", err, asked)
	})
}

const (
	grillMAC = "00:26:ab:12:34:56"
	otherMAC = "00:26:ab:00:00:01"
)

// follow is a Follower of a printer at 127.0.9.1 whose networks are not asked. Nothing answers anywhere.
func follow(t *testing.T, table func() map[string]string, log io.Writer, known ...Known) *Follower {
	t.Helper()
	s := NewSearch(func() []Known { return known }, slog.New(slog.NewTextHandler(log, nil)))
	s.ask = func(context.Context, *Follower) {}
	s.neighbours = func() map[netip.Addr]string {
		out := map[netip.Addr]string{}
		for a, mac := range table() {
			out[netip.MustParseAddr(a)] = mac
		}
		return out
	}
	f, err := Follow(Known{Name: "grill", Address: "tcp://127.0.9.1", MAC: grillMAC}, s)
	assert.NoError(t, err)
	f.open = lan{}.open
	t.Cleanup(s.Close)
	return f
}

// A lan has hosts of this machine that accept connections, on which nothing may be sent: at real addresses, but each
// at a port that was free. The others refuse.
type lan map[string]string // the address of a host

func newLAN(t *testing.T, hosts ...string) lan {
	t.Helper()
	out := lan{}
	for _, host := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		assert.NoError(t, err)
		var clients sync.WaitGroup
		clients.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				clients.Go(func() {
					defer c.Close()
					b, _ := io.ReadAll(c)
					assert.Equal(t, string(b), "", host)
				})
			}
		})
		t.Cleanup(func() { l.Close(); clients.Wait() })
		out[host] = l.Addr().String()
	}
	return out
}

func (l lan) open(d tcpDialer) Dialer {
	if at := l[d.ip().String()]; at != "" {
		return tcpDialer{at}
	}
	return deadEnd{os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// A deadEnd is where no connection can be made.
type deadEnd struct{ err error }

func (d deadEnd) Dial(context.Context) (Conn, error) { return nil, d.err }

// after calls change when a connection was tried.
type after struct {
	Dialer
	change func()
}

func (a after) Dial(ctx context.Context) (Conn, error) {
	c, err := a.Dialer.Dial(ctx)
	a.change()
	return c, err
}

func TestOnlyTheNetworksOfTheBoxAreAsked(t *testing.T) {
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
		n, err := choose(own, c.only)
		switch {
		case c.err != "":
			assert.True(t, err != nil && strings.Contains(err.Error(), c.err), c.only, err)
		case err != nil || prefixes(n.Asked) != c.asks || prefixes(n.Large) != c.large:
			t.Errorf("%v: %v %v %v", c.only, n.Asked, n.Large, err)
		}
	}
	n := len(Networks{Asked: own[:1]}.Addresses())
	assert.True(t, n == 254, n)
}
