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
	if msg := r.refuses(addr.String()); msg != "" {
		return errors.New("receiver: " + msg)
	}
	return nil
}

// refuses says why the webhook must not listen on hostport; empty when it may.
func (r *Receiver) refuses(hostport string) string {
	addr, msg := listenAddr(hostport)
	if msg != "" || addr.IsLoopback() || r.Insecure || r.TLS.Enabled() {
		return msg
	}
	return fmt.Sprintf("%s is not loopback, and orders would cross the network in plain text; set receiver.tls, put a proxy or tunnel before 127.0.0.1, or set receiver.insecure: true", hostport)
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
	if m == "" {
		return
	}
	addr, msg := listenAddr(m)
	if msg != "" {
		k.add("metrics.listen", "%s", msg)
		return
	}
	_, port, _ := net.SplitHostPort(m)
	rAddr, msg := listenAddr(k.c.Receiver.Listen)
	_, rPort, _ := net.SplitHostPort(k.c.Receiver.Listen)
	if msg == "" && port == rPort && port != "0" && (addr == rAddr || addr.IsUnspecified() || rAddr.IsUnspecified()) {
		k.add("metrics.listen", "%s is taken by receiver.listen; each has its own port", quote(m))
	}
	if !addr.IsLoopback() && !addr.IsPrivate() && !addr.IsLinkLocalUnicast() {
		k.warn("metrics.listen", "%s may be reached from outside; nothing there asks for a password", quote(m))
	}
}
