package printer_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestNoQuestionAndNoPaddingIsWrittenToAFile(t *testing.T) {
	for _, confirm := range []profile.Confirm{profile.Auto, profile.ByStatus, profile.ByProcessID, profile.NoConfirm} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "grill.bin")
			file, err := transport.Open("file://" + path)
			must(t, err)
			r := newHarness(t, nil, file, func(d *printer.DeviceOptions, _ *printer.Options) {
				d.Confirm, d.PollEvery = confirm, 5*time.Minute
			})
			// Another device was there before, if it was asked in this way.
			r.mem.Set("grill", `{"fence":"process_id","real_time":"AQIDBA==","automatic_status":true}`)
			go r.d.Watch(r.t.Context())
			time.Sleep(3 * time.Hour)
			for range 3 {
				r.want("A1", "sent").within(r, 0, 0) // a file has nothing to print
				time.Sleep(2 * time.Hour)
			}
			wantEqual(t, r.wantState(printer.Unknown).BestProof, "sent")
			synctest.Wait()
			b, err := os.ReadFile(path)
			got := string(b)
			n := strings.Count(got, "A1\n")
			wantTrue(t, err == nil && n == 3 && strings.HasPrefix(got, "\x1b@"), n, got, err)
			for _, question := range []string{"\x10\x04", "\x1d(H", "\x1dr", "\x1da", string(make([]byte, 8))} {
				wantTrue(t, !strings.Contains(got, question), confirm, question, got)
			}
			wantTrue(t, r.logged("level=WARN") == 0, "a file was warned of")
		})
	}
}

func TestOnASerialLinePaddingFollowsDotsAndWhatBrokeOff(t *testing.T) {
	// On a slow line padding takes a second. It follows only bytes that can have left the printer inside a command.
	drawer, err := aDrawer()
	must(t, err)
	synctest.Test(t, func(t *testing.T) {
		line := &tap{Dialer: &scriptedPrinter{}, serial: true}
		r := newHarness(t, nil, line, neverAsked)
		with := func(dots profile.Raster, qr profile.QR) *printer.Paper {
			o := printer.Options{Name: "grill", Device: r.d, Profile: eightyMillimetres, Drawer: drawer}
			o.Profile.Raster, o.Profile.QR, o.Layout.QR = dots, qr, qr != profile.NoQR
			return printer.NewPaper(o)
		}
		plain := with(profile.BitImage, profile.NoQR)
		for _, c := range []struct {
			after string
			now   *printer.Paper
			want  bool
		}{
			{"the start", plain, true}, {"a ticket without dots", with(profile.BitImage, profile.RasterQR), false},
			{"GS v 0", with(profile.Graphics, profile.RasterQR), true},
			{"GS ( L", with(profile.NoRaster, profile.NativeQR), true}, {"GS ( k", plain, true},
			{"a ticket without dots", plain, false}, {"what broke off", plain, true},
		} {
			if c.after == "what broke off" {
				line.before = pulledAt("D150")
				r.wantFrom(plain, orderOfLines(200), "doubt")
			}
			before := len(line.script().all())
			r.wantFrom(c.now, orderOf("A1"), "sent")
			synctest.Wait()
			ahead, _, _ := strings.Cut(line.script().all()[before:], "\x1b@")
			wantEqual(t, strings.Contains(ahead, string(make([]byte, 64))), c.want, c.after)
		}
	})
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
					wantTrue(t, o.err != nil || o.proof == ticket.Sent, o.proof)
					wantTrue(t, !errors.Is(o.err, errDisk) && o.took <= 10*time.Minute, o.kind(), o.took, o.err)
				}
				r.d.Retire()
				time.Sleep(time.Second) // until the reader has ended
				s := int64(time.Since(start)/time.Second) + 1
				wantTrue(t, f.reads.Load() <= 2100*s, f.reads.Load(), s)
				if n := r.logged("\n"); n > 60 {
					t.Errorf("%d lines in the log", n)
				}
			})
		})
	}
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
