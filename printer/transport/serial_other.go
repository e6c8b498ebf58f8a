//go:build !linux

package transport

import (
	"errors"
	"os"
)

func setLine(_ *os.File, how flow) error {
	if how != noFlow {
		return errors.New("flow control is only there on Linux")
	}
	return nil
}

func dsrRoom(*os.File) (int, error) { return 0, errors.ErrUnsupported }
