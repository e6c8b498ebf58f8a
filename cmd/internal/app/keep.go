package app

import (
	"log/slog"
	"net"
	"strings"
	"syscall"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/config"
)

// A Keeper keeps listeners open while no daemon runs: the store of file descriptors that systemd has for each
// service. It lasts through a restart, a crash and an upgrade, and ends with systemctl stop. So a restart refuses no
// connection, and the configuration alone has the address: a socket unit would have a second one, and would start a
// stopped daemon again.
type Keeper struct {
	// Found are the listeners of an earlier run, by name.
	Found map[string][]net.Listener
	// Send tells systemd a state; with a listener, a copy of it goes along.
	Send func(state string, with net.Listener) error
}

// listen takes the webhook's listener of an earlier run, or opens it and has it kept. The name has the
// address, as the configuration writes it: after a change the old port is closed for good. Nil: there is no webhook.
func (k Keeper) listen(conf config.Receiver, log *slog.Logger) (l net.Listener, err error) {
	want := ""          // none
	if conf.Enabled() { // names are separated by colons
		want = "webhook-" + strings.ReplaceAll(conf.Listen, ":", "/")
	}

	for name, found := range k.Found {
		for _, f := range found {
			switch {
			case name != want:
				hangUp(f)
			case l == nil:
				l = f
			default: // perhaps a copy of l
				f.Close()
			}
		}

		if name != want {
			k.keep("FDSTOREREMOVE=1\nFDNAME="+name, nil, log)
		}
	}

	if l != nil || want == "" {
		return l, nil
	}
	if l, err = daemon.Listen(nil, "receiver.listen", conf.Listen); err != nil {
		return nil, err
	}

	// FDPOLL: systemd need not watch it, and would drop one that looks closed.
	k.keep("FDSTORE=1\nFDPOLL=0\nFDNAME="+want, l, log)
	return l, nil
}

// hangUp closes a listener with all its copies: systemd has one until it reads the message that follows, and
// the new address may have the same port.
func hangUp(l net.Listener) {
	if conn, ok := l.(syscall.Conn); ok {
		if raw, err := conn.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RD) })
		}
	}
	l.Close()
}

// keep changes the store of systemd. Without it the daemon works as well, but for a moment at a restart.
func (k Keeper) keep(state string, with net.Listener, log *slog.Logger) {
	if k.Send == nil {
		return
	}
	if err := k.Send(state, with); err != nil {
		log.Warn("systemd does not keep the webhook's port: requests are refused during a restart", "err", err)
	}
}
