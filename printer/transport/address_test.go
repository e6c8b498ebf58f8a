package transport_test

import (
	"strings"
	"testing"

	"ticketrail/printer/transport"
)

func TestValidAddressesOpen(t *testing.T) {
	for _, address := range []string{
		"tcp://192.168.1.50", "tcp://192.168.1.50:9101", "tcp://kitchen.local", "TCP://[fe80::1]:9100", "tcp://[::1]",
		"tcp://10.0.0.1/", "file:///dev/usb/lp0", "file:///tmp/grill.bin",
		"usb://", "usb://04b8:0E28", "usb://04b8:0e28/?serial=X3BX012345", "USB://?serial=1",
		"serial:///dev/ttyUSB0?baud=19200",
		"serial:///dev/serial/by-id/usb-FTDI-if00?baud=38400&flow=dtrdsr&bits=8&parity=none&stop=1",
		"serial:///dev/ttyS0?baud=9600&flow=xonxoff&bits=7&parity=even&stop=2",
		"serial:///dev/ttyS0?baud=9600&flow=rtscts&parity=odd",
	} {
		if d, err := transport.Open(address); err != nil || d == nil {
			t.Errorf("open %s: %v, %v", address, d, err)
		}
	}
}

func TestTheErrorOfAnInvalidAddressShowsAValidOne(t *testing.T) {
	for address, want := range map[string]string{
		"":                                    "is empty; use tcp://host:9100",
		"192.168.1.50":                        "did you mean tcp://192.168.1.50?",
		"/dev/usb/lp0":                        "did you mean file:///dev/usb/lp0?",
		"/dev/ttyUSB0":                        "did you mean serial:///dev/ttyUSB0?baud=19200?",
		"serial:///dev/ttyUSB0":               "baud is missing",
		"serial://dev/ttyUSB0":                "with three",
		"serial:///dev/t?baud=fast":           "baud=fast is not a valid speed; printers use",
		"serial:///dev/t?baud=-1":             "baud=-1 is not a valid speed",
		"serial:///dev/t?speed=9600":          `unknown setting "speed"; use baud, flow, bits, parity, stop`,
		"serial:///dev/t?baud=9600&baud=9600": "baud is set twice",
		"serial:///dev/t?baud=9600&flow=on":   "flow=on is not valid; use none, rtscts, dtrdsr, xonxoff",
		"serial:///dev/t?baud=9600&bits=9":    "bits=9 is not valid; use 8, 7",
		"serial:///dev/t?baud=9600&parity=":   "parity= is not valid; use none, even, odd",
		"serial:///dev/t?baud=9600&stop=1.5":  "stop=1.5 is not valid; use 1, 2",
		"serial:///dev/t?baud=9600&%zz":       "not name=value",
		"usb://epson":                         "not vendor:product in hex, as lsusb shows it",
		"usb://04b8:0e28?serial=":             "the serial number is empty",
		"usb://04b8:0e28?port=1":              `unknown setting "port"; use serial`,
		"http://192.168.1.50":                 `unknown scheme "http"; use tcp://host:9100`,
		"tcp://":                              "the host is missing",
		"tcp://host:99999":                    "port 99999 is not between 1 and 65535",
		"tcp://host:0":                        "port 0 is not",
		"tcp://host:lpt1":                     "invalid port",
		"tcp://host/queue":                    "unexpected text after the host",
		"tcp://me@host":                       "no user name",
		"file://dev/usb/lp0":                  "with three",
		"file://":                             "must begin with a slash",
		"file:///tmp/":                        "is a directory",
		"file:///tmp/a\x00b":                  "NUL",
		"tcp://host name with blank":          "invalid character",
	} {
		d, err := transport.Open(address)
		wantTrue(t, err != nil && d == nil && strings.Contains(err.Error(), want), address, d, err, want)
	}
}

func TestCanonicalAddressIsTheSameForEachSpelling(t *testing.T) {
	for a, b := range map[string]string{
		"tcp://h":                       "TCP://H:9100",
		"file:///dev/usb/lp0":           "file:///dev//usb/lp0",
		"tcp://[::1]":                   "tcp://[::1]:9100",
		"usb://04B8:0E28":               "usb://04b8:0e28/",
		"serial:///dev/ttyS0?baud=9600": "serial:///dev/ttyS0?baud=19200",
		"file:///dev/ttyS0":             "serial:///dev/ttyS0?baud=9600",
	} {
		if x, y := transport.CanonicalAddress(a), transport.CanonicalAddress(b); x != y {
			t.Errorf("%s is %s, %s is %s", a, x, b, y)
		}
	}
	for a, b := range map[string]string{
		"tcp://h:1": "tcp://h:2", "usb://": "usb://04b8:0e28", "file:///tmp/a": "file:///tmp/b",
	} {
		if x, y := transport.CanonicalAddress(a), transport.CanonicalAddress(b); x == y {
			t.Errorf("%s and %s are both %s", a, b, x)
		}
	}
}

func TestAPasswordInAnAddressIsNotShown(t *testing.T) {
	for _, a := range []string{"tcp://me:hunter2@host", "tcp://me:hunter2@host:x"} {
		if _, err := transport.Open(a); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}
