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

type serialDialer struct {
	path string
	mode serial.Mode
	flow flow
}

// A flow is how a printer on a serial line says "wait".
type flow string

const (
	noFlow  flow = "none"
	rtsCTS  flow = "rtscts"  // by the wire CTS: the driver does it
	dtrDSR  flow = "dtrdsr"  // by the wire DSR, as most receipt printers do as they come: no Linux driver does it, so we do
	xonXOFF flow = "xonxoff" // by the bytes 13h and 11h on the way back: the terminal line does it, and eats them
)

func flows() []string {
	return []string{string(noFlow), string(rtsCTS), string(dtrDSR), string(xonXOFF)}
}

const serialExample = "serial:///dev/ttyUSB0?baud=19200"

func parseSerial(rest string) (Dialer, error) {
	name, query, _ := strings.Cut(rest, "?")
	path, err := parsePath(name, serialExample)
	if err != nil {
		return nil, err
	}
	v, err := parseQuery(query, "baud", "flow", "bits", "parity", "stop")
	if err != nil {
		return nil, err
	}
	d := serialDialer{path: path}
	switch baud := v.Get("baud"); {
	case baud == "":
		return nil, errors.New("the speed is missing; it is on the printer's self-test page: " + serialExample)
	default:
		d.mode.BaudRate, err = strconv.Atoi(baud)
		if err != nil || d.mode.BaudRate < 300 || d.mode.BaudRate > 4_000_000 {
			return nil, fmt.Errorf("baud=%s is no speed; printers use 9600, 19200, 38400 or 115200", baud)
		}
	}
	pick := func(name, fallback string, allowed ...string) string {
		s := v.Get(name)
		switch {
		case !v.Has(name):
			return fallback
		case err == nil && !slices.Contains(allowed, s):
			err = fmt.Errorf("%s=%s is not possible; use %s", name, s, strings.Join(allowed, ", "))
		}
		return s
	}
	d.flow = flow(pick("flow", string(noFlow), flows()...))
	d.mode.DataBits, _ = strconv.Atoi(pick("bits", "8", "7", "8"))
	d.mode.Parity = map[string]serial.Parity{"even": serial.EvenParity, "odd": serial.OddParity}[pick("parity", "none", "none", "even", "odd")]
	d.mode.StopBits = map[string]serial.StopBits{"2": serial.TwoStopBits}[pick("stop", "1", "1", "2")]
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Dial opens the line and sets it. The library does what differs from system to system
// (speeds, odd ones too); bytes go through a descriptor of our own, because the library's
// writes have no deadline, its Close does not interrupt them, and it knows no flow control.
func (d serialDialer) Dial(ctx context.Context) (Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, openError(d.path, err)
	}
	// Resolved once, so that both opens are of one line even if the link is just being changed.
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return nil, openError(d.path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, openError(d.path, err)
	}
	c := &deviceConn{f: f, path: d.path, readable: true, tty: true}
	if err := d.set(f, path); err != nil {
		_ = f.Close()
		return nil, openError(d.path, err)
	}
	if d.flow == dtrDSR {
		c.writable = dsrWritable
		if _, err := c.writable(f); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("open %s: flow=dtrdsr, but the wire DSR of this line cannot be seen (%w); use flow=rtscts, xonxoff or none", d.path, err)
		}
	}
	return c, nil
}

func (d serialDialer) set(f *os.File, path string) error {
	p, err := serial.Open(path, &d.mode)
	if err == nil {
		err = p.Close()
	}
	if e, ok := errors.AsType[*serial.PortError](err); ok {
		switch e.Code() {
		case serial.PortBusy:
			return syscall.EBUSY
		case serial.PermissionDenied:
			return syscall.EACCES
		case serial.InvalidSerialPort:
			return fmt.Errorf("is no serial line, or cannot do %d baud, or these bits and parity: %w", d.mode.BaudRate, err)
		}
	}
	if err != nil {
		return err
	}
	return setFlow(f, d.flow)
}
