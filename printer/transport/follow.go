package transport

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
)

// DHCP may give a network printer another address, in the worst case another device's. With its MAC address in
// the configuration nothing is sent to another device, and the printer is found again: when it does not answer, the
// box's own networks are asked, and the kernel's neighbour table then says where the MAC address is.

// searchEvery is how often the networks are asked at most, for all printers together.
const searchEvery = time.Minute

// A Known is a configured printer.
type Known struct{ Name, Address, MAC string }

// A Search fills the kernel's neighbour table: a printer that moved is not in it until something was sent there.
type Search struct {
	known      func() []Known
	log        *slog.Logger
	neighbours func() map[netip.Addr]string // [Neighbours]; tests replace it
	ask        func(context.Context, *Follower)

	ctx     context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex // guards next
	next    time.Time  // not before then
}

// NewSearch returns a Search that leaves the known printers in peace: each is asked for its status anyway.
func NewSearch(known func() []Known, log *slog.Logger) *Search {
	search := &Search{known: known, log: log, neighbours: Neighbours}
	search.ask = search.askNetworks
	search.ctx, search.end = context.WithCancel(context.Background())
	return search
}

// Close ends a search and waits for it.
func (s *Search) Close() {
	s.end()
	s.running.Wait()
}

// begin asks the networks in the background, for that takes longer than a connection may.
func (s *Search) begin(f *Follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || time.Now().Before(s.next) {
		return
	}

	s.next = time.Now().Add(time.Hour) // until it has ended
	s.running.Go(func() {
		s.ask(s.ctx, f)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.next = time.Now().Add(searchEvery)
	})
}

// askNetworks connects to f's port at every address and sends nothing: the kernel then knows which MAC address is
// there.
func (s *Search) askNetworks(ctx context.Context, f *Follower) {
	networks, err := OwnNetworks(nil)
	if err != nil {
		s.log.Warn("a printer cannot be looked for by its MAC address", "printer", f.name, "err", err)
		return
	}

	addresses := networks.Addresses()
	for a, mac := range s.neighbours() { // also in a large network; the entry may be old
		if mac == f.mac && !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
	}

	var spared []netip.Addr
	for _, k := range s.known() {
		spared = append(spared, k.Addresses(ctx)...)
	}

	var asking errgroup.Group
	asking.SetLimit(MaxAsked)
	for _, a := range addresses {
		if ctx.Err() != nil || slices.Contains(spared, a) {
			continue
		}
		asking.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, AskTimeout)
			defer cancel()
			if conn, err := f.open(f.at(a)).Dial(ctx); err == nil {
				_ = conn.Close()
			}
			return nil
		})
	}

	_ = asking.Wait()
}

// Addresses are the IPv4 addresses of a network printer, as far as its name is known.
func (k Known) Addresses(ctx context.Context) []netip.Addr {
	dialer, err := Open(k.Address)
	if network, ok := dialer.(tcpDialer); ok && err == nil {
		host, _, _ := net.SplitHostPort(network.address)
		all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
		for i := range all {
			all[i] = all[i].Unmap()
		}

		return all
	}
	return nil
}

// A Follower is the [Dialer] of a network printer with a MAC address. It gives out only connections to that MAC
// address. At the configured address, one that the neighbour table does not know, behind a router, cannot be checked.
type Follower struct {
	name, mac string
	home      tcpDialer // as configured
	search    *Search
	open      func(tcpDialer) Dialer // tests replace it

	mu    sync.Mutex // guards the fields below
	place tcpDialer  // where it answered last; at first home
	tried tcpDialer  // where it did not answer at the last dial; zero: it answered
}

// Follow returns the Follower of a printer whose address is tcp://.
func Follow(k Known, s *Search) (*Follower, error) {
	dialer, err := Open(k.Address)
	if err != nil {
		return nil, err
	}

	home, ok := dialer.(tcpDialer)
	if !ok {
		return nil, fmt.Errorf("%s is not on the network, where a MAC address can be followed", k.Address)
	}

	return &Follower{name: k.Name, mac: k.MAC, home: home, place: home, search: s,
		open: func(d tcpDialer) Dialer { return d }}, nil
}

// Dial connects where the printer answered last. While it answers nowhere, its own address and the one where its MAC
// address was seen are tried in turn: both at once may take longer than one dial may.
func (f *Follower) Dial(ctx context.Context) (Conn, error) {
	to, why := f.next(ctx)
	conn, err := f.dial(ctx, to)

	switch {
	case err == nil:
		f.answered(to)
		return conn, nil
	case errors.Is(ctx.Err(), context.Canceled): // a ticket interrupts a poll: nothing is known
		return nil, err
	}

	// A device that refuses with the right MAC address is the printer: it serves another client.
	if !errors.Is(err, syscall.ECONNREFUSED) || f.search.neighbours()[to.ip()] != f.mac {
		f.mu.Lock()
		f.tried = to
		f.mu.Unlock()
		f.search.begin(f)
	}

	if why != "" {
		err = fmt.Errorf("%w; %s", err, why)
	}
	return nil, err
}

// dial connects, and only then looks up which MAC address answered: before, the entry may be old.
func (f *Follower) dial(ctx context.Context, to tcpDialer) (Conn, error) {
	conn, err := f.open(to).Dial(ctx)
	if err != nil {
		return nil, err
	}

	mac := f.search.neighbours()[Remote(conn)]
	if mac == f.mac || mac == "" && to == f.home {
		return conn, nil
	}

	_ = conn.Close() // nothing was sent
	return nil, fmt.Errorf("tcp://%s has the MAC address %s and not %s: another device has this address; is the "+
		"printer on? if it was replaced, correct its mac", to.address, cmp.Or(mac, "(unknown)"), f.mac)
}

// next is the address to connect to, and why another one is not taken.
func (f *Follower) next(ctx context.Context) (to tcpDialer, why string) {
	f.mu.Lock()
	to, tried := f.place, f.tried
	f.mu.Unlock()

	if tried == (tcpDialer{}) {
		return to, ""
	}
	var others []string
	var other netip.Addr
	for a, mac := range f.search.neighbours() {
		if mac == f.mac && a != f.home.ip() {
			other, others = a, append(others, a.String())
		}
	}

	slices.Sort(others)
	switch {
	case len(others) > 1:
		return f.home, fmt.Sprintf("its MAC address %s is at %s: it is not known which of them is the printer",
			f.mac, strings.Join(others, " and "))
	case tried != f.home || len(others) == 0: // it may be off, and come back where it was
		return f.home, ""
	}

	owner := f.search.owner(ctx, other)
	if owner == "" {
		return f.at(other), ""
	}
	return f.home, fmt.Sprintf("its MAC address %s is at %s, the address of the printer %s in the configuration: "+
		"correct the address of both", f.mac, other, owner)
}

// owner is the known printer at an address, "" if there is none. One with a MAC address of its own does not count:
// nothing that is meant for it is sent here.
func (s *Search) owner(ctx context.Context, a netip.Addr) string {
	for _, k := range s.known() {
		if k.MAC == "" && slices.Contains(k.Addresses(ctx), a) {
			return k.Name
		}
	}
	return ""
}

func (f *Follower) answered(at tcpDialer) {
	f.mu.Lock()
	changed := f.place != at
	f.place, f.tried = at, tcpDialer{}
	f.mu.Unlock()

	switch text, do := f.Moved(); {
	case !changed:
	case at == f.home:
		f.search.log.Info("printer is at its configured address again", "printer", f.name)
	default:
		f.search.log.Warn("printer "+text, "printer", f.name, "mac", f.mac, "advice", do)
	}
}

// Moved says where the printer was found and the remedy; empty at its configured address.
func (f *Follower) Moved() (text, do string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.place == f.home {
		return "", ""
	}
	return fmt.Sprintf("was found at tcp://%s, not at tcp://%s", f.place.address, f.home.address),
		"put the new address into the configuration, or give the printer a fixed address (reservation) in the router"
}

// at is the printer's port at another address.
func (f *Follower) at(a netip.Addr) tcpDialer {
	_, port, _ := net.SplitHostPort(f.home.address)
	return tcpDialer{net.JoinHostPort(a.String(), port)}
}

// ip is not valid if the address is a name.
func (d tcpDialer) ip() netip.Addr {
	host, _, _ := net.SplitHostPort(d.address)
	parsed, _ := netip.ParseAddr(host)
	return parsed
}
