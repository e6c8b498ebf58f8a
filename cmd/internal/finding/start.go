package finding

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"syscall"

	"ticketrail/queue"
)

// An Error is a finding that ends the start of a daemon. Its text is the last line of the journal, with the identity,
// the cause and the advice. While the daemon is down, `ticketrail status` and `doctor` find the same by themselves.
type Error struct {
	Finding
	Err error
}

func (e *Error) Error() string { return e.ID + ": " + e.String() }
func (e *Error) Unwrap() error { return e.Err }

// Port is why no daemon can listen at the address that a key has. by is the program that has the port; empty if that
// is not known.
func Port(key, address, by string, err error) Finding {
	_, port, _ := net.SplitHostPort(address)
	text, detail, do := "the port of "+key+" cannot be opened", fmt.Sprintf("%s: %v", address, err), "correct "+key
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		text, detail = "the port of "+key+" is taken", strings.TrimSuffix(address+" by "+by, " by ")
		do = fmt.Sprintf("stop that program (ss -ltnp 'sport = :%s' names it), or use another port", port)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		text, detail, do = "this box has not the address of "+key, address, "use one that ip address shows"
	case errors.Is(err, syscall.EACCES):
		text, detail = "the port of "+key+" is below 1024, which is not allowed", address
		do = "use a higher port, or copy low-port.conf from the examples of the package to " +
			"/etc/systemd/system/ticketrail.service.d"
	}
	return New("port/"+key, Fail, text, detail, do)
}

// Storage is why the database at path cannot be written by the user who; false if the error is none that has an advice
// of its own.
func Storage(path, who string, err error) (f Finding, known bool) {
	folder := filepath.Dir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return New("database/no_folder", Fail, "its folder does not exist", folder,
			"create it, or set storage.path"), true
	case errors.Is(err, fs.ErrPermission):
		return New("database/owner", Fail, "the service may not open it, or not write in its folder",
			path+" must belong to "+who, fmt.Sprintf("chown -R %s: %s", who, folder)), true
	case errors.Is(err, syscall.EROFS):
		return New("disk/read_only", Fail, "it is mounted read-only", "at "+folder,
			"set storage.path to a file below /var/lib/ticketrail, or see dmesg: the disk may fail"), true
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return full(folder, err), true
	}
	return Finding{}, false
}

// Identities that a full disk has. Of the two, the first is the cause.
const (
	DiskFull = "orders/disk_full"
	DiskLow  = "disk/low"
)

// full has its own advice because only the operator can end it, and because tickets still print on a full disk.
func full(folder string, err error) Finding {
	detail := "at " + folder
	if full, known := errors.AsType[*queue.StorageFull](err); known {
		detail += ": " + full.Room()
	}
	return New(DiskFull, Fail, "no orders are accepted: the disk is full", detail,
		"delete something on the disk that df "+folder+" shows; waiting tickets still print, and orders are accepted "+
			"again automatically")
}
