package printer_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

func TestNoQuestionAndNoPaddingIsWrittenToAFile(t *testing.T) {
	for _, confirm := range []profile.Confirm{profile.Auto, profile.ByStatus, profile.ByProcessID, profile.NoConfirm} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "grill.bin")
			file, err := transport.Open("file://" + path)
			assert.NoError(t, err)
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
			assert.Equal(t, r.wantState(printer.Unknown).BestProof, "sent")
			synctest.Wait()
			b, err := os.ReadFile(path)
			got := string(b)
			n := strings.Count(got, "A1\n")
			assert.True(t, err == nil && n == 3 && strings.HasPrefix(got, "\x1b@"), n, got, err)
			for _, question := range []string{"\x10\x04", "\x1d(H", "\x1dr", "\x1da", string(make([]byte, 8))} {
				assert.True(t, !strings.Contains(got, question), confirm, question, got)
			}
			assert.True(t, r.logged("level=WARN") == 0, "a file was warned of")
		})
	}
}

func TestOnASerialLinePaddingFollowsDotsAndWhatBrokeOff(t *testing.T) {
	// On a slow line padding takes a second. It follows only bytes that can have left the printer inside a command.
	drawer, err := aDrawer()
	assert.NoError(t, err)
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
			assert.Equal(t, strings.Contains(ahead, string(make([]byte, 64))), c.want, c.after)
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
				var said atomic.Int64
				var talking sync.Map // connections
				s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, _ string) {
					if _, already := talking.LoadOrStore(c, true); already {
						return
					}
					go func() {
						for err := error(nil); err == nil; {
							_, err = c.Write(say(said.Add(1)))
						}
					}()
				}}
				r := newHarness(t, nil, s, func(d *printer.DeviceOptions, _ *printer.Options) {
					d.WaitForPerson = time.Minute
				})
				start := time.Now()
				for range 3 {
					o := r.print("A1")
					assert.True(t, o.err != nil || o.proof == ticket.Sent, o.proof)
					assert.True(t, !errors.Is(o.err, errDisk) && o.took <= 10*time.Minute, o.kind(), o.took, o.err)
				}
				r.d.Retire()
				time.Sleep(time.Second) // until the reader has ended
				seconds := int64(time.Since(start)/time.Second) + 1
				assert.True(t, said.Load() <= 2100*seconds, said.Load(), seconds)
				assert.True(t, r.logged("\n") <= 60, r.log)
			})
		})
	}
}

func same(b []byte) func(int64) []byte { return func(int64) []byte { return b } }
