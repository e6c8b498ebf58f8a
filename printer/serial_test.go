package printer_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/slow"
	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

func TestOnASerialLinePaddingFollowsDotsAndWhatBrokeOff(t *testing.T) {
	// On a slow line padding takes a second. It follows only what can have left the printer inside a command.
	slow.Test(t, "/dev/ptmx")
	end, dialer := serialLine(t)
	model := mustProfile(t)
	model.LinesPerSecond = 1000
	device := printer.NewDevice(printer.DeviceOptions{Name: "grill", Dialer: dialer, Confirm: profile.NoConfirm})
	drawer, err := raster.New(raster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	with := func(dots profile.Raster, qr profile.QR) *printer.Paper {
		o := printer.Options{Name: "grill", Device: device, Profile: model}
		o.Drawer = drawer
		o.Profile.Raster, o.Profile.QR, o.Layout = dots, qr, layout.Options{QR: qr != profile.NoQR}
		return printer.NewPaper(o)
	}
	plain := with(profile.BitImage, profile.NoQR)
	// print reports whether the ticket followed padding.
	print := func(p *printer.Paper) bool {
		t.Helper()
		ended := make(chan error, 1)
		go func() {
			_, err := p.Print(t.Context(), orderOf("A1"), func(context.Context) error { return nil })
			ended <- err
		}()
		var all []byte
		b := make([]byte, 1024)
		for !bytes.Contains(all, []byte("\x1dV")) {
			n, err := end.Read(b)
			if all = append(all, b[:n]...); err != nil && !errors.Is(err, unix.EIO) { // no client yet
				t.Fatal(err)
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(all[:bytes.LastIndex(all, []byte("\x1b@"))], make([]byte, 64))
	}
	want := func(what string, p *printer.Paper, want bool) {
		t.Helper()
		if got := print(p); got != want {
			t.Errorf("padding %v after %s, want %v", got, what, want)
		}
	}
	want("the start", plain, true)
	want("a ticket without dots", plain, false)
	for name, p := range map[string]*printer.Paper{
		"GS v 0": with(profile.BitImage, profile.RasterQR), "GS ( L": with(profile.Graphics, profile.RasterQR),
		"GS ( k": with(profile.NoRaster, profile.NativeQR),
	} {
		want("a ticket without dots", p, false)
		want(name, plain, true)
	}
	want("a ticket without dots", plain, false)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = plain.Print(ctx, orderOfLines(2000), func(context.Context) error { // more than the line holds
		time.AfterFunc(100*time.Millisecond, cancel) // the duration does not matter
		return nil
	})
	if ticket.IsUntouched(err) {
		t.Error(err)
	}
	want("what broke off", plain, true)
}

// serialLine returns the printer's end of a pseudo-terminal and a Dialer for ours.
func serialLine(t *testing.T) (*os.File, transport.Dialer) {
	t.Helper()
	p, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	fd := int(p.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := transport.Open("serial:///dev/pts/" + strconv.Itoa(n) + "?baud=19200")
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}
