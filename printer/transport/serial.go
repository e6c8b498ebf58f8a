package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"go.bug.st/serial"
)

// A serial printer prints more slowly than the line sends. Without a working flow control, the bytes that its
// buffer (about 4 KiB) does not hold are lost, and nothing reports it. So the settings are strict
// and unknown ones are refused.

// A serialDialer opens a serial line with fixed settings.
type serialDialer struct {
	path string
	mode serial.Mode
	flow flow
}

// A flow is the flow control: how the printer says that it cannot take more at the moment.
type flow int

const (
	noFlow flow = iota
	rtsCTS      // the CTS signal; the kernel's driver handles it
	// The DSR signal, the default of most receipt printers. No Linux driver handles it, so this package does.
	dtrDSR
	xonXOFF // the bytes 11h and 13h from the printer; the kernel handles and removes them
)

const serialExample = "serial:///dev/ttyUSB0?baud=19200"

func parseSerial(rest string) (Dialer, error) {
	name, query, _ := strings.Cut(rest, "?")
	path, err := parsePath(name, serialExample)
	if err != nil {
		return nil, err
	}

	settings, err := parseQuery(query, "baud", "flow", "bits", "parity", "stop")
	if err != nil {
		return nil, err
	}

	dialer := serialDialer{path: path}
	baud := settings.Get("baud")
	if baud == "" {
		return nil, errors.New("baud is missing; it is on the printer's self-test page: " + serialExample)
	}

	dialer.mode.BaudRate, err = strconv.Atoi(baud)
	if err != nil || dialer.mode.BaudRate < 300 || dialer.mode.BaudRate > 4_000_000 {
		return nil, fmt.Errorf("baud=%s is not a valid speed; printers use 9600, 19200, 38400 or 115200", baud)
	}

	// pick returns which of the values a setting has, by default the first, or sets err. The first error stays.
	pick := func(name string, values ...string) int {
		at := slices.Index(values, settings.Get(name))
		if at < 0 && settings.Has(name) && err == nil {
			err = fmt.Errorf("%s=%s is not valid; use %s", name, settings.Get(name), strings.Join(values, ", "))
		}
		return max(at, 0)
	}

	dialer.flow = flow(pick("flow", "none", "rtscts", "dtrdsr", "xonxoff"))
	dialer.mode.DataBits = [...]int{8, 7}[pick("bits", "8", "7")]
	dialer.mode.Parity = [...]serial.Parity{serial.NoParity, serial.EvenParity, serial.OddParity}[pick(
		"parity", "none", "even", "odd")]
	dialer.mode.StopBits = [...]serial.StopBits{serial.OneStopBit, serial.TwoStopBits}[pick("stop", "1", "2")]

	if err != nil {
		return nil, err
	}
	return dialer, nil
}

// Dial opens and configures the line. The serial library sets the modes that differ between systems (speeds, also
// unusual ones). Data goes through a file descriptor of our own: the library's writes have no deadline, its
// Close does not interrupt them, and it does not support flow control.
func (d serialDialer) Dial(ctx context.Context) (Conn, error) {
	// Resolved once, so that both opens lead to the same device even if the link changes between them.
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return nil, openError(d.path, err)
	}

	file, err := openFile(ctx, path, os.O_RDWR)
	if err != nil {
		return nil, err
	}

	conn := &deviceConn{f: file, path: d.path, readable: true, tty: true}
	if err := d.set(file, path); err != nil {
		_ = file.Close()
		return nil, openError(d.path, err)
	}

	if d.flow == dtrDSR {
		// Read once now, so that a cable without the wire fails at the dial, and not in the middle
		// of a ticket.
		conn.writable = dsrWritable
		if _, err := conn.writable(file); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("open %s: flow=dtrdsr, but the DSR signal of this line cannot be read (%w); "+
				"use flow=rtscts, xonxoff or none", d.path, err)
		}
	}
	return conn, nil
}

// set configures the line. The library's port is closed at once; the settings stay, because the
// kernel keeps them while our descriptor is open.
func (d serialDialer) set(f *os.File, path string) error {
	port, err := serial.Open(path, &d.mode)
	if err == nil {
		err = port.Close()
	}

	if failed, ok := errors.AsType[*serial.PortError](err); ok {
		switch failed.Code() {
		case serial.PortBusy:
			return syscall.EBUSY
		case serial.PermissionDenied:
			return syscall.EACCES
		case serial.InvalidSerialPort:
			return fmt.Errorf("is not a serial line, or does not support %d baud or these bits and parity: %w",
				d.mode.BaudRate, err)
		}
	}

	if err != nil {
		return err
	}
	return setFlow(f, d.flow)
}
