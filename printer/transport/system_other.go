//go:build !linux

package transport

import (
	"errors"
	"net"
	"os"
)

// The daemon is made for Linux; what follows lets it be tried elsewhere, with less care: Finish
// trusts a network printer's close, or the grace.

func undelivered(*os.File, bool) (int, error) { return 0, nil }
func rawLine(*os.File) (bool, error)          { return false, nil }
func drained(*os.File) error                  { return nil }
func discard(*os.File)                        {}
func release(*os.File)                        {}
func mute(*os.File) bool                      { return false }
func dsrRoom(*os.File) (int, error)           { return 0, errors.ErrUnsupported }
func unsent(*net.TCPConn) (int, error)        { return 0, nil }

func setLine(_ *os.File, how flow) error {
	if how != noFlow {
		return errors.New("flow control is only there on Linux")
	}
	return nil
}
