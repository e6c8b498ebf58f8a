package transport

import (
	"net/netip"
	"strings"
	"testing"
)

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
			WantTrue(t, err != nil && strings.Contains(err.Error(), c.err), c.only, err)
		case err != nil || prefixes(n.Asked) != c.asks || prefixes(n.Large) != c.large:
			t.Errorf("%v: %v %v %v", c.only, n.Asked, n.Large, err)
		}
	}
	n := len(Networks{Asked: own[:1]}.Addresses())
	WantTrue(t, n == 254, n)
}
