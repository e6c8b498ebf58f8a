package transport

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ticketrail/deploy/assert"
)

// plug adds a printer to a fake sysfs with the kernel's layout: the class directory has a link to the
// interface, whose directory lies in the device's.
func plug(t *testing.T, sys, name, port string, device, function map[string]string) {
	t.Helper()
	dir := filepath.Join(sys, "devices/pci0/usb1", port)
	put := func(dir string, files map[string]string) {
		assert.NoError(t, os.MkdirAll(dir, 0o755))
		for n, text := range files {
			assert.NoError(t, os.WriteFile(filepath.Join(dir, n), []byte(text+"\n"), 0o644))
		}
	}
	put(dir, device)
	put(filepath.Join(dir, port+":1.0"), function)
	put(filepath.Join(sys, "class/usbmisc", name), nil)
	link := filepath.Join(sys, "class/usbmisc", name, "device")
	assert.NoError(t, os.Symlink("../../../devices/pci0/usb1/"+port+"/"+port+":1.0", link))
}

func unplug(t *testing.T, sys, name string) {
	t.Helper()
	assert.NoError(t, os.RemoveAll(filepath.Join(sys, "class/usbmisc", name)))
}

func epson(serial string) map[string]string {
	return map[string]string{
		"idVendor": "04b8", "idProduct": "0e28", "manufacturer": "EPSON", "product": "TM-T20III", "serial": serial,
	}
}

func usb(t *testing.T, address, sys, dev string) usbDialer {
	t.Helper()
	d, err := Open(address)
	assert.NoError(t, err)
	u := d.(usbDialer)
	u.sys, u.dev = sys, dev
	return u
}

func TestAUSBPrinterIsFoundByItsIDs(t *testing.T) {
	sys := t.TempDir()
	plug(t, sys, "lp0", "1-1", epson("A1"), nil)
	plug(t, sys, "lp1", "1-2", epson("B2"), nil)
	plug(t, sys, "lp2", "1-3", map[string]string{"idVendor": "0416", "idProduct": "5011"},
		map[string]string{"ieee1284_id": "MFG:POS;CMD:ESC/POS;MDL:Printer-80;SN:C 3;"})
	for address, want := range map[string]string{
		"usb://?serial=A1":            "lp0",
		"usb://04B8:0E28?serial=B2":   "lp1",
		"usb://0416:5011":             "lp2",
		"usb://?serial=C%203":         "lp2", // from its IEEE 1284 device id
		"usb://0416:5011/?serial=C+3": "lp2",
	} {
		got, err := usb(t, address, sys, "").find()
		assert.Equal(t, got, want, address, err)
	}
	for address, want := range map[string]string{
		"usb://": `several printers match: ` +
			`lp0 ("EPSON TM-T20III", usb://04b8:0e28?serial=A1), lp1 (`,
		"usb://04b8:0e28":           "say which one, for example usb://04b8:0e28?serial=X3BX012345",
		"usb://04b8:0e28?serial=C3": `is the printer plugged in and on? the kernel sees only lp0 (`,
		"usb://0416:5012":           `lp2 ("POS Printer-80", usb://0416:5011?serial=C 3)`,
	} {
		_, err := usb(t, address, sys, "").Dial(t.Context())
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), "open usb://"), address, err)
		assert.Contains(t, err.Error(), want)
	}
}

func TestAUSBPrinterThatComesBackUnderAnotherNumberIsFoundAgain(t *testing.T) {
	sys := t.TempDir()
	plug(t, sys, "lp0", "1-1", epson("A1"), nil)
	d := usb(t, "usb://04b8:0e28", sys, "")
	got, err := d.find()
	assert.Equal(t, got, "lp0", err)
	unplug(t, sys, "lp0")
	_, err = d.Dial(t.Context())
	assert.True(t, errors.Is(err, syscall.ENODEV), err)
	assert.Contains(t, err.Error(), "the kernel sees no USB printer")
	plug(t, sys, "lp1", "1-4", epson("A1"), nil)
	got, err = d.find()
	assert.Equal(t, got, "lp1", err)
}

func TestAPluggedInPrinterIsListedWithAnAddressThatFindsIt(t *testing.T) {
	sys, dev := t.TempDir(), t.TempDir()
	plug(t, sys, "lp0", "1-1", epson("X3BX012345"), nil)
	plug(t, sys, "lp1", "1-2", epson("X3\x1b[2J\"BX"), nil)
	all := usbPrinters(sys)
	assert.Equal(t, len(all), 2)
	assert.Equal(t, all[0].Address, "usb://04b8:0e28?serial=X3BX012345")
	assert.Equal(t, all[0].Model, "EPSON TM-T20III")
	name, err := usb(t, all[0].Address, sys, dev).find()
	assert.Equal(t, name, "lp0", err)

	assert.Equal(t, all[1].Address, "usb://04b8:0e28", "its serial number cannot be shown")
	_, err = usb(t, "usb://1234:5678", sys, dev).Dial(t.Context())
	assert.True(t, err != nil && !strings.Contains(err.Error(), "\x1b"), err)
}
