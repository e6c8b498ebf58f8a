//go:build !linux

package transport

import (
	"errors"
	"net"
	"os"
)

// The daemon is made for Linux. These functions let it be tried on other systems with fewer guarantees:
// Finish then trusts a network printer's close, or closeGrace.

func pendingBytes(*os.File, bool) (int, error) { return 0, nil }
func setRaw(*os.File) (bool, error)            { return false, nil }
func waitSent(*os.File) error                  { return nil }
func discardUnsent(*os.File)                   {}
func releaseExclusive(*os.File)                {}
func writeOnly(*os.File) bool                  { return false }
func dsrWritable(*os.File) (int, error)        { return 0, errors.ErrUnsupported }
func unacknowledged(*net.TCPConn) (int, error) { return 0, nil }

func setFlow(_ *os.File, how flow) error {
	if how != noFlow {
		return errors.New("flow control is supported on Linux only")
	}
	return nil
}
