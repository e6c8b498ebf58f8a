package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ticketrail/cmd/internal/station"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
)

const printerPort = 9100

// A FoundPrinter is a device that answers like a printer, or on a printer's port.
type FoundPrinter struct {
	Address string `json:"address"`           // for printers[].address
	MAC     string `json:"mac,omitempty"`     // from the neighbour table; empty if it has none of its own
	Model   string `json:"model,omitempty"`   // as the printer states it, cleaned; clones state others' names
	Profile string `json:"profile,omitempty"` // for printers[].profile, as Model says; empty: unknown
	State   string `json:"state,omitempty"`   // as `printers list` shows it
	// BestProof is the best result of a ticket: confirmed, processed or sent; empty if it cannot be asked now.
	BestProof string `json:"ability,omitempty"`
	// Program is the program that answers on the port and is no printer; cleaned. Then only Address is set.
	Program string `json:"program,omitempty"`
}

// Discovery is where printers are looked for.
type Discovery struct {
	transport.Networks
	port uint16
}

// NewDiscovery looks in the networks of this box, or in parts of them: see [transport.OwnNetworks].
func NewDiscovery(only []string) (Discovery, error) {
	networks, err := transport.OwnNetworks(only)
	return Discovery{networks, printerPort}, err
}

// Run asks every address on port 9100, and USB. Nothing is printed: see [printer.Identify]. The result is in the order
// of the addresses, printers first.
func (d Discovery) Run(ctx context.Context) ([]FoundPrinter, error) {
	addresses, attached := d.Addresses(), transport.USBPrinters()
	all := make([]FoundPrinter, len(addresses)+len(attached)) // without an address: no answer
	var asking errgroup.Group
	asking.SetLimit(transport.MaxAsked)
	for i, a := range addresses {
		asking.Go(func() error {
			all[i] = ask(ctx, "tcp://"+netip.AddrPortFrom(a, d.port).String())
			return nil
		})
	}

	for i, u := range attached {
		asking.Go(func() error {
			one := FoundPrinter{Address: u.Address, Model: u.Model, Profile: profileOf(u.Model)}
			if dialer, err := transport.Open(u.Address); err == nil {
				one.setStatus(station.Query(ctx, dialer, profile.Auto))
			}
			all[len(addresses)+i] = one
			return nil
		})
	}

	_ = asking.Wait() // no error is returned above
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}

	found := slices.DeleteFunc(all, func(f FoundPrinter) bool { return f.Address == "" })
	addMACs(found, transport.Neighbours())
	slices.SortStableFunc(found, func(a, b FoundPrinter) int { return cmp.Compare(a.Program, b.Program) })
	return found, nil
}

// addMACs adds the addresses of the neighbour table to the printers.
func addMACs(found []FoundPrinter, macs map[netip.Addr]string) {
	count := map[string]int{}
	for i := range found {
		if ap, err := netip.ParseAddrPort(strings.TrimPrefix(found[i].Address, "tcp://")); err == nil {
			found[i].MAC = macs[ap.Addr()]
			count[found[i].MAC]++
		}
	}

	for i := range found {
		if count[found[i].MAC] > 1 { // a Wi-Fi repeater shows its own for all printers behind it
			found[i].MAC = ""
		}
	}
}

// AskPrinter asks the printer that an operator has named for its model, as discovery does. Only printers on the network
// are asked; of others, and of one that does not answer, the address is all that is known.
func AskPrinter(ctx context.Context, address string) FoundPrinter {
	one := FoundPrinter{}
	if strings.HasPrefix(transport.CanonicalAddress(address), "tcp://") {
		one = ask(ctx, address)
	}
	return cmp.Or(one, FoundPrinter{Address: address})
}

// ask asks one address; the answer has none if nothing accepts connections there.
func ask(ctx context.Context, address string) (one FoundPrinter) {
	dialer, err := transport.Open(address)
	if err != nil {
		return one
	}

	id, status := station.Ask(ctx, dialer, profile.Auto, transport.AskTimeout)
	if status.State == printer.Unreachable {
		return one
	}
	one = FoundPrinter{Address: address, Model: id.Model, Profile: profileOf(id.Model), Program: id.Program}
	if id.Program == "" {
		one.setStatus(status)
	}
	return one
}

func (f *FoundPrinter) setStatus(s printer.Status) {
	f.State, f.BestProof = strings.ReplaceAll(s.State, "_", " "), s.BestProof
}

// Duration is about how long asking takes at most, for a person who waits.
func (d Discovery) Duration() time.Duration {
	return time.Duration(len(d.Addresses())/transport.MaxAsked+2) * transport.AskTimeout
}

// YAML is the entry of a found printer for the section printers of the configuration.
func (f FoundPrinter) YAML(name string) string {
	text := fmt.Sprintf("  - name: %s\n    address: %s\n", strconv.Quote(name), strconv.Quote(f.Address))
	if f.MAC != "" {
		text += fmt.Sprintf("    mac: %q # finds it again if its address changes\n", f.MAC)
	}

	if f.Profile != "" {
		text += fmt.Sprintf("    profile: %s # it calls itself %s\n", f.Profile, f.Model)
	} else if f.Model != "" {
		text += fmt.Sprintf("    # It calls itself %s.\n", f.Model)
	}
	return text
}

// profileOf is the profile of a model that a printer states, or "": epson-tm-t88 for "EPSON TM-T88V". A clone that
// states it has at least its columns, and its page of letters.
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
