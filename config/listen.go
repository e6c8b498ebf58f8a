package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// CheckListener says whether the webhook may be served on a socket that somebody else
// opened, by the same rule as receiver.listen: plain HTTP on loopback only, unless TLS
// or insecure. A unix socket is as good as loopback.
func (r *Receiver) CheckListener(addr net.Addr) error {
	if addr.Network() == "unix" {
		return nil
	}
	if msg := r.listenProblem(addr.String()); msg != "" {
		return errors.New("receiver: " + msg)
	}
	return nil
}

func (r *Receiver) listenProblem(hostport string) string {
	return listenProblem(hostport, r.Insecure || r.TLS.Enabled(), "set receiver.tls, put a proxy or tunnel before 127.0.0.1, or set receiver.insecure: true")
}

// listenProblem says why orders must not be served on hostport; empty when they may.
func listenProblem(hostport string, anywhere bool, do string) string {
	addr, msg := listenAddr(hostport)
	if msg != "" || addr.IsLoopback() || anywhere {
		return msg
	}
	return fmt.Sprintf("%s is not loopback, and orders would cross the network in plain text; %s", hostport, do)
}

// listenAddr reads an address to listen on. A missing host is every address.
func listenAddr(hostport string) (addr netip.Addr, msg string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return addr, fmt.Sprintf("%s is not an address and a port; write it as 127.0.0.1:8443", quote(hostport))
	}
	// Port 0 is any free one: tests and demonstrations want it.
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
		return addr, fmt.Sprintf("%s is a name, not an address; write it as 127.0.0.1:%s or 192.168.1.5:%s", quote(host), port, port)
	}
	return addr.Unmap(), ""
}

func (k *checker) metrics() {
	m := k.c.Metrics.Listen
	addr, msg := listenAddr(m)
	switch {
	case m == "":
	case msg != "":
		k.add("metrics.listen", "%s", msg)
	case samePort(m, k.c.Receiver.Listen):
		k.add("metrics.listen", "%s is taken by receiver.listen; each has its own port", quote(m))
	case !addr.IsLoopback() && !addr.IsPrivate() && !addr.IsLinkLocalUnicast():
		k.warn("metrics.listen", "%s may be reached from outside; nothing there asks for a password", quote(m))
	}
}

// samePort says whether two addresses to listen on are in each other's way.
func samePort(a, b string) bool {
	aAddr, aMsg := listenAddr(a)
	bAddr, bMsg := listenAddr(b)
	_, aPort, _ := net.SplitHostPort(a)
	_, bPort, _ := net.SplitHostPort(b)
	return aMsg == "" && bMsg == "" && aPort == bPort && aPort != "0" &&
		(aAddr == bAddr || aAddr.IsUnspecified() || bAddr.IsUnspecified())
}
