package station

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"ticketrail/config"
	"ticketrail/printer/transport"
)

// DHCP may give a network printer another address, in the worst case that of another device. With its MAC address in
// the configuration nothing is sent to another device, and the printer is found again.

// askEvery is how often the networks are asked at most, for all printers together.
const askEvery = time.Minute

// A finder fills the kernel's neighbour table: a printer that moved is not in it until something was sent there.
type finder struct {
	log        *slog.Logger
	printers   func() []config.Printer         // of the active configuration
	neighbours func() map[netip.Addr]string    // as [transport.Neighbours]
	ask        func(context.Context, *movable) // connects to every address of the networks
	wanted     chan *movable                   // the next one to look for

	mu    sync.Mutex // guards asked
	asked time.Time  // when ask ended
}

func newFinder(log *slog.Logger, printers func() []config.Printer) *finder {
	f := &finder{log: log, printers: printers, neighbours: transport.Neighbours, wanted: make(chan *movable, 1)}
	f.ask = f.askNetworks
	return f
}

// run asks the networks while a printer is looked for, until ctx ends.
func (f *finder) run(ctx context.Context) {
	for {
		select {
		case m := <-f.wanted:
			if !m.missing() { // it answered while others were looked for
				continue
			}
			f.ask(ctx, m)
		case <-ctx.Done():
			return
		}
		f.mu.Lock()
		f.asked = time.Now()
		f.mu.Unlock()
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
			return
		}
	}
}

func (f *finder) askedSince(t time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked.After(t)
}

// askNetworks connects to m's port at every address and sends nothing: the kernel then knows which MAC address is
// there. The configured printers are left in peace: each is asked for its status anyway.
func (f *finder) askNetworks(ctx context.Context, m *movable) {
	networks, err := transport.OwnNetworks(nil)
	if err != nil {
		f.log.Warn("a printer cannot be looked for by its MAC address", "printer", m.conf.Name, "err", err)
		return
	}
	var known []netip.Addr
	for _, c := range f.printers() {
		known = append(known, addressesOf(ctx, c)...)
	}
	addresses := networks.Addresses()
	for a, mac := range f.neighbours() { // also in a large network; the entry may be old
		if mac == m.mac() && !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
	}
	var asking errgroup.Group
	asking.SetLimit(transport.MaxAsked)
	for _, a := range addresses {
		if ctx.Err() != nil || slices.Contains(known, a) {
			continue
		}
		asking.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, transport.AskTimeout)
			defer cancel()
			d, err := transport.Open(m.at(a.String()))
			if err != nil {
				return err
			}
			if conn, err := d.Dial(ctx); err == nil {
				_ = conn.Close()
			}
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		f.log.Warn("a printer cannot be looked for by its MAC address", "printer", m.conf.Name, "err", err)
	}
}

// ownerOf is the other configured printer at an address, "" if there is none. One with a MAC address of its own does
// not count: nothing that is meant for it is sent here.
func (f *finder) ownerOf(ctx context.Context, a netip.Addr) string {
	for _, c := range f.printers() {
		if c.MAC == "" && slices.Contains(addressesOf(ctx, c), a) {
			return c.Name
		}
	}
	return ""
}

// addressesOf are the IPv4 addresses of a network printer, as far as its name is known.
func addressesOf(ctx context.Context, c config.Printer) []netip.Addr {
	if !isNetwork(c) {
		return nil
	}
	host, _ := hostOf(c)
	all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	for i := range all {
		all[i] = all[i].Unmap()
	}
	return all
}

// hostOf is the host and the port of a network printer.
func hostOf(c config.Printer) (host, port string) {
	host, port, _ = net.SplitHostPort(strings.TrimPrefix(transport.CanonicalAddress(c.Address), "tcp://"))
	return host, port
}

// A movable is the [transport.Dialer] of a printer with a MAC address. It gives out only connections to that MAC
// address. An address that the neighbour table does not know, behind a router, cannot be checked.
type movable struct {
	conf   config.Printer
	home   string // conf.Address in its canonical form
	open   func(config.Printer) (transport.Dialer, error)
	finder *finder // its run may not be running: then nothing is looked for

	mu       sync.Mutex // guards what follows
	place    string     // the address where it answered last; at first home
	failedAt string     // the address that was tried last, if it did not answer there
	since    time.Time  // since when it answers nowhere; zero: it answers
	noEntry  bool       // at its last answer the neighbour table had no entry
}

// macProblems are the MAC addresses that cannot be those of the printers.
func macProblems(conf *config.Config) (out []config.Problem) {
	firsts := map[config.MAC]int{}
	for i, c := range conf.Printers {
		msg := ""
		first, ok := firsts[c.MAC]
		host, _ := hostOf(c)
		switch its, _ := hostOf(conf.Printers[first]); {
		case c.MAC == "":
		case !isNetwork(c):
			msg = "is only for a printer on the network (tcp://); remove it"
		case !ok:
			firsts[c.MAC] = i
		case host != its: // a print server has several ports
			msg = fmt.Sprintf("%s is also that of printers[%d], which has another address; "+
				"every printer has a MAC address of its own", c.MAC, first)
		}
		if msg != "" {
			out = append(out, config.Problem{Path: fmt.Sprintf("printers[%d].mac", i), Msg: msg})
		}
	}
	return out
}

// openPrinter returns the Dialer for c, which is also m if c has a MAC address.
func openPrinter(
	c config.Printer, f *finder, open func(config.Printer) (transport.Dialer, error),
) (d transport.Dialer, m *movable, err error) {
	if d, err = open(c); err != nil || c.MAC == "" {
		return d, nil, err
	}
	home := transport.CanonicalAddress(c.Address)
	m = &movable{conf: c, home: home, place: home, finder: f, open: open}
	return m, m, nil
}

// openAddress is how a printer is opened outside of tests.
func openAddress(c config.Printer) (transport.Dialer, error) { return transport.Open(c.Address) }

// openOnce is for a printer that is asked once: it is not looked for.
func openOnce(c config.Printer) (transport.Dialer, *movable, error) {
	return openPrinter(c, newFinder(slog.New(slog.DiscardHandler), nil), openAddress)
}

func (m *movable) mac() string { return string(m.conf.MAC) }

// at is the printer's address on another host.
func (m *movable) at(host string) string {
	_, port := hostOf(m.conf)
	return "tcp://" + net.JoinHostPort(host, port)
}

// Dial connects where the printer answered last. While it answers nowhere, its own address and another one, if one is
// known, are tried in turn: both at once may take longer than one dial may.
func (m *movable) Dial(ctx context.Context) (transport.Conn, error) {
	to, why := m.next(ctx)
	conn, err := m.dial(ctx, to)
	switch {
	case err == nil:
		m.answered(to)
		return conn, nil
	case errors.Is(ctx.Err(), context.Canceled): // a ticket interrupts a poll: nothing is known
		return nil, err
	}
	host, _ := hostOf(config.Printer{Address: to})
	ip, _ := netip.ParseAddr(host)
	// What refuses with the right MAC address is the printer: it serves another client.
	if !errors.Is(err, syscall.ECONNREFUSED) || m.finder.neighbours()[ip] != m.mac() {
		m.failed(to)
	}
	if others := m.others(); why == "" && to == m.home && len(others) == 1 {
		why = fmt.Sprintf("its MAC address %s was last seen at %s", m.mac(), others[0])
	}
	if why != "" {
		err = fmt.Errorf("%w; %s", err, why)
	}
	return nil, err
}

// dial connects, and only then looks up which MAC address answered: before, the entry may be old.
func (m *movable) dial(ctx context.Context, to string) (transport.Conn, error) {
	c := m.conf
	c.Address = to
	d, err := m.open(c)
	if err != nil {
		return nil, err
	}
	conn, err := d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	mac := m.finder.neighbours()[transport.Remote(conn)]
	m.mu.Lock()
	m.noEntry = mac == ""
	m.mu.Unlock()
	if mac == m.mac() || mac == "" && to == m.home {
		return conn, nil
	}
	_ = conn.Close() // nothing was sent
	return nil, fmt.Errorf("%s has the MAC address %s and not %s: another device has this address; is the printer on? "+
		"if it was replaced, correct its mac", to, cmp.Or(mac, "(unknown)"), m.mac())
}

// next is the address to connect to, and why another one is not taken.
func (m *movable) next(ctx context.Context) (to, why string) {
	m.mu.Lock()
	to, failedAt, since := m.place, m.failedAt, m.since
	m.mu.Unlock()
	switch {
	case since.IsZero():
	case failedAt != m.home || !m.finder.askedSince(since.Add(-askEvery)):
		return m.home, ""
	default:
		switch others := m.others(); len(others) {
		case 0: // it may be off, and come back where it was
		case 1:
			to = m.at(others[0])
		default:
			return m.home, fmt.Sprintf("its MAC address %s is at %s: it is not known which of them is the printer",
				m.mac(), strings.Join(others, " and "))
		}
	}
	if to == m.home {
		return to, ""
	}
	host, _ := hostOf(config.Printer{Address: to})
	if owner := m.finder.ownerOf(ctx, netip.MustParseAddr(host)); owner != "" {
		return m.home, fmt.Sprintf("its MAC address %s is at %s, the address of the printer %s in the configuration: "+
			"correct the address of both", m.mac(), host, owner)
	}
	return to, ""
}

// others are the addresses that the neighbour table has for the MAC address, without the configured one. They may be
// old.
func (m *movable) others() (out []string) {
	own, _ := hostOf(m.conf)
	for a, mac := range m.finder.neighbours() {
		if mac == m.mac() && a.String() != own {
			out = append(out, a.String())
		}
	}
	slices.Sort(out)
	return out
}

func (m *movable) answered(at string) {
	m.mu.Lock()
	changed := m.place != at
	m.place, m.failedAt, m.since = at, "", time.Time{}
	m.mu.Unlock()
	switch text, do := m.moved(); {
	case !changed:
	case at == m.home:
		m.finder.log.Info("printer is at its configured address again", "printer", m.conf.Name)
	default:
		m.finder.log.Warn("printer "+text, "printer", m.conf.Name, "mac", m.mac(), "advice", do)
	}
}

func (m *movable) failed(at string) {
	m.mu.Lock()
	m.failedAt = at
	if m.since.IsZero() {
		m.since = time.Now()
	}
	m.mu.Unlock()
	select {
	case m.finder.wanted <- m:
	default: // another one is looked for, by which this one is found too
	}
}

// missing is true while the printer answers nowhere.
func (m *movable) missing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.since.IsZero()
}

// unchecked is true if it answered, and the neighbour table could not say which MAC address it has.
func (m *movable) unchecked() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.noEntry
}

// moved says where the printer was found and what to do; empty at its configured address.
func (m *movable) moved() (text, do string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.place == m.home {
		return "", ""
	}
	return fmt.Sprintf("was found at %s, not at %s", m.place, m.home), "put the new address into the configuration, " +
		"or give the printer a fixed address (reservation) in the router"
}
