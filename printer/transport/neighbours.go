package transport

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// Where printers may be looked for, and which MAC address is where. All of it is read from files: the unit of the
// service allows no netlink.

const (
	// MaxAsked is how many addresses may be asked at the same time: more look like an attack to a switch.
	MaxAsked = 64
	// AskTimeout is for the connection to an address: a printer on the same network answers within milliseconds.
	AskTimeout = time.Second
	// smallest is the length of the prefix of the largest network that is asked unbidden: /22, 1022 addresses, which
	// takes a quarter of a minute. Nothing larger than /16 is asked at all.
	smallest, smallestBidden = 22, 16
)

// Networks are those in which printers are looked for.
type Networks struct {
	Asked []netip.Prefix // each a part of a network of this box
	Large []netip.Prefix // networks of this box that are too large to be asked unbidden
}

// OwnNetworks looks up the private IPv4 networks that this box reaches without a router. With only, these parts of
// them are asked, such as 192.168.1.0/24. No address outside of them is ever asked: a scan of other people's networks
// is none of a kitchen's business.
func OwnNetworks(only []string) (Networks, error) {
	var routes []procfs.NetRouteLine
	proc, err := procfs.NewDefaultFS()
	if err == nil {
		routes, err = proc.NetRoute()
	}
	if err != nil {
		return Networks{}, fmt.Errorf("list the networks of this box: %w", err)
	}

	var own []netip.Prefix
	for _, r := range routes {
		// The kernel prints an address as the number that its bytes are in memory.
		to := netip.AddrFrom4([4]byte(binary.NativeEndian.AppendUint32(nil, r.Destination)))
		direct := netip.PrefixFrom(to, bits.OnesCount32(r.Mask))
		if r.Gateway == 0 && to.IsPrivate() && direct.Bits() < 31 && isEthernet(r.Iface) &&
			!slices.Contains(own, direct) {
			own = append(own, direct)
		}
	}

	return choose(own, only)
}

// isEthernet is true of Wi-Fi too, but not of a tunnel, through which one reaches other people's networks.
func isEthernet(device string) bool {
	kind, _ := os.ReadFile("/sys/class/net/" + device + "/type")
	return strings.TrimSpace(string(kind)) == "1" // ARPHRD_ETHER, include/uapi/linux/if_arp.h
}

// choose takes the networks to ask from the box's own.
func choose(own []netip.Prefix, only []string) (n Networks, err error) {
	for _, p := range own {
		if len(only) == 0 && p.Bits() >= smallest {
			n.Asked = append(n.Asked, p)
		} else if len(only) == 0 {
			n.Large = append(n.Large, p)
		}
	}

	for _, text := range only {
		network, err := netip.ParsePrefix(text)
		if err != nil || !network.Addr().Is4() {
			return n, fmt.Errorf("%q is no IPv4 network; write it as 192.168.1.0/24", text)
		}

		within := func(o netip.Prefix) bool { return o.Bits() <= network.Bits() && o.Contains(network.Addr()) }
		switch {
		case !slices.ContainsFunc(own, within):
			return n, fmt.Errorf("%s is no part of a network of this box, which has %s", network, prefixes(own))
		case network.Bits() < smallestBidden:
			return n, fmt.Errorf("%s has too many addresses; name a part of it, at most a /%d", network, smallestBidden)
		}
		n.Asked = append(n.Asked, network.Masked())
	}
	return n, nil
}

func prefixes(all []netip.Prefix) string {
	var words []string
	for _, p := range all {
		words = append(words, p.String())
	}
	return cmp.Or(strings.Join(words, ", "), "no private IPv4 network")
}

// Addresses is every host of the networks. The network's own address and its broadcast address are no hosts.
func (n Networks) Addresses() (out []netip.Addr) {
	for _, p := range n.Asked {
		for address := p.Masked().Addr().Next(); p.Contains(address.Next()); address = address.Next() {
			out = append(out, address)
		}
	}
	return out
}

// Neighbours is the kernel's table of the hosts that this box has talked to without a router in between: MAC
// addresses, as [net.HardwareAddr] writes them, by IPv4 address. An entry is old if nothing was sent there lately.
// Without the table it is empty.
func Neighbours() map[netip.Addr]string {
	out := map[netip.Addr]string{}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return out
	}

	entries, _ := proc.GatherARPEntries() // none after an error
	for _, e := range entries {
		if address, ok := netip.AddrFromSlice(e.IPAddr); ok && e.IsComplete() {
			out[address.Unmap()] = e.HWAddr.String()
		}
	}
	return out
}

// Remote is the IP address at the other end of c; it is not valid if c is no network connection.
func Remote(c Conn) netip.Addr {
	network, ok := c.(*tcpConn)
	if !ok {
		return netip.Addr{}
	}
	return network.c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
}
