package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"

	"ticketrail/cmd/internal/station"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
)

const (
	printerPort = 9100
	// maxAsked is how many addresses are asked at the same time: more look like an attack to a switch.
	maxAsked = 64
	// smallest is the length of the prefix of the largest network that is asked unbidden: /22, 1022 addresses, which
	// takes a quarter of a minute. Nothing larger than /16 is asked at all.
	smallest, smallestBidden = 22, 16
	discoverConnect          = time.Second // a printer on the same network answers within milliseconds
	discoverAnswer           = 8 * time.Second
)

// A FoundPrinter is what answers like a printer, or on a printer's port.
type FoundPrinter struct {
	Address string `json:"address"`         // for printers[].address
	MAC     string `json:"mac,omitempty"`   // from the neighbour table; empty on USB and behind a router
	Model   string `json:"model,omitempty"` // as the printer states it, cleaned; clones state others' names
	State   string `json:"state,omitempty"` // as `printers list` shows it
	// Ability is the best result of a ticket: confirmed, processed or sent; empty if it cannot be asked now.
	Ability string `json:"ability,omitempty"`
	// Program is what answers on the port and is no printer; cleaned. Then only Address is set.
	Program string `json:"program,omitempty"`
}

// Discovery is where printers are looked for.
type Discovery struct {
	Networks []netip.Prefix // each a part of a network of this box
	Large    []netip.Prefix // networks of this box that are too large to be asked unbidden
	own      []netip.Addr   // this box itself
	port     uint16
}

// NewDiscovery looks up the private IPv4 networks of this box. With only, these parts of them are asked, such as
// 192.168.1.0/24. No address outside of them is ever asked: a scan of other people's networks is none of a kitchen's
// business.
func NewDiscovery(only []string) (Discovery, error) {
	d := Discovery{port: printerPort}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return d, fmt.Errorf("list the networks of this box: %w", err)
	}
	var own []netip.Prefix
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || !p.Addr().Is4() {
			continue
		}
		d.own = append(d.own, p.Addr())
		if p.Addr().IsPrivate() && p.Bits() < 31 {
			own = append(own, p.Masked())
		}
	}
	return d, d.choose(own, only)
}

// choose takes the networks to ask from those of the box.
func (d *Discovery) choose(own []netip.Prefix, only []string) error {
	for _, p := range own {
		if len(only) == 0 && p.Bits() >= smallest {
			d.Networks = append(d.Networks, p)
		} else if len(only) == 0 {
			d.Large = append(d.Large, p)
		}
	}
	for _, text := range only {
		p, err := netip.ParsePrefix(text)
		if err != nil || !p.Addr().Is4() {
			return fmt.Errorf("%q is no IPv4 network; write it as 192.168.1.0/24", text)
		}
		within := func(o netip.Prefix) bool { return o.Bits() <= p.Bits() && o.Contains(p.Addr()) }
		switch {
		case !slices.ContainsFunc(own, within):
			return fmt.Errorf("%s is no part of a network of this box, which has %s", p, prefixes(own))
		case p.Bits() < smallestBidden:
			return fmt.Errorf("%s has too many addresses; name a part of it, at most a /%d", p, smallestBidden)
		}
		d.Networks = append(d.Networks, p.Masked())
	}
	return nil
}

func prefixes(all []netip.Prefix) string {
	var words []string
	for _, p := range all {
		words = append(words, p.String())
	}
	return cmp.Or(strings.Join(words, ", "), "no private IPv4 network")
}

// Addresses are those that are asked: every host of the networks, and this box itself, on which a simulated printer
// may run. The network's own address and its broadcast address are no hosts.
func (d Discovery) Addresses() []netip.Addr {
	out := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	for _, p := range d.Networks {
		for a := p.Masked().Addr().Next(); p.Contains(a.Next()); a = a.Next() {
			if !slices.Contains(d.own, a) && !slices.Contains(out[:1], a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// Run asks every address on port 9100, what announces itself by multicast DNS, and USB. Nothing is printed: see
// [printer.Identify]. The result is in the order of the addresses, printers first.
func (d Discovery) Run(ctx context.Context) ([]FoundPrinter, error) {
	var mu sync.Mutex
	var found []FoundPrinter
	var asking errgroup.Group
	asking.SetLimit(maxAsked)
	announced := browse(ctx)
	addresses := d.Addresses()
	for a := range announced {
		if slices.ContainsFunc(d.Large, func(p netip.Prefix) bool { return p.Contains(a) }) {
			addresses = append(addresses, a)
		}
	}
	for _, a := range addresses {
		asking.Go(func() error {
			if one, ok := ask(ctx, netip.AddrPortFrom(a, d.port)); ok {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, one)
			}
			return nil
		})
	}
	for _, u := range transport.USBPrinters() {
		asking.Go(func() error {
			one := FoundPrinter{Address: u.Address, Model: u.Model}
			query(ctx, &one)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, one)
			return nil
		})
	}
	_ = asking.Wait() // no error is returned above
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	d.addNames(found, announced)
	slices.SortFunc(found, func(a, b FoundPrinter) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.sortKey(), b.sortKey()))
	})
	return found, nil
}

// addNames adds what others know of the printers: the neighbour table and multicast DNS.
func (d Discovery) addNames(found []FoundPrinter, announced map[netip.Addr]string) {
	macs := neighbours()
	for i := range found {
		if ap, err := netip.ParseAddrPort(strings.TrimPrefix(found[i].Address, "tcp://")); err == nil {
			found[i].MAC = macs[ap.Addr()]
			found[i].Model = cmp.Or(found[i].Model, announced[ap.Addr()])
		}
	}
}

// sortKey sorts addresses as numbers, and USB last.
func (f FoundPrinter) sortKey() string {
	ap, err := netip.ParseAddrPort(strings.TrimPrefix(f.Address, "tcp://"))
	if err != nil {
		return "~" + f.Address
	}
	return ap.Addr().StringExpanded()
}

// ask asks one address; ok is false if nothing accepts connections there.
func ask(ctx context.Context, at netip.AddrPort) (one FoundPrinter, ok bool) {
	one.Address = "tcp://" + at.String()
	d, err := transport.Open(one.Address)
	if err != nil {
		return one, false
	}
	ctx, cancel := context.WithTimeout(ctx, discoverConnect+discoverAnswer)
	defer cancel()
	id, err := printer.IdentifyModel(ctx, quick{d})
	if err != nil {
		return one, false
	}
	one.Program, one.Model = id.Program, id.Model
	switch {
	case id.Printer: // only then: further questions may print on a printer that does not know them
		query(ctx, &one)
	case id.Program == "":
		one.State, one.Ability = printer.Silent, "sent"
	}
	return one, true
}

// quick limits the time for a connection, not that for the answers.
type quick struct{ transport.Dialer }

func (d quick) Dial(ctx context.Context) (transport.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, discoverConnect)
	defer cancel()
	return d.Dialer.Dial(ctx)
}

// query asks a printer what it can answer.
func query(ctx context.Context, one *FoundPrinter) {
	d, err := transport.Open(one.Address)
	if err != nil {
		return
	}
	s := station.Query(ctx, d)
	one.State, one.Ability = strings.ReplaceAll(s.State, "_", " "), s.Capability
}

// neighbours is the kernel's table of the hosts that this box has talked to, by address. Without it there are no
// MAC addresses, which are only for people.
func neighbours() map[netip.Addr]string {
	out := map[netip.Addr]string{}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return out
	}
	entries, err := fs.GatherARPEntries()
	if err != nil {
		return out
	}
	for _, e := range entries {
		if a, ok := netip.AddrFromSlice(e.IPAddr); ok && e.IsComplete() {
			out[a.Unmap()] = e.HWAddr.String()
		}
	}
	return out
}

// Duration is about how long asking takes at most, for a person who waits.
func (d Discovery) Duration() time.Duration {
	return time.Duration(len(d.Addresses())/maxAsked+2) * discoverConnect
}

// YAML is the entry of a found printer for the section printers of the configuration.
func (f FoundPrinter) YAML(name string) string {
	s := fmt.Sprintf("  - name: %s\n    address: %s\n", strconv.Quote(name), strconv.Quote(f.Address))
	if p := profileOf(f.Model); p != "" {
		s += fmt.Sprintf("    profile: %s # it calls itself %s\n", p, f.Model)
	} else if f.Model != "" {
		s += fmt.Sprintf("    # It calls itself %s.\n", f.Model)
	}
	return s
}

// profileOf is the profile of a model that a printer states, or "": for "EPSON TM-T88V" that of epson-tm-t88. A
// clone that states it has at least its columns, and its page of letters.
func profileOf(model string) string {
	best, length := "", 0
	for _, name := range profile.Names() {
		_, series, _ := strings.Cut(name, "-")
		// The generic ones, such as xprinter-80mm, name no model.
		isModel := series[0] > '9' && strings.ContainsAny(series, "0123456789")
		if isModel && len(series) > length && strings.Contains(strings.ToLower(model), series) {
			best, length = name, len(series)
		}
	}
	return best
}
