package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// listenProblem returns why orders must not be served on hostport, or "". do is the advice.
func listenProblem(hostport string, anywhere bool, do string) string {
	addr, msg := listenAddr(hostport)
	if msg != "" || addr.IsLoopback() || anywhere {
		return msg
	}
	return fmt.Sprintf("%s is not a loopback address, and orders would be sent unencrypted; %s", hostport, do)
}

// listenAddr parses an address to listen on. Without a host it is every address.
func listenAddr(hostport string) (addr netip.Addr, msg string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return addr, fmt.Sprintf("%s is not an address and a port; for example 127.0.0.1:8443", quote(hostport))
	}

	// Port 0 is any free port, for tests and demonstrations.
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return addr, fmt.Sprintf("%s has no port between 1 and 65535", quote(hostport))
	}
	switch host {
	case "":
		return netip.IPv6Unspecified(), ""
	case "localhost":
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), ""
	}

	if addr, err = netip.ParseAddr(host); err != nil {
		return addr, fmt.Sprintf("%s is a name, not an address; write it as 127.0.0.1:%s or 192.168.1.5:%s",
			quote(host), port, port)
	}
	return addr.Unmap(), ""
}

// ports checks that no two servers have one address.
func (k *checker) ports() {
	servers := [][2]string{{"receiver.listen", k.c.Receiver.Listen}, {"metrics.listen", k.c.Metrics.Listen},
		{"display.listen", k.c.Display.Listen}}
	for i, one := range servers {
		for _, other := range servers[:i] {
			if samePort(one[1], other[1]) {
				k.add(one[0], "%s is already used by %s; use a different port", quote(one[1]), other[0])
			}
		}
	}
}

func (k *checker) metrics() {
	listen := k.c.Metrics.Listen
	addr, msg := listenAddr(listen)
	switch {
	case listen == "":
	case msg != "":
		k.add("metrics.listen", "%s", msg)
	case !addr.IsLoopback() && !addr.IsPrivate() && !addr.IsLinkLocalUnicast():
		k.warn("metrics.listen", "%s may be reachable from the internet, and needs no password", quote(listen))
	}
}

// samePort reports whether two addresses to listen on conflict.
func samePort(a, b string) bool {
	aAddr, aMsg := listenAddr(a)
	bAddr, bMsg := listenAddr(b)
	_, aPort, _ := net.SplitHostPort(a)
	_, bPort, _ := net.SplitHostPort(b)
	return aMsg == "" && bMsg == "" && aPort == bPort && aPort != "0" &&
		(aAddr == bAddr || aAddr.IsUnspecified() || bAddr.IsUnspecified())
}
