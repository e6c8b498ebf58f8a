package admin

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer returns the uid of the process at the other end of the socket, from the kernel (SO_PEERCRED,
// unix(7)), so that a client cannot claim another one. It is for the log only and grants nothing:
// every user who can open the socket may do everything.
func peer(c net.Conn) (uid uint32, ok bool) {
	if outer, ok := c.(interface{ NetConn() net.Conn }); ok { // of a server that counts its connections
		c = outer.NetConn()
	}
	socket, isUnix := c.(*net.UnixConn)
	if !isUnix {
		return 0, false
	}

	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, false
	}
	var cred *unix.Ucred
	var credErr error

	// Control keeps the descriptor open during the call.
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || credErr != nil {
		return 0, false
	}
	return cred.Uid, true
}
