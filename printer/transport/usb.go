package transport

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// A usbDialer finds a printer by its USB ids at each Dial. The number in /dev/usb/lpN is no address: the
// kernel assigns the lowest free one when a printer is plugged in.
type usbDialer struct {
	ids      string // vendor:product, four hex digits each, lower case; empty: any
	serial   string // empty: any
	sys, dev string // /sys and /dev; tests use other directories
}

const usbExample = "usb://04b8:0e28?serial=X3BX012345"

func parseUSB(rest string) (Dialer, error) {
	ids, query, _ := strings.Cut(rest, "?")
	settings, err := parseQuery(query, "serial")
	if err != nil {
		return nil, err
	}

	ids = strings.ToLower(strings.TrimSuffix(ids, "/"))
	dialer := usbDialer{ids: ids, serial: settings.Get("serial"), sys: "/sys", dev: "/dev"}
	if settings.Has("serial") && dialer.serial == "" {
		return nil, fmt.Errorf("the serial number is empty; use %s, or omit it", usbExample)
	}

	if ids != "" && !regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{4}$`).MatchString(ids) {
		return nil, fmt.Errorf("%q is not vendor:product in hex, as lsusb shows it; use %s", ids, usbExample)
	}
	return dialer, nil
}

func (d usbDialer) Dial(ctx context.Context) (Conn, error) {
	name, err := d.find()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", d, err)
	}
	return openDevice(ctx, filepath.Join(d.dev, "usb", name))
}

func (d usbDialer) String() string {
	if d.serial == "" {
		return "usb://" + d.ids
	}
	return "usb://" + d.ids + "?serial=" + d.serial
}

// find returns the printer's current name, for example lp0. With several matches it fails instead
// of choosing: the bar's tickets at the grill are worse than none.
func (d usbDialer) find() (string, error) {
	var fit, other []string
	name := ""

	for _, p := range usbPrinters(d.sys) {
		if d.ids != "" && d.ids != p.ids || d.serial != "" && !slices.Contains(p.serials, d.serial) {
			other = append(other, p.String())
			continue
		}
		name = p.name
		fit = append(fit, p.String())
	}

	switch {
	case len(fit) == 1:
		return name, nil
	case len(fit) > 1:
		return "", fmt.Errorf("several printers match: %s; say which one, for example %s",
			strings.Join(fit, ", "), usbExample)
	case len(other) > 0:
		return "", fmt.Errorf("%w: is the printer plugged in and on? the kernel sees only %s",
			syscall.ENODEV, strings.Join(other, ", "))
	default:
		return "", fmt.Errorf("%w: is the printer plugged in and on? the kernel sees no USB printer", syscall.ENODEV)
	}
}

// A USBPrinter is a printer that is plugged in.
type USBPrinter struct {
	Address string // for [Open]; with its serial number, if it has one that can be in an address
	Model   string // as it states it; only printable ASCII

	name    string   // lp0
	ids     string   // vendor:product, hex
	serials []string // of the USB device, and from the printer's IEEE 1284 device id
}

// String is for messages.
func (p USBPrinter) String() string { return fmt.Sprintf("%s (%q, %s)", p.name, p.Model, p.Address) }

// USBPrinters lists the printers that the kernel sees on USB.
func USBPrinters() []USBPrinter { return usbPrinters("/sys") }

// usbPrinters lists the printers that are plugged in. The kernel's driver shows each below class/usbmisc,
// with a link to its USB interface, which lies in the directory of the USB device. ieee1284_id is the device
// id that the printer returned (linux: drivers/usb/class/usblp.c).
func usbPrinters(sys string) (all []USBPrinter) {
	links, _ := filepath.Glob(filepath.Join(sys, "class/usbmisc/lp*")) // only a bad pattern is an error
	for _, link := range links {
		function, err := filepath.EvalSymlinks(filepath.Join(link, "device"))
		if err != nil {
			continue // it was just unplugged
		}

		device := filepath.Dir(function)
		id := deviceID(readAttribute(function, "ieee1284_id"))
		printer := USBPrinter{
			name:  filepath.Base(link),
			ids:   readAttribute(device, "idVendor") + ":" + readAttribute(device, "idProduct"),
			Model: printable(readAttribute(device, "manufacturer") + " " + readAttribute(device, "product")),
		}

		// Some cheap printers have no strings in their USB descriptor, but answer with a device id.
		if printer.Model == "" {
			printer.Model = printable(cmp.Or(id["MFG"], id["MANUFACTURER"]) + " " + cmp.Or(id["MDL"], id["MODEL"]))
		}

		inID := cmp.Or(id["SN"], id["SERN"], id["SERIALNUMBER"])
		for _, s := range []string{readAttribute(device, "serial"), inID} {
			if s != "" && !slices.Contains(printer.serials, s) {
				printer.serials = append(printer.serials, s)
			}
		}

		dialer := usbDialer{ids: printer.ids}
		if len(printer.serials) > 0 && printer.serials[0] == printable(printer.serials[0]) {
			dialer.serial = printer.serials[0]
		}
		printer.Address = dialer.String()
		all = append(all, printer)
	}
	return all
}

// printable is a text of the device without the characters that cannot be shown, or be in an address.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"&;%+`, r) {
			return -1
		}
		return r
	}, s))
}

// readAttribute reads one sysfs attribute; a missing one is empty.
func readAttribute(dir, name string) string {
	value, _ := os.ReadFile(filepath.Join(dir, name)) // devices do not have all of them
	return strings.TrimSpace(string(value))
}

// deviceID parses an IEEE 1284 device id: "MFG:EPSON;MDL:TM-T20III;SN:123;". Makers do not agree on
// the keys, hence the alternatives at the callers.
func deviceID(s string) map[string]string {
	id := map[string]string{}
	for field := range strings.SplitSeq(s, ";") {
		if key, value, ok := strings.Cut(field, ":"); ok {
			id[strings.ToUpper(strings.TrimSpace(key))] = strings.TrimSpace(value)
		}
	}
	return id
}
