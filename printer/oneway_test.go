package printer_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/slow"
	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestNoQuestionIsWrittenToAFile(t *testing.T) {
	for _, confirm := range []profile.Confirm{profile.Auto, profile.ByStatus, profile.ByProcessID} {
		for _, remembered := range []string{
			"", `{"fence":"process_id","real_time":"AQIDBA==","automatic_status":true}`,
		} {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "grill.bin")
				file, err := transport.Open("file://" + path)
				if err != nil {
					t.Fatal(err)
				}
				r := newHarness(t, nil, file, func(d *printer.DeviceOptions, _ *printer.Options) {
					d.Confirm, d.PollEvery = confirm, 5*time.Minute
				})
				if remembered != "" {
					r.mem.Set("grill", remembered)
				}
				go r.d.Watch(r.t.Context())
				written := func() string {
					b, err := os.ReadFile(path)
					if err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
					return string(b)
				}
				time.Sleep(3 * time.Hour)
				if got := written(); got != "" {
					t.Errorf("polls wrote % x", got)
				}
				for range 3 {
					if o := r.want("A1", "sent"); o.took > 0 { // a file has nothing to print
						t.Errorf("it was waited %s for a file", o.took)
					}
					time.Sleep(2 * time.Hour)
				}
				if s := r.wantState(printer.Unknown); s.Capability != "sent" {
					t.Errorf("%+v", s)
				}
				synctest.Wait()
				got := written()
				if n := strings.Count(got, "A1\n"); n != 3 {
					t.Errorf("%d tickets in %q", n, got)
				}
				for _, question := range []string{"\x10\x04", "\x1d(H", "\x1dr", "\x1da"} {
					if strings.Contains(got, question) {
						t.Errorf("%s, remembered %q: asked % x in %q", confirm, remembered, question, got)
					}
				}
				if r.log.count("level=WARN") > 0 {
					t.Error("a file was warned of")
				}
			})
		}
	}
}

func TestTicketsAreAppendedToAFileWithoutPadding(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grill.bin")
	file, err := transport.Open("file://" + path)
	if err != nil {
		t.Fatal(err)
	}
	r := newHarness(t, nil, file, neverAsked)
	for range 2 {
		r.want("A1", "sent")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := bytes.Cut(b, []byte("\x1dV"))
	if !bytes.HasPrefix(b, []byte("\x1b@")) || bytes.Contains(b, make([]byte, 8)) ||
		bytes.Count(first, []byte("A1\n")) != 1 || bytes.Count(second, []byte("A1\n")) != 1 {
		t.Errorf("the file holds %q", b)
	}
}

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

func TestAPrinterThatNeverStopsSendingIsReadSlowly(t *testing.T) {
	// A reader without a limit would never sleep, so the bubble's clock would stop and the test not end.
	block := make([]byte, 512)
	for i := range block {
		block[i] = 'x'
	}
	block[0] = 0x3d
	for name, say := range map[string]func(int64) []byte{
		"Junk":     same([]byte{0xff, 0xfe, 0x80}),
		"OneByte":  same([]byte{0xff}),
		"XOFF":     same([]byte{0x13}),
		"Answers":  same([]byte{0x12, 0x00, 0x12, 0x00}),
		"Block":    same(block),
		"OtherIDs": same([]byte("7\"zzzz\x00")),
		"Status": func(n int64) []byte { // which is another one each time
			return []byte{0x18, 0, byte(n%2) * 0x0c, 0x0f}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := virtual.New(virtual.Options{Kanji: true})
				f := &endlessDialer{Dialer: v, next: say}
				shortWait := func(d *printer.DeviceOptions, _ *printer.Options) { d.WaitForPerson = time.Minute }
				r := newHarness(t, v, f, shortWait)
				start := time.Now()
				for range 3 {
					o := r.print("A1")
					if o.err == nil && o.proof != ticket.Sent {
						t.Errorf("%s is claimed", o.proof)
					}
					if errors.Is(o.err, errDisk) || o.took > 10*time.Minute {
						t.Errorf("%s after %s: %v", o.kind(), o.took, o.err)
					}
				}
				r.d.Retire()
				time.Sleep(time.Second) // until the reader has ended
				if s := int64(time.Since(start)/time.Second) + 1; f.reads.Load() > 2100*s {
					t.Errorf("%d reads in %d s", f.reads.Load(), s)
				}
				if n := r.log.count("\n"); n > 60 {
					t.Errorf("%d lines in the log", n)
				}
			})
		})
	}
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

// An endlessDialer makes connections on which there is always more to read.
type endlessDialer struct {
	transport.Dialer
	next  func(n int64) []byte
	reads atomic.Int64
}

func (f *endlessDialer) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := f.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &endlessConn{Conn: c, f: f}, nil
}

type endlessConn struct {
	transport.Conn
	f      *endlessDialer
	closed atomic.Bool
	over   atomic.Bool // the time to read
}

func (c *endlessConn) Read(b []byte) (int, error) {
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	if c.over.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	return copy(b, c.f.next(c.f.reads.Add(1))), nil
}

func (c *endlessConn) SetReadDeadline(t time.Time) error {
	c.over.Store(!t.IsZero())
	return nil
}

func (c *endlessConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

func same(b []byte) func(int64) []byte { return func(int64) []byte { return b } }
