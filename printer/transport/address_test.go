package transport_test

import (
	"strings"
	"testing"

	"ticketrail/printer/transport"
)

func TestAddressesThatCanBeReached(t *testing.T) {
	for _, address := range []string{
		"tcp://192.168.1.50", "tcp://192.168.1.50:9101", "tcp://kitchen.local", "TCP://[fe80::1]:9100", "tcp://[::1]",
		"tcp://10.0.0.1/", "file:///dev/usb/lp0", "file:///tmp/grill.bin",
	} {
		if d, err := transport.Open(address); err != nil || d == nil {
			t.Errorf("open %s: %v, %v", address, d, err)
		}
	}
}

func TestAWrongAddressSaysHowARightOneLooks(t *testing.T) {
	for address, want := range map[string]string{
		"":                           "is empty; use tcp://host:9100",
		"192.168.1.50":               "did you mean tcp://192.168.1.50?",
		"192.168.1.50:9100":          "did you mean tcp://192.168.1.50:9100?",
		"/dev/usb/lp0":               "did you mean file:///dev/usb/lp0?",
		"serial:///dev/ttyUSB0":      "later version",
		"http://192.168.1.50":        `"http" is no way to reach a printer`,
		"tcp://":                     "the host is missing",
		"tcp://:9100":                "the host is missing",
		"tcp://host:99999":           "port 99999 is not between 1 and 65535",
		"tcp://host:0":               "port 0 is not",
		"tcp://host:lpt1":            "invalid port",
		"tcp://host/queue":           "something after the host",
		"tcp://host?x=1":             "something after the host",
		"tcp://me@host":              "no user name",
		"file://dev/usb/lp0":         "with three",
		"file://":                    "must begin with a slash",
		"file:///":                   "names a folder",
		"file:///tmp/":               "names a folder",
		"file:///tmp/a\x00b":         "NUL",
		"tcp://host name with blank": "invalid character",
	} {
		d, err := transport.Open(address)
		if err == nil || d != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open %q: %v, %v, want an error with %q", address, d, err, want)
		}
	}
}
